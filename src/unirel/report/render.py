"""A report as one HTML page that needs nothing else."""

import os
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unirel._runtime import write_text
from unirel.errors import printable

if TYPE_CHECKING:
    from unirel.report.report import Report

TEMPLATES = Path(__file__).parent / "templates"
_NEEDED = {"jinja2": "jinja2", "altair": "altair", "vl_convert": "vl-convert-python"}
# Rows of the table of all features; the selected ones come first.
_MOST_ROWS = 1000
# Columns of that table: key, title, whether it holds numbers.
_COLUMNS = (
    ("step", "step", True),
    ("name", "name", False),
    ("relevance", "relevance", True),
    ("unique_relevance", "unique relevance", True),
    ("significant", "significant", False),
    ("frequency", "selected in", True),
    ("why", "why", False),
    ("partner", "shares most with", False),
    ("shared", "normalised MI", True),
    ("kind", "kind", False),
    ("missing", "missing", True),
)


def check_installed() -> None:
    """Refuse early if something is missing that a report needs."""
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"a report needs {', '.join(missing)}; install it with: pip install 'unirel[report]'")


def render(report: "Report") -> str:
    """Fill the template; every text is escaped, in HTML and within scripts, and has no control characters."""
    check_installed()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from unirel.report.charts import make_charts

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = _cell
    answer = report.to_dict()
    maybe = [key for key in ("significant", "frequency") if all(row[key] is None for row in answer["features"])]
    return environment.get_template("report.html").render(
        summary=_printable({**answer, "features": answer["features"][:_MOST_ROWS], "snippet": ""}),
        snippet=answer["snippet"],  # which has lines, and names as Python writes them
        n_features=len(answer["features"]),
        columns=[column for column in _COLUMNS if column[0] not in maybe],
        charts=_printable(make_charts(report)),
        vega=_vega(),
    )


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value


def _cell(value: str | int | float | None, key: str) -> str:
    """A value as the table shows it; numbers that were estimated with four decimals."""
    if value is None or not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.0%}" if key == "frequency" else f"{value:.4f}"


def _vega() -> str:
    """The JavaScript that draws the charts, in the version that altair writes specifications for.

    To put it together takes seconds, so it is kept in the user's cache folder for the next page.
    """
    import altair

    vl_convert: Any = import_module("vl_convert")  # its hints ask for an argument that has a default

    major, minor = altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = vl_convert.get_vegalite_versions()
    wanted = f"{major}.{minor}"
    if wanted not in known:  # the newest of the same generation draws it too
        wanted = [name for name in known if name.split(".")[0] == major][-1]
    kept = _cache_folder() / f"charts-{wanted}-{vl_convert.__version__}.js"
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle(vl_version=wanted)
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(OSError, RuntimeError):  # whose cache cannot be written to waits for the charts every time
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, script)
    return script


def _cache_folder() -> Path:
    """Where programs of the user keep what can be made again."""
    named = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(named or os.path.expanduser("~/.cache")) / "unirel"
