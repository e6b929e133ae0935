"""A summary as one HTML page that needs nothing else."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unirel.data.atomic import write_text

TEMPLATES = Path(__file__).parent / "templates"
# Where what draws the charts is kept for the next page, as compiled kernels are kept beside their source.
_KEPT = Path(__file__).parent / "__pycache__"
_NEEDED = {"jinja2": "jinja2", "altair": "altair", "vl_convert": "vl-convert-python"}


def check_installed() -> None:
    """Refuse early if something is missing that a report needs."""
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        raise ImportError(f"a report needs {', '.join(missing)}; install it with: pip install 'unirel[report]'")


def render(summary: dict[str, Any], scripts: Path | None = None) -> str:
    """Fill the template; every text is escaped, in HTML and within scripts. The folder keeps what draws the charts."""
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
    template = environment.get_template("report.html")
    return template.render(summary=summary, charts=make_charts(summary), vega=_vega(scripts))


def _cell(value: str | int | float | None) -> str:
    """A value as the table shows it; numbers that were estimated with four decimals."""
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)


def _vega(folder: Path | None) -> str:
    """The JavaScript that draws the charts, in the version that altair writes specifications for."""
    import altair

    vl_convert: Any = import_module("vl_convert")  # its hints ask for an argument that has a default

    major, minor = altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = vl_convert.get_vegalite_versions()
    wanted = f"{major}.{minor}"
    if wanted not in known:  # the newest of the same generation draws it too
        wanted = [name for name in known if name.split(".")[0] == major][-1]
    name = f"charts-{wanted}-{vl_convert.__version__}.js"
    kept = (_KEPT if folder is None else folder) / name
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle(vl_version=wanted)
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, script)
    except OSError:
        if folder is not None:
            raise
        # An installation that cannot be written to waits for its charts every time.
    return script
