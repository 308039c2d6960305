"""No regular expression of the package takes time that grows faster than its input.

Each is found in the source, called as the source calls it, and given texts that repeat each of its
character classes. Strangers write what most of them read: one that is quadratic lets a tag of a
page hold an event loop for minutes.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader._read.html import write_opening
from sitemapreader._read.vocabulary import (
    PARSED_EXTENSIONS,
    XHTML,
    parse_count,
    parse_priority,
)
from sitemapreader._read.xml.batches import _write_markup_pattern
from sitemapreader._read.xml.grammar import (
    write_clean_pattern,
    write_record_pattern,
)
from sitemapreader._read.xml.markup import write_tag_pattern
from sitemapreader._read.xml.plain import write_plain_pattern
from sitemapreader._types.models import Format
from sitemapreader.audit.sources import _match_any
from sitemapreader.fetch.refusals import _PROTECTIONS
from sitemapreader.pages.folder import _compile
from tests.support.expressions import (
    Expression,
    leave_out_alike,
    list_expressions,
    write_texts,
)
from tests.support.package import PACKAGE
from tests.support.timing import ROUNDS, is_linear, least_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Patterns = list[re.Pattern[Any]]

SIZES = (20, 24, 28, 32, 40, 48, 64, 400, 6_000)
"""Each is tried if the one before took little: what is exponential is told by the first ones."""
CHEAP_SECONDS = 0.0015
"""What takes less at the last size is not looked at again: a square takes more."""
MAX_SECONDS = 0.02
"""No expression that takes more at one of these sizes is linear: that is 3 us a character."""

RECORDS = frozenset({"url", "sitemap"})
OF_THE_USER = {
    f"sitemapreader.{place}": ("", list)
    for place in (
        "_types.patterns:compile_pattern",
        "recipes.scrapy:SitemapReaderSpider.__init__",
    )
}
"""The user of the package writes these expressions."""
MADE: dict[str, tuple[str, Callable[[], Patterns]]] = {
    **OF_THE_USER,
    "sitemapreader.fetch.refusals:find_protection": (
        "fullmatch",
        lambda: [re.compile(value, re.IGNORECASE) for _, value, *_ in _PROTECTIONS],
    ),
    # URLs that are escaped: nothing in them repeats
    "sitemapreader.audit.sources:_match_any": (
        "finditer",
        lambda: [_match_any([b"https://a.example/b", b"https://a.example/c"])],
    ),
    # parts of URLs, as `_make_pattern` writes them
    "sitemapreader._mcp.tools:SiteTools.changes": (
        "match",
        lambda: [
            re.compile(rf"\A(?:{translate('*/docs/*')}|{translate('*/a*/b*/c*')})"),
        ],
    ),
    # a name that is escaped: nothing in it repeats
    "sitemapreader.pages.facts:_leave_out_name": (
        "sub",
        lambda: [re.compile(r"(?<!\w)/a/b(?!\w)")],
    ),
    "sitemapreader.pages.folder:_compile": (
        "fullmatch",
        lambda: [*map(_compile, ("/a/*", "/:a/b/:c", "/*/a", "/:a"))],
    ),
    "sitemapreader._read.html:write_opening": (
        "search finditer",
        lambda: [
            write_opening("a", "area", "base"),
            write_opening("link", "base"),
        ],
    ),
    "sitemapreader._read.vocabulary:_read_number": (
        "fullmatch",
        lambda: [re.compile(text, re.ASCII) for text in _list_numbers()],
    ),
    "sitemapreader._read.xml.batches:_write_markup_pattern": (
        "search",
        lambda: [_write_markup_pattern(RECORDS)],
    ),
    # the end of a comment, say
    "sitemapreader._read.xml.batches:XmlReader._skip_to": (
        "search",
        lambda: [re.compile("-->")],
    ),
    # the name of a record, as in `write_tag_pattern`
    "sitemapreader._read.xml.batches:XmlReader._shorten": (
        "search",
        lambda: [
            re.compile(r"</(?:[\w.\xb7-]++:)?(?ai:url)(?:\s*+>|(?=\s))"),
        ],
    ),
    "sitemapreader._read.xml.grammar:write_record_pattern": (
        "match findall finditer",
        lambda: [
            write_record_pattern(Format.URLSET, "", ("image", "video"), ("x",)),
            write_record_pattern(Format.INDEX, "s:", (), ()),
        ],
    ),
    "sitemapreader._read.xml.plain:write_plain_pattern": (
        "match split",
        lambda: [
            write_plain_pattern(Format.URLSET, ""),
            write_plain_pattern(Format.INDEX, "s:"),
        ],
    ),
    # searched only where each section ends before the next one begins (`_are_clean`)
    "sitemapreader._read.xml.grammar:write_clean_pattern": (
        "match",
        lambda: [write_clean_pattern(key, "x") for key in (XHTML, *PARSED_EXTENSIONS)],
    ),
    "sitemapreader._read.xml.markup:write_tag_pattern": (
        "search match finditer",
        lambda: [write_tag_pattern(RECORDS)],
    ),
}
"""Place -> the methods by which expressions are called that a function there writes; examples."""


def _list_numbers() -> Iterator[str]:
    for parse in (parse_count, parse_priority):
        for cell in parse.__closure__ or ():
            match = getattr(cell.cell_contents, "__self__", None)
            if isinstance(match, re.Pattern):
                yield match.pattern


FOUND, UNKNOWN = list_expressions(sorted(PACKAGE.rglob("*.py")), MADE)
NAMES = {
    f"{each.place}.{each.method}-{number}": each for number, each in enumerate(FOUND)
}
FEW = leave_out_alike(NAMES)
"""Without those that another way of calling the same expression covers."""
FEW_TEXTS = 50
"""Texts of each that are tried by default, from all of those that there are."""


def find_hard_text(
    expression: Expression, *, thorough: bool, rounds: int = ROUNDS
) -> str:
    """Return the beginning of a text for which time grows faster than the text; "" for none."""
    texts = list(write_texts(expression.pattern, thorough=thorough))
    step = 1 if thorough else len(texts) // FEW_TEXTS + 1
    for write in texts[::step]:
        if _is_hard(expression, write, rounds):
            return write(80)
    return ""


def _is_hard(expression: Expression, write: Callable[[int], str], rounds: int) -> bool:
    seconds = 0.0
    for text in map(write, SIZES):
        seconds = least_seconds(partial(expression.run, text), 1)
        if (
            seconds > MAX_SECONDS
            and least_seconds(partial(expression.run, text)) > MAX_SECONDS
        ):
            return True
    largest = SIZES[-1]
    return seconds > CHEAP_SECONDS and not is_linear(
        expression.run, write(largest), write(4 * largest), rounds
    )


def test_every_expression_is_found() -> None:
    """No expression is left out: one that a function writes has an example here."""
    assert UNKNOWN == []
    assert len(FOUND) > 200
    assert {
        "sitemapreader._read.html:_HTML_ATTRIBUTE",
        "sitemapreader._types.dates:_W3C",
    } <= {each.place for each in FOUND}


@pytest.mark.parametrize("part", range(8))
def test_time_grows_with_the_text(part: int) -> None:
    """A text that repeats what an expression repeats takes time as it is long."""
    found = {
        name: find_hard_text(FEW[name], thorough=False) for name in list(FEW)[part::8]
    }
    assert {name: text for name, text in found.items() if text} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_time_grows_with_any_text(name: str) -> None:
    """The same for many more texts: all characters, with all that may stand before and behind."""
    assert find_hard_text(NAMES[name], thorough=True) == ""


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*x", "search"),  # blanks, from each place
        (r"[\s/]*+([^\s/>=]++)", "findall"),  # possessive, but tried at each place
        ("<!--.*?-->", "finditer"),  # each beginning looks for an end
        (r"\d+[a-z]*\d+!", "match"),  # two neighbours share what they take
        ("(?:a|b|ab)*c", "fullmatch"),  # a choice that is none
        ("(x+)+y", "match"),
        ("(?:^|,)[^;]*;", "sub"),
        (rb"<\?.*\?>", "search"),
    ],
)
def test_a_slow_expression_is_caught(pattern: str | bytes, method: str) -> None:
    """The law sees each kind of expression that is slow, by the way in which it is called."""
    compiled = re.compile(pattern, re.DOTALL)
    expression = Expression("here", compiled, method)
    assert find_hard_text(expression, thorough=False, rounds=2)


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s*x", "match"),
        (r"<[^<>]*+>", "findall"),
        (r"(?>\s+)x", "match"),
        ("a{1,9}b", "search"),
    ],
)
def test_a_quick_expression_is_not(pattern: str, method: str) -> None:
    """What is slow by a search alone may be called as a match."""
    assert (
        find_hard_text(Expression("here", re.compile(pattern), method), thorough=False)
        == ""
    )
