"""Configuration of the documentation site, built by ``make docs``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import eosparse

project = "eosparse"
author = "the eosparse developers"
copyright = "the eosparse developers"
version = release = eosparse.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"eosparse {release}"
html_static_path = ["_static"]
html_css_files = ["math.css"]

myst_enable_extensions = ["dollarmath", "deflist"]
html_math_renderer = "mathml"
myst_heading_anchors = 3

numpydoc_show_class_members = False
autodoc_typehints = "none"  # the docstrings describe the types
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

# Links that GitHub resolves but the site does not: to files outside docs/, and to generated pages.
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./|results/|differences)[^)#]*)[^)]*\)")
_HERE = Path(__file__).parent


def _drop_missing_targets(app: Any, name: str, source: list[str]) -> None:
    """Replace links that have no target on the site by their text."""
    folder = Path(app.env.doc2path(name)).parent

    def keep_link(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        return link[0] if target.is_file() and target.is_relative_to(_HERE) else link[1]

    source[0] = _LINK.sub(keep_link, source[0])
    if name == "index":
        lines = source[0].splitlines()
        absent = [p for p in ("results/*", "differences*") if not any(_HERE.glob(f"{p}.md"))]
        source[0] = "\n".join(line for line in lines if line not in absent)


# docutils leaves no space around these names.
_NAMED = re.compile(r"<mi>(log|exp|det|min|max)</mi>")


def _write_math(writer: Any, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers render without scripts."""
    try:
        formula = tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
    else:
        writer.body.append(_NAMED.sub(r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', formula))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the hooks above."""
    app.connect("source-read", _drop_missing_targets)
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
