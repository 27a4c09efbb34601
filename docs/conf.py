"""How the site is built: ``make docs``."""

from __future__ import annotations

import re
from typing import Any

import eosparse

project = "eosparse"
author = "the authors of eosparse"
copyright = "the authors of eosparse"
version = release = eosparse.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"eosparse {release}"

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
# Pages of results are added as they are made: their pattern may match nothing.
suppress_warnings = ["toc.empty_glob"]

numpydoc_show_class_members = False
autodoc_typehints = "none"  # docstrings say it in words
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, "
    "set_partial_fit_request, set_transform_request",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
}

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def _without_outer_links(_app: Any, _name: str, source: list[str]) -> None:
    """Links to the repository around this folder work there; on the site their text is left."""
    source[0] = _OUTSIDE.sub(r"\1", source[0])


def setup(app: Any) -> None:
    """Register what is above."""
    app.connect("source-read", _without_outer_links)
