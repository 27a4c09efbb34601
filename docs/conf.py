"""How the site is built: ``make docs``."""

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
author = "the authors of eosparse"
copyright = "the authors of eosparse"
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

# Links to the repository around this folder, and to pages that are added as they are made.
_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./|results/|differences)[^)#]*)[^)]*\)")
_TABLE = re.compile(r"```\{csv-table\}\n:file: (\S+)\n.*?```", re.S)
_HERE = Path(__file__).parent


def _only_what_is_there(app: Any, name: str, source: list[str]) -> None:
    """Leave the text of links out of the site, or to pages and tables that are not there yet."""
    folder = Path(app.env.doc2path(name)).parent

    def kept(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        return link[0] if target.is_file() and target.is_relative_to(_HERE) else link[1]

    def shown(table: re.Match[str]) -> str:
        return table[0] if (folder / table[1]).is_file() else "*Not run yet.*"

    source[0] = _TABLE.sub(shown, _LINK.sub(kept, source[0]))
    if name == "index":
        lines = source[0].splitlines()
        absent = [p for p in ("results/*", "differences*") if not any(_HERE.glob(f"{p}.md"))]
        source[0] = "\n".join(line for line in lines if line not in absent)


# docutils leaves no space around these.
_NAMED = re.compile(r"<mi>(log|exp|det|min|max)</mi>")


def _math(writer: Any, node: nodes.math) -> None:
    """Write a formula as MathML, which browsers draw without a script from elsewhere."""
    try:
        formula = tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s", error, location=node)
    else:
        writer.body.append(_NAMED.sub(r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', formula))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register what is above."""
    app.connect("source-read", _only_what_is_there)
    app.add_html_math_renderer("mathml", (_math, None), (_math, None))
