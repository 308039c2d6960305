"""The recipes and the notes on migrating name only what is there."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import sitemapreader
from tests.support import package

NOTES = package.ROOT / "docs" / "migrating.md"


def test_every_option_that_is_named_exists() -> None:
    """The tables name no option that there is not."""
    text = NOTES.read_text(encoding="utf-8")
    named = {
        (kind, name)
        for kind, arguments in re.findall(r"\b(FetchOptions|Limits)\(([^)]*)\)", text)
        for name in re.findall(r"(\w+)=", arguments)
    }
    assert len(named) >= 8
    for kind, name in named:
        assert name in {
            field.name for field in getattr(sitemapreader, kind).__attrs_attrs__
        }


def test_the_recipes_are_listed() -> None:
    """The table of recipes in the package's docstring has each module, and none that is not."""
    listed = set(
        re.findall(r"^\| `recipes\.(\w+)`", sitemapreader_recipes_doc(), re.MULTILINE)
    )
    modules = {path.stem for path in (package.PACKAGE / "recipes").glob("*.py")} - {
        "__init__"
    }
    assert listed == modules


def sitemapreader_recipes_doc() -> str:
    return importlib.import_module("sitemapreader.recipes").__doc__ or ""


def test_a_missing_extra_is_named() -> None:
    """A recipe whose library is not there says which extra has it."""
    code = (
        "import sys; sys.modules['scrapy'] = None\n"
        "try:\n    import sitemapreader.recipes.scrapy\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert "the extra `scrapy` brings it: pip install 'scrapy>=" in done.stdout
