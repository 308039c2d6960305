"""The values of an audit: rules, findings, and rows of facts.

Rules and findings are plain and frozen. All else are rows, as they come from the database and go
into the JSON of an audit, of which every other format is made.
"""

from __future__ import annotations

import json
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sitemapreader.issues import Severity

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

T = TypeVar("T")

SCHEMA = 1
"""Of audits in JSON; raised when a key is renamed, removed or means another thing, and not for a
new one."""


class AuditInputError(ValueError):
    """An input of an audit that is wrong or unreadable; the message says what to do."""


class Row(dict[str, Any]):
    """Values by name, which are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def make_plain(value: Any) -> Any:
    """Return a value as JSON will have it: rows, lists, texts and numbers."""
    if isinstance(value, Severity):
        return value.name.lower()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [make_plain(each) for each in value]
    if isinstance(value, dict):
        return Row((name, make_plain(each)) for name, each in value.items())
    if attrs.has(type(value)):
        names = attrs.fields_dict(type(value))
        return Row((name, make_plain(getattr(value, name))) for name in names)
    return value


def write_literal(value: object) -> str:
    """Return a number, a moment or a text as a literal of SQL."""
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(' ')}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def read_json(
    path: str | os.PathLike[str],
    what: str,
    advice: str,
    parse: Callable[[Any], T],
    schema: int = SCHEMA,
) -> T:
    """Return what `parse` makes of a file of ours; raise AuditInputError for others.

    `what` says of another file what it is not, and `advice` how to write one.
    """
    try:
        content = json.loads(Path(path).read_text("utf-8"), object_hook=Row)
        json.dumps(content, ensure_ascii=False).encode()  # no lone surrogates, as DuckDB has none
        if content["schema"] == schema:
            return parse(content)
    except OSError as error:
        raise AuditInputError(f"{path} cannot be read: {error.strerror}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise AuditInputError(f"{path} is {what}: {advice}") from None
    raise AuditInputError(f"{path} was written by another version: {advice}")


class Category(StrEnum):
    """The categories of rules, in the order in which they are shown."""

    READING = "Reading"
    DISCOVERY = "Discovery"
    INDEX = "Index"
    RESPONSE = "Response"
    FRESHNESS = "Freshness"
    DUPLICATES = "Duplicates"
    HOSTS = "Hosts"
    ROBOTS = "Robots"
    HREFLANG = "hreflang"
    MEDIA = "Media"
    URLS = "URLs"
    PAGES = "Pages"
    COMPARISON = "Comparison"
    CUSTOM = "Custom"
    """Rules of the user's own, of `--rules`."""

    @property
    def place(self) -> int:
        """Its place in their order."""
        return list(Category).index(self)


class Need(StrEnum):
    """A need of a rule besides the sitemaps."""

    ROBOTS = "robots"
    """A robots.txt that was read."""
    SITE = "site"
    """A robots.txt whose Sitemap lines were followed: the source is a site."""
    FETCH = "fetch"
    """Answers of an HTTP server; a folder has none."""
    COMPLETE = "complete"
    """A walk that read all that is listed."""
    KNOWN = "urls"
    """A list of known URLs."""
    PAGES = "pages"
    """Pages that were visited, half of which could be judged."""
    WAS = "was"
    """Old URLs that were visited, half of which could be judged."""
    FOLDER = "folder"
    """A built folder, all of whose pages were looked up."""
    OVERLAP = "overlap"
    """A list of known URLs that is large enough."""


@attrs.frozen
class AuditRule:
    """One rule: what it detects, and what the result means.

    Attributes:
        code: kebab-case; never renamed, never reused, and no code of another Issue.
        category: where it is shown.
        severity: how much a hit matters, unless the settings say otherwise.
        title: what is wrong, in a few words.
        unit: what its hits are, in the plural: "URLs", "sitemaps", "images".
        detects: when exactly it hits.
        meaning: why it matters.
        advice: what to do about it.
        sources: addresses of what it is based on; the first is the main one.
        needs: what it needs besides the sitemaps.
        known_as: what Search Console calls it, or "".
        causes: codes of rules that may find the same fault; a finding of theirs comes above it.
    """

    code: str
    category: Category
    severity: Severity
    title: str
    unit: str
    detects: str = ""
    meaning: str = ""
    advice: str = ""
    sources: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    known_as: str = ""
    causes: tuple[str, ...] = ()


@attrs.frozen
class Example:
    """One hit of a rule; its texts come from strangers: escape them, never link them.

    Attributes:
        url: URL that the hit is about; "" where it is about a document alone.
        detail: what was seen there, such as the other spelling or the date; may be "".
        document: URL of the sitemap; "" where there is none.
        line: line in the sitemap, from 1, where it is known: of Issues, and in files.
        file: file of a built folder that has to be mended, relative to that folder; "" elsewhere.
        file_line: line in that file, from 1, where it is known.
    """

    url: str
    detail: str = ""
    document: str = ""
    line: int | None = None
    file: str = ""
    file_line: int | None = None


@attrs.frozen
class Place:
    """How many hits of a rule are in one sitemap.

    Attributes:
        document: URL of the sitemap.
        count: how many.
        url: URL of the first of them; "" where it is about the sitemap alone.
        line: line of the first of them, from 1, where it is known.
    """

    document: str
    count: int
    url: str = ""
    line: int | None = None


@attrs.frozen
class Rate:
    """The share of pages that a rule hits.

    Attributes:
        share: estimate, from 0 to 1.
        low: lower end of its 95 % interval.
        high: upper end.
        judged: number of pages that it is based on.
        population: number of pages that it speaks for.
    """

    share: float
    low: float
    high: float
    judged: int
    population: int


@attrs.frozen
class Finding:
    """The hits of one rule: their exact number, their places, and some examples.

    Attributes:
        rule: the rule.
        severity: its severity in this audit, which settings may have changed.
        count: number of hits; at least 1.
        of: number of URLs, documents ... that were looked at, 0 where that says nothing.
        places: sitemaps by number of hits, the most first; at most `MAX_PLACES`.
        places_total: number of sitemaps with hits.
        examples: some hits, at most `AuditOptions.examples`.
        new: number of hits that the baseline does not have; `None` without a baseline.
        rate: the share of all pages that it speaks for, where a sample was visited.
        urls: number of URLs that it touches: those that it hits, or those of the sitemaps that it
            hits; an estimate where a sample was visited.
        cause: code of the finding that is the same fault, seen from another side; or "".
        doubt: what is not known of it, since not everything was read; or "".
    """

    rule: AuditRule
    severity: Severity
    count: int
    of: int = 0
    places: tuple[Place, ...] = ()
    places_total: int = 0
    examples: tuple[Example, ...] = ()
    new: int | None = None
    rate: Rate | None = None
    urls: int = 0
    cause: str = ""
    doubt: str = ""

    @property
    def code(self) -> str:
        """The code of its rule."""
        return self.rule.code


FOREMOST = "robots-blocks-site"
"""The finding beside which the others of its severity hardly matter."""
MAX_PLACES = 5_000
"""Sitemaps that a finding names; the rest is in the database."""


@attrs.frozen
class NotRun:
    """A rule that was not run.

    Attributes:
        rule: the rule.
        reason: why, and what to do so that it runs: "no list of known URLs: give one with `urls`".
        is_error: whether the rule itself is broken, so that its query failed.
    """

    rule: AuditRule
    reason: str
    is_error: bool = False
