"""How Sphinx builds these pages: `pip install -e '.[docs]' && sphinx-build -W docs build/docs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sitemapreader

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "sitemapreader"
author = "The sitemapreader developers"
copyright = author  # noqa: A001 (Sphinx names it so)
version = release = sitemapreader.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["build"]
html_theme = "furo"
html_title = f"sitemapreader {version}"

# Headings are link targets, down to the third level.
myst_heading_anchors = 3
# Pages link to files of the repository, which are not part of the site.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
# Docstrings are Markdown-like prose with Google's sections; a single backquote means code in them.
default_role = "code"
napoleon_use_ivar = True


def convert_fences(
    _app: Sphinx, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Turn Markdown's fenced blocks in a docstring into what Sphinx understands."""
    converted: list[str] = []
    inside = False
    for line in lines:
        if line.strip().startswith("```"):
            inside = not inside
            language = line.strip().removeprefix("```") or "text"
            converted += ["", f".. code-block:: {language}", ""] if inside else [""]
        else:
            converted.append(f"    {line}" if inside else line)
    lines[:] = converted


def setup(app: Sphinx) -> None:
    """Have docstrings converted before they are read."""
    app.connect("autodoc-process-docstring", convert_fences)
