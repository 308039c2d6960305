"""The words that users read: each message is in a golden file, where reviewers see it change."""

from __future__ import annotations

import ast

import messages
import package

GOLDEN = package.TESTS / "golden" / "messages.txt"
MODULE = '''
"""Docstrings are not messages."""
LIMIT: "int of a kind" = 5
"""Nor are the docs of attributes."""
TABLE = {"dns": "the host name is unknown"}
QUERY = "SELECT url FROM page"
PATTERN = re.compile("some words")

def check(value: "a type") -> "another type":
    """Nor is this one."""
    if value:
        raise ValueError(f"`limit` must be positive, got {value!r}")
    console.print_line("wrote " + f"{len(urls)} {'new URLs' if new else 'URLs'}")
    return Row(reason="no page was visited", code="one-word")
'''


def test_messages(*, regenerate: bool) -> None:
    """What the package can print or raise is in tests/golden/messages.txt, for reviewers."""
    shown = "".join(f"{line}\n" for line in messages.list_messages())
    if regenerate:
        GOLDEN.write_text(shown, encoding="utf-8", newline="\n")
    assert shown.splitlines() == GOLDEN.read_text("utf-8").splitlines()


def test_a_new_message_is_found() -> None:
    """A sentence is found wherever it stands; docs, types, queries and single words are not."""
    assert list(messages.find_messages(ast.parse(MODULE))) == [
        "the host name is unknown",
        "`limit` must be positive, got {value}",
        "{urls} {...}",
        "new URLs",
        "no page was visited",
    ]
