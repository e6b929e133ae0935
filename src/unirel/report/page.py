"""A report as one HTML page that needs nothing else, and the parts of it that a notebook shows."""

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import altair as alt

from unirel._runtime import write_text
from unirel.documents import VERSION
from unirel.errors import printable, shorten
from unirel.report import Report, pictures, text
from unirel.report.charts import make_charts, n_first, tree, waterfall

TEMPLATES = Path(__file__).parent / "templates"
# Rows of the table of all features, the selected ones first; rows of the ranking, and those that are not folded away;
# features that follow the selected ones.
_MOST_ROWS, _MOST_RANKED, _MOST_OPEN, _MOST_FOLLOWING = 1000, 100, 12, 10
# Sentences below the headline, and pictures in a notebook.
_MOST_SENTENCES, _MOST_IN_NOTEBOOK = 3, 12
# Bars are as long as this share of the target's entropy at least asks for; of a number, this many nats.
_LEAST_SCALE = 0.1
# What a file of a selection begins with, as `unirel apply` reads it.
DOCUMENT = {"schema": "unirel/selection", "version": VERSION}


def render(report: Report) -> str:
    """Fill the template; every text is escaped, in HTML and within scripts, and has no control characters."""
    answer = report.to_dict()
    features = answer["features"][:_MOST_ROWS]
    drawn, strips = pictures.draw_features(report)
    page: str = _template("report.html").render(
        summary=_printable({**answer, "features": features, "snippet": ""}),
        snippet=answer["snippet"],  # which has lines, and names as Python writes them
        n_features=len(answer["features"]),
        n_first=n_first(report),
        unknown=[key for key in ("significant", "frequency") if all(row[key] is None for row in answer["features"])],
        lead=_printable(_lead(report)),
        ranking=_printable(_ranking(report)),
        n_open=_MOST_OPEN,
        classes=_printable(_class_names(report)),
        targets=_printable(list(report.selection.targets)),
        pictures=_printable(drawn),
        kinds={picture["kind"] for picture in drawn},
        strips=_printable(pictures.arrange(strips)) if strips else None,
        waterfall=_printable(waterfall(report)),
        tree=tree(report),
        asked=_printable(_settings_in_words(report)),
        sampled=len({one.settings["unique_relevance"] for one in report.path}) > 1,
        ticks={
            "names": [row["name"] for row in features],
            "groups": list(report.selection.members.items()),
            "command": _command(report),
            "document": DOCUMENT,
        },
        charts=_printable(make_charts(report)),
        vega=_vega(),
    )
    return page


def render_notebook(report: Report) -> str:
    """The headline, the table of the selected features and their pictures, without scripts."""
    drawn = pictures.draw_features(report)[0][:_MOST_IN_NOTEBOOK]
    shown: str = _template("notebook.html").render(
        headline=printable(report.to_dict()["headline"]),
        lead=_printable(_lead(report)),
        table=report.selection._repr_html_(),
        classes=_printable(_class_names(report)),
        pictures=_printable(drawn),
    )
    return shown


def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    lines: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, **lines)
    environment.filters["shorten"] = shorten
    return environment.get_template(name)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {key: _printable(one) for key, one in value.items()}
    return [_printable(one) for one in value] if isinstance(value, list | tuple) else value


def _lead(report: Report) -> list[str]:
    """A few sentences for whoever reads nothing else: what to be careful about comes first."""
    selection, analysis, answer = report.selection, report.analysis, report.to_dict()
    if len(selection) == 0:
        return []
    if text.nothing_found(report):
        return ["So the order below, and every number beside it, may be chance. More rows may show more."]
    # That columns are constant, the last of the warnings, does not change what to think of the others.
    constant = bool((report.table.n_levels[report.table.features] == 1).any())
    said = [f"Careful: {warning}" for warning in answer["warnings"][: len(answer["warnings"]) - constant][:1]]
    unsure = [row["name"] for row in report.rows() if row["significant"] == "no"]
    enough = text.find_enough(report)  # the headline says what tests say of steps, unless it has accuracy to say
    by_accuracy = enough is not None and enough.by == "accuracy"
    if by_accuracy and selection.n_supported is not None and selection.n_supported < len(selection):
        first = "None" if selection.n_supported == 0 else f"Beyond the first {selection.n_supported:,} none"
        said.append(f"{first} of them adds detectable information to those before it.")
    if unsure:
        names = text.listed([text.quoted(name) for name in unsure], most=3)
        said.append(f"Not significant (n.s.), so perhaps there by chance: {names}.")
    groups = [group.members for group in analysis.groups if len(group.members) > 1]
    if groups:
        same = [text.listed([text.quoted(selection.selected_names[one]) for one in group], most=4) for group in groups]
        more = f", and so are {same[1]}" if len(groups) == 2 else f"; there are {len(groups) - 1} more such groups"
        said.append(f"{same[0]} are nearly the same (≈){more if len(groups) > 1 else ''}.")
    relevance = [row["relevance"] or 0.0 for row in report.rows()]
    best = relevance.index(max(relevance))
    amount = text.in_nats(relevance[best], analysis.entropy, of_several=bool(selection.targets))
    said.append(f"{text.quoted(selection.selected_names[best])} is the most relevant by itself: {amount}.")
    return said[:_MOST_SENTENCES]


