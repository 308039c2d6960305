"""The table of Issue codes: complete, used, and the same in docs/issues.md."""

from __future__ import annotations

import re

import pytest

from sitemapreader._types.issues import (
    MAX_EXCERPT,
    IssueCode,
    Severity,
    excerpt,
    make_issue,
)
from tests.support import package

DETAILS = package.ROOT / "docs" / "issues.md"


def details() -> str:
    """Write the table of all that the code's table says."""
    rows = ["# Issues", "", "Written from the table in `_types/issues.py`.", ""]
    rows += ["| code | severity | what happened | what to do |", "|---|---|---|---|"]
    for code in IssueCode:
        cells = (f"`{code}`", code.severity.name.lower(), code.meaning, code.advice)
        rows.append(
            "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
        )
    return "\n".join(rows) + "\n"


def test_every_code_is_explained(regenerate: bool) -> None:
    """What happened and what to do stand in a page of docs/, as the code has them."""
    if regenerate:
        DETAILS.write_text(details(), encoding="utf-8", newline="\n")
    assert DETAILS.read_text(encoding="utf-8") == details()


def test_every_code_is_raised_somewhere() -> None:
    """No row of the table is dead: each is named in the package outside of the table."""
    texts = [
        path.read_text("utf-8")
        for name, path in package.paths().items()
        if name != "issues"
    ]
    named = set(re.findall(r"\bIssueCode\.([A-Z_0-9]+)", "".join(texts)))
    assert set(IssueCode.__members__) - named == set()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("日本語 é 😀", "日本語 é 😀"),
        ("two\nlines\r\t", r"two\nlines\r\t"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("\x00", r"\x00"),
        ("a\u202egpj.exe", r"a\u202egpj.exe"),
        ("\u2028", r"\u2028"),
        ("\ufeff", r"\ufeff"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("\u00a0", "\u00a0"),
        ("back\\slash", "back\\slash"),
    ],
    ids=ascii,
)
def test_foreign_text_is_escaped(text: str, shown: str) -> None:
    """What a terminal would act on, or what would hide itself, is shown as an escape."""
    assert excerpt(text) == shown


def test_codes_are_plain() -> None:
    """A code is its constant's name in kebab-case, with parts of one sentence without an end."""
    codes = list(IssueCode)
    assert len(codes) == len(set(codes)) == len(IssueCode.__members__)
    for name, code in IssueCode.__members__.items():
        assert code == name.lower().replace("_", "-")
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code)
        assert isinstance(code.severity, Severity)
        for text in (code.meaning, code.advice):
            assert text == text.strip(" .:")
            assert text.isprintable()
            assert text


def test_an_issue() -> None:
    """It says what happened and what to do, compares as text, and has no password; it is cut."""
    issue = make_issue(
        IssueCode.LASTMOD, "https://me:p@ss@a.example/", line=3, url="u", value="v"
    )
    assert issue.message == (
        "a lastmod is not a date in the protocol's format: write a W3C datetime, such as 2026-01-31"
    )
    assert (issue.code, f"{issue.code}") == ("lastmod", "lastmod")
    assert (issue.sitemap, issue.line, issue.url, issue.value) == (
        "https://a.example/",
        3,
        "u",
        "v",
    )
    assert Severity.ERROR > issue.severity > Severity.INFO
    long = make_issue(
        IssueCode.LONG_LOC, url="http://me@a/b@c" + "u" * 5000, value="v" * 5000
    )
    assert long.url == ("http://a/b@c" + "u" * 5000)[:2048] + "…"
    assert long.value == "v" * MAX_EXCERPT + "…"
    assert excerpt("x" * MAX_EXCERPT) == "x" * MAX_EXCERPT
