"""The notes on migrating are run, as the README is: every block of Python, and what it prints."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import package
import pytest
from test_readme import FENCE

import sitemapreader

NOTES = package.PACKAGE / "recipes" / "MIGRATING.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
NEEDS = {"to_dataframe": "pandas", "recipes.scrapy": "scrapy"}
"""What a block uses, and the library that it needs for this."""


def blocks() -> list[tuple[str, str]]:
    return BLOCK.findall(NOTES.read_text(encoding="utf-8"))


def test_all_blocks_are_found() -> None:
    """Every fenced block is one that is run, or the output of one."""
    fences = FENCE.findall(NOTES.read_text(encoding="utf-8"))
    assert {language for language, _ in fences} == {"python", "text"}
    assert len([language for language, _ in fences if language == "python"]) == len(blocks()) == 4


@pytest.mark.parametrize("number", range(len(blocks())))
def test_a_block_prints_what_the_notes_say(number: int, regenerate: bool) -> None:
    """A block of Python runs without a warning and prints what stands below it."""
    code, said = blocks()[number]
    for use, library in NEEDS.items():
        if use in code:
            pytest.importorskip(library, reason=f"the extra for {library} is not installed")
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code],
        cwd=package.ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if regenerate:
        text = NOTES.read_text(encoding="utf-8")
        place = text.index(code) + len(code)
        after = text[place:].replace(f"```text\n{said}```", f"```text\n{done.stdout}```", 1)
        NOTES.write_text(text[:place] + after, encoding="utf-8")
        return
    assert done.stdout == said


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
        assert name in {field.name for field in getattr(sitemapreader, kind).__attrs_attrs__}


def test_the_recipes_are_listed() -> None:
    """The table of recipes in the package's docstring has each module, and none that is not."""
    listed = set(re.findall(r"^\| `recipes\.(\w+)`", sitemapreader_recipes_doc(), re.MULTILINE))
    modules = {path.stem for path in (package.PACKAGE / "recipes").glob("*.py")} - {"__init__"}
    assert listed == modules


def sitemapreader_recipes_doc() -> str:
    return importlib.import_module("sitemapreader.recipes").__doc__ or ""


@pytest.mark.parametrize("library", ["crawlee", "httpx", "scrapy"])
def test_a_missing_extra_is_named(library: str) -> None:
    """A recipe whose library is not there says which extra has it."""
    code = (
        f"import sys; sys.modules['{library}'] = None\n"
        f"try:\n    import sitemapreader.recipes.{library}\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert f"pip install 'sitemapreader[{library}]'" in done.stdout
