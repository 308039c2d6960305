"""The words that users read: each message is in a golden file, where reviewers see it change."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tests.support import messages, package

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = package.TESTS / "golden" / "messages.txt"
DIALECT = {
    r"so many": "this many, or the name of the number",
    r"of (?:which|whom|what)": "a second sentence with the noun",
    r"for what": "the noun",
    r"by what": "the noun",
    r"what (?:keeps|makes|does|reads|writes|ends|follows|comes|arrives|remains)": "the noun",
    r"all what": "everything that",
    r"those (?:that|of|which|whose|who)": "the noun, or the ones that",
    r"that of": "the noun again",
    r"which of them": "the noun",
    r"(?:is|are|was|were|be|been) told": "is reported, or is delivered",
    r"(?:is|are|was|were|be|been) asked": "is requested",
    r"asked for": "requested",
    r"ask(?:s|ed)? pages": "requests pages",
    r"said of": "the noun and its verb",
    r"tells? of": "shows",
    r"for it (?:is|has|was)": "because it is",
    r"for they (?:are|have|were)": "because they are",
    r"in case that": "in case",
    r"meanwhile": "while, or in the meantime",
    r"by now": "so far",
    r"inside of": "inside",
    r"(?<!there )(?:is|are) no (?:URLs?|sites?|pages?|sitemaps?|folder|file|text)": "is not a",
    r"no answer": "no response",
    r"an answer": "a response",
    r"the answer(?:'s|s)?": "the response",
    r"answers? (?:with )?[1-5]\d\d": "responds with",
    r"gone? on with": "continue",
    r"goes by": "uses",
    r"nobody knows": "is unknown",
    r"in a circle": "in a loop",
    r"as it was meant": "as its author meant it",
    r"belongs? into": "put it into",
    r"more than nothing": "positive",
    r"less URLs": "fewer URLs",
    r"to be had": "available",
    r"who asks": "the caller",
    r"is met": "occurs",
    r"as asked": "on request",
    r"not soon": "later",
}
"""Words and turns that only this project used -> the plain word for it, by pattern."""
OPENINGS = r"(?:Of|What|That|Those|Whether|So many|How many|How long|How often)\b"
"""Beginnings of a docstring, or of an attribute's doc, that name no thing."""
MESSAGE_DIALECT = {
    r"what is no": "the noun: 'other values'",
    r"that are none": "that are not ...",
    r"of (?:ours|yours|theirs)": "our, your; or nothing",
    r"is none of ours": "is not of this program",
    r"says nothing of": "a verb and its object",
    r"left out as": "skipped, and the reason",
    r"held? (?:it|them) back|holds it back|held back": "exclude",
    r"news has waited": "changes have waited",
    r"for the time being": "temporarily",
    r"comes? again": "is repeated",
    r"in the place of": "instead of",
    r"outside of": "outside",
    r"again and again": "repeatedly",
    r"looked (?:at|through)": "visited, read",
    r"until then": "the moment by its name",
    r"and nothing else": "only",
    r"(?:must be|is) [^:;,]{1,40}, not \{": "must be X, got ...",
    r", as (?:they|it|there) (?:is|are|have|has|failed)": "because",
}
"""The same for messages alone, whose words are the field's."""
MADE_OF_MESSAGES = {"audit-rules.md", "issues.md", "options.md"}
"""Pages that show messages; these are in the golden file."""
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


def list_prose(page: str) -> Iterator[str]:
    """Yield the lines of a page in Markdown, without code, links and quoted bad examples."""
    page = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"^\| before \| after \|\n(?:\|.*\n)+", "", page, flags=re.MULTILINE)
    page = re.sub(
        r"^\| the field's word \| not \|\n(?:\|.*\n)+", "", page, flags=re.MULTILINE
    )
    page = re.sub(r"`[^`]*`", "`...`", page)
    yield from re.sub(r"\]\([^)]*\)", "]", page).splitlines()


def list_docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the first line of each docstring, and of the doc of each attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text.splitlines()[0]


def find_dialect(text: str) -> str | None:
    """Return the advice for the first turn of the dialect in a text, if there is one."""
    for pattern, instead in DIALECT.items():
        if found := re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE):
            return f"{found[0]!r} in {text!r}: write {instead}"
    return None


def find_message_dialect(text: str) -> str | None:
    """Return the advice for the first turn of the dialect in a message."""
    for pattern, instead in MESSAGE_DIALECT.items():
        if found := re.search(pattern, text, re.IGNORECASE):
            return f"{found[0]!r} in {text!r}: write {instead}"
    return find_dialect(text)


def test_messages_are_in_plain_words() -> None:
    """No message has a turn of the dialect."""
    advice = filter(None, map(find_message_dialect, messages.list_messages()))
    assert not [*advice]


@pytest.mark.parametrize(
    "text",
    [
        "held back as asked: {number} URLs",
        "`max_time` must be more than nothing",
        "{name} must be a whole number, not {value}",
        "hosts are not due yet, as they failed",
        "the rest was left out as asked",
        "wait an hour: these URLs come again",
    ],
)
def test_the_dialect_of_messages_is_found(text: str) -> None:
    """A message in the old words is found, with what to write instead."""
    assert find_message_dialect(text) is not None


SEVERAL = ("{done} sources", "{tries} tries", "{feeds} feeds", "{listed} records")
"""Counts in messages that are only written if there are at least two."""
NO_COUNTS = ("{table} URLs", "{rate} hosts", "{...} URLs new")
"""Names and rates before a noun in the plural."""
NOUNS = """
changes children documents entries feeds files findings folders headers hits hosts indexes items
lines names pages partitions paths records redirects requests rows rules sitemaps sites sources
tries URLs
"""


def test_a_count_and_its_noun_agree() -> None:
    """No message writes a number beside a noun that is always in the plural."""
    counted = re.compile(rf"\}} (?:more )?(?:{'|'.join(NOUNS.split())})\b")
    found = [
        text
        for text in messages.list_messages()
        if counted.search(text)
        and not any(each in text for each in SEVERAL + NO_COUNTS)
    ]
    assert not found, f"write count_units(number, noun): {found}"


def test_docs_are_in_plain_words() -> None:
    """README and the pages of docs/ have no turn of the dialect."""
    found = [
        f"{page.name}: {advice}"
        for page in [
            package.ROOT / "README.md",
            *sorted((package.ROOT / "docs").glob("*.md")),
        ]
        if page.name not in MADE_OF_MESSAGES
        for line in list_prose(page.read_text("utf-8"))
        if (advice := find_dialect(line))
    ]
    assert not found, "\n".join(found)


def test_docstrings_are_in_plain_words() -> None:
    """First lines of docstrings begin with an imperative or a noun, and have no dialect."""
    found = []
    for name, module in package.modules().items():
        for line in list_docstrings(module):
            advice = find_dialect(line)
            if advice is None and re.match(OPENINGS, line):
                advice = f"{line!r} begins with no noun"
            if advice:
                found.append(f"{name}: {advice}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "It asks so many pages at once.",
        "Those that are gone are told first.",
        "Pages, of which the first is an answer to nobody.",
        "In case that it ends, the rest is asked for.",
    ],
)
def test_the_dialect_is_found(text: str) -> None:
    """A sentence in the dialect is found, in any case."""
    assert find_dialect(text) is not None
    assert find_dialect(text.upper()) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Return the cached response, or raise the cached failure.",
        "`unlisted` requires `changes=True`.",
        "The server asks for a login.",
    ],
)
def test_plain_words_pass(text: str) -> None:
    """A sentence in plain words passes."""
    assert find_dialect(text) is None