def _ranking(report: Report) -> list[dict[str, Any]]:
    """The selected features in order, then those that follow them; places are those in the table of all features."""
    selection, features = report.selection, report.to_dict()["features"]
    place_of = {row["name"]: place for place, row in enumerate(features[:_MOST_ROWS])}
    same = {place: group.members[0] + 1 for group in report.analysis.groups for place in group.members[1:]}
    following = [place_of.get(selection.names[feature]) for feature in selection.following[:_MOST_FOLLOWING].tolist()]
    places = [*range(min(len(selection), _MOST_RANKED)), *(place for place in following if place is not None)]
    # The best of useless features must not look like much.
    least = _LEAST_SCALE * (report.analysis.entropy or 1.0)
    most = max([least, *(features[place]["relevance"] or 0.0 for place in places)])
    digits = 2 if most > least else 3
    return [
        {
            **{key: features[place][key] for key in ("step", "name", "relevance", "significant")},
            "place": place,
            "value": ""
            if features[place]["relevance"] is None
            else f"{max(0.0, features[place]['relevance']):.{digits}f}",
            "share": round(100 * max(0.0, features[place]["relevance"] or 0.0) / most, 1),
            "adds": selection.n_supported is None or place < selection.n_supported or place >= len(selection),
            "same": same.get(place),
        }
        for place in places
    ]


def _class_names(report: Report) -> dict[str, Any] | None:
    """Classes that have a colour of their own in pictures, and how many have none."""
    table = report.table
    if table.classes is None:
        return None
    shown = pictures.largest_classes(table.class_sizes)
    return {"names": [str(table.classes[code]) for code in shown], "n_others": len(table.classes) - len(shown)}


def _settings_in_words(report: Report) -> str:
    settings, selection = report.to_dict()["settings"], report.selection
    number = settings.get("n_features_to_select", "10")
    number = "as many features as the data support" if number == "auto" else f"{number} features asked for"
    boost = f"unique relevance weighs {selection.beta:g}" if selection.beta > 0 else "no boost by unique relevance"
    estimator = settings.get("mi_estimator", "auto")
    estimated = "estimator of information chosen by the data" if estimator == "auto" else f"information by {estimator}"
    tested = "" if report.test is None else f"; tests at a false discovery rate of {text.percent(text.ALPHA)}"
    return f"Criterion {selection.criterion}, {number}; {boost}; {estimated}{tested}."


def _command(report: Report) -> list[str]:
    """The words of a command that selects again, to which features are added."""
    source = report.origin.source if report.origin.reading else "data.csv"
    targets = report.selection.targets or [report.origin.target]
    given = [word for name in targets for word in ("--target", name)]
    groups = [f"{name}={','.join(columns)}" for name, columns in report.selection.members.items()]
    given += [word for group in groups for word in ("--group", group)]
    return ["unirel", "select", source, *given]


def _vega() -> str:
    """The JavaScript that draws the charts, in the version that altair writes specifications for."""
    # To put it together takes seconds, so it is kept in the user's cache folder for the next page.
    vl_convert: Any = import_module("vl_convert")  # its hints ask for an argument that has a default
    major, minor = alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]
    known = vl_convert.get_vegalite_versions()
    wanted = f"{major}.{minor}"
    if wanted not in known:  # the newest of the same generation draws it too
        wanted = [name for name in known if name.split(".")[0] == major][-1]
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    kept = Path(cache, "unirel", f"charts-{wanted}-{vl_convert.__version__}.js")
    with suppress(OSError):
        return kept.read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle(vl_version=wanted)
    script = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    with suppress(OSError, RuntimeError):  # whose cache cannot be written to waits for the charts every time
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, script)
    return script
