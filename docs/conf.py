"""Sphinx configuration."""

from pathlib import Path

import unirel

project = "unirel"
author = "The unirel developers"
copyright = "2026, The unirel developers"
release = version = unirel.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py", "results"]
default_role = "literal"
nitpicky = False

html_theme = "pydata_sphinx_theme"
html_title = "unirel"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
html_show_sourcelink = False
html_sidebars = {"**": []}  # the pages have no sections of their own, so it would be empty

autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]+\.py$",
    "backreferences_dir": None,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "copyfile_regex": "",
}

# The list of public names is the package's own, so that a new name is on the page without being written here.
NAMES = "\n".join(f"   {name}" for name in unirel.__all__ if not name.startswith("_"))
API = f"""\
API
===

Everything public, importable as ``unirel.<name>``. Quantities are in nats.

.. currentmodule:: unirel

.. autosummary::
   :toctree:

{NAMES}
"""
page = Path(__file__).parent / "generated" / "api.rst"
page.parent.mkdir(exist_ok=True)
if not page.exists() or page.read_text(encoding="utf-8") != API:
    page.write_text(API, encoding="utf-8")
