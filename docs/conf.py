"""Sphinx configuration."""

import sys
from pathlib import Path

import unirel
import unirel.plotting
import unirel.report

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # for figures.py, formulas.py, gallery.py and replayed.py, and for paper

import figures  # noqa: E402
import replayed  # noqa: E402

project = "unirel"
author = "The unirel developers"
copyright = "2026, The unirel developers"
release = version = unirel.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "formulas",
]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py", "results"]
default_role = "literal"
rst_epilog = figures.substitutions()
nitpicky = False

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
smartquotes_action = "qe"  # two hyphens are those of an option
html_title = "unirel"
html_static_path = ["_static"]
html_css_files = ["unirel.css"]
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "show_nav_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_sidebars = {"index": [], "search": []}

autosummary_generate = False
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]+\.py$",
    "within_subsection_order": "gallery.example_order",
    "reset_modules": ("matplotlib", "gallery.draw_quietly"),
    "backreferences_dir": None,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "copyfile_regex": "",
    "image_scrapers": ("matplotlib",),
    "thumbnail_size": (480, 300),
}

# The page of the API: public names by what they are for. A new name is on the page without being written here.
GROUPS = {
    "Select features": {
        "BURSelector": "select features of a table; a scikit-learn selector",
        "BURSelectorCV": "the same, weight and number of features chosen by cross-validation",
        "selection_path": "many criteria and weights from one set of estimates",
        "Selection": "what was selected; written to JSON and read back",
        "Criterion": "base class of a criterion of your own",
        "UnirelWarning": "the class of all warnings",
    },
    "Estimators of information": {
        "KNN": 'nearest neighbours; "auto" of the measures',
        "Binned": 'frequencies after binning; "auto" of a selection',
        "Plugin": "frequencies of discrete columns",
        "Gaussian": "correlations of normal scores, given hundreds of columns too",
        "Partition": "adaptive partition of the space of both blocks",
        "KDE": "kernel densities",
        "MINE": "the bound of a small neural network",
    },
    "Unique relevance in a search": {
        "Boost": "given a reference set, the selected features, or both",
        "ClassifierLoss": "the loss of a model trained without the feature",
    },
    "Groups and costs": {"Costs": "what columns cost, and a budget"},
    "Measure": {
        "relevance": "I(X; y) of every column",
        "unique_relevance": "I(X; y | all other columns) of every column",
        "conditional_relevance": "I(X; y | Z) of every column, Z given",
        "mutual_information": "I(X; y) or I(X; y | Z) of a block of columns",
        "irrelevance": "H(X | y) of every column",
        "redundancy_analysis": "which selected features are redundant",
        "interactions": "pairs of features that matter only together, tested",
        "compare_relevance": "which features have gained or lost information between two tables, tested",
    },
    "Test": {
        "relevance_test": "whether I(X; y) is above 0, for every column",
        "conditional_test": "whether I(X; y | Z) is above 0, for every column",
        "selection_stability": "how often each feature is selected from subsamples of the rows",
        "RowGroups": "rows that belong together, and whether tests permute whole groups or rows within them",
    },
    "Report and plot": {
        "report.Report": "a selection as one page",
        "report.Origin": "where the data of a report come from",
        "plotting.SelectionDisplay": "scores in order of selection",
        "plotting.RelevanceDisplay": "relevance against unique relevance",
        "plotting.HeatmapDisplay": "normalised mutual information of every two selected features",
        "plotting.BetaPathDisplay": "ranks along the weight of unique relevance",
        "plotting.AccuracyDisplay": "accuracy against the number of features",
        "plotting.RedundancyDisplay": "which features are needed, along the selection",
        "plotting.SignificanceDisplay": "estimates, and which of them are significant",
        "plotting.InteractionsDisplay": "information of pairs, alone and together",
        "plotting.RelevanceChangeDisplay": "relevance in two tables, side by side",
        "plotting.StabilityDisplay": "how often each feature is selected from subsamples",
    },
    "Compare": {
        "evaluation.compare": "selectors by the models trained on what they select",
        "evaluation.Evaluation": "what a comparison returns",
        "evaluation.paired_difference": "two selectors over the same splits, with an interval",
        "evaluation.stability": "how much selections from several splits agree",
    },
    "Data": {
        "datasets.load": "a dataset of scikit-learn by its name",
        "datasets.describe": "all that can be loaded",
        "datasets.make_planted": "a synthetic dataset whose answer is known",
    },
}
# Estimators are documented by their parameters; what they implement is described in add_an_estimator.
WITHOUT_MEMBERS = {*GROUPS["Estimators of information"], *GROUPS["Unique relevance in a search"]}
MODULES = {
    "": unirel,
    "report.": unirel.report,
    "plotting.": unirel.plotting,
    "evaluation.": unirel.evaluation,
    "datasets.": unirel.datasets,
}


def api_pages():
    public = [prefix + name for prefix, module in MODULES.items() for name in module.__all__]
    public = [name for name in public if not name.startswith("_") and f"{name}." not in MODULES]
    named = {name for group in GROUPS.values() for name in group}
    groups = GROUPS | {"More": dict.fromkeys((name for name in public if name not in named), "")}
    parts = ["API", "===", "", "Everything public, by what it is for. Values are in nats.", ""]
    for title, names in groups.items():
        names = {name: use for name, use in names.items() if name in public}
        if not names:
            continue
        parts += [title, "-" * len(title), ""]
        parts += [".. list-table::", "   :widths: 36 64", "   :class: api", ""]
        for name, use in names.items():
            parts += [f"   * - :py:obj:`unirel.{name}`", f"     - {use or summary(name)}"]
        parts += [""]
    # What lives in a module of its own is described on the page about that module.
    pages = [name for name in public if "." not in name]
    parts += [".. toctree::", "   :hidden:", "", *(f"   unirel.{name}" for name in pages), ""]
    return {"api": "\n".join(parts)} | {f"unirel.{name}": name_page(name) for name in pages}


def name_page(name):
    thing = getattr(unirel, name)
    title = f"unirel.{name}"
    parts = [title, "=" * len(title), "", ".. currentmodule:: unirel", ""]
    if not isinstance(thing, type):
        return "\n".join([*parts, f".. autofunction:: {name}", ""])
    if name in WITHOUT_MEMBERS:
        return "\n".join([*parts, f".. autoclass:: {name}", ""])
    # What scikit-learn generates for metadata routing refers to pages of its own.
    generated = ", ".join(member for member in dir(thing) if member.startswith("set_") and member.endswith("_request"))
    options = ["   :members:", f"   :exclude-members: {generated}"] if generated else ["   :members:"]
    options += ["   :inherited-members:"] if name == "Selection" else []  # what all results have stands there
    return "\n".join([*parts, f".. autoclass:: {name}", *options, ""])


def summary(name):
    """The first line of a docstring, for a name that has no use written above."""
    prefix, _, short = name.rpartition(".")
    module = MODULES[f"{prefix}." if prefix else ""]
    return (getattr(module, short).__doc__ or "").strip().split("\n")[0].rstrip(".")


folder = HERE / "generated"
folder.mkdir(exist_ok=True)
pages = api_pages()
for old in folder.glob("*.rst"):
    if old.stem not in pages:
        old.unlink()
for name, text in pages.items():
    page = folder / f"{name}.rst"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
figures.write_all(folder)
replayed.write_all(folder)
