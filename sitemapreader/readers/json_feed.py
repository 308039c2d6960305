"""The reader of JSON Feed, versions 1 and 1.1.

https://www.jsonfeed.org/version/1.1/
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import Format, Image, UrlEntry
from sitemapreader.readers.records.context import find_relative_error
from sitemapreader.readers.records.entries import NEXT, deliver_pages
from sitemapreader.readers.xml.characters import remove_controls, replace_bad_bytes
from sitemapreader.urls import (
    find_url_error,
    has_web_scheme,
    parse_reference,
    resolve,
    url_warnings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.models import Event
    from sitemapreader.options import Limits
    from sitemapreader.readers.stats import ReadStats

VERSION = re.compile(
    r"""(?<!\\)"version"\s*+:\s*+"https?:\\?/\\?/(?:www\.)?jsonfeed\.org\\?/version\b"""
)
"""PHP escapes slashes."""


class _Number(str):
    """A number as written: Python refuses to make one of thousands of digits."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    strict=False, parse_int=_Number, parse_float=_Number, parse_constant=_Number
)
_BLANKS = re.compile(r"[ \t\r\n]*+")
_FIELDS = ("id", "url", "external_url", "date_modified", "date_published", "title", "image")
_MOST_VALUES = 200_000
"""Of one document: the smallest take 100 bytes each, and all of them 50 ms in one piece."""
_SAMPLE_CHARS = 200
_TRAILING = "Extra data"
_STEP = 100
"""Items of one step, in about a millisecond."""


class JsonFeedReader:
    """Reader of the items of a JSON Feed, once the document has come as a whole.

    Every item before a fault in the syntax is delivered, and none behind it.
    """

    def __init__(self, stats: ReadStats, limits: Limits) -> None:
        self.format: Format | None = None
        self.finished = False
        self._stats = stats
        self._limits = limits
        self._data = bytearray()
        self._pages: dict[str, tuple[str]] = {}

    def feed(self, data: bytes) -> Iterator[list[Event]]:
        """Keep the next bytes; read what there is if they are too many."""
        self._data += data
        if len(self._data) > self._limits.json_bytes:
            yield from self._read(IssueCode.TOO_LARGE, "json_bytes")
            self.finished = True
            yield []

    def close(self, cut: IssueCode | None) -> Iterator[list[Event]]:
        """Read the document; `cut` is why it was cut."""
        if not self.finished:
            yield from self._read(cut)

    def _read(self, fault: IssueCode | None, why: str | None = None) -> Iterator[list[Event]]:
        events: list[Event] = []
        text = self._data.decode("utf-8", "surrogateescape")
        self._data.clear()
        if not text.isascii() and text != (clean := replace_bad_bytes(text)):
            text = clean
            self._stats.add_issue_once(events, IssueCode.ENCODING)
        if not VERSION.search(text):
            self._stats.add_issue(events, IssueCode.NOT_A_SITEMAP, value=text[:40])
            yield events
            return
        self.format = Format.JSON_FEED
        if sum(map(text.count, "[{:,")) > _MOST_VALUES:
            text, fault, why = "", IssueCode.TOO_LARGE, "json_bytes"
        try:
            for number, (name, value) in enumerate(_list_members(text), 1):
                self._take_member(events, name, value)
                if number % _STEP == 0:
                    yield events
                    events = []
        except (json.JSONDecodeError, RecursionError) as error:
            fault, why = (fault, why) if fault else _explain(text, error)
        if fault is not None:
            self._stats.add_issue(events, fault, value=why)
        elif not self._stats.records:
            self._stats.add_issue(events, IssueCode.EMPTY)
        yield events
        events = []
        deliver_pages(events, self._stats, self._pages)
        yield events

    def _take_member(self, events: list[Event], name: object, value: object) -> None:
        if name == "items":
            self._read_item(events, value if isinstance(value, dict) else {})
        elif name == "next_url" and (url := _clean(value, set())):
            self._pages[NEXT] = (url,)

    def _read_item(self, events: list[Event], item: dict[str, Any]) -> None:
        stats, repairs = self._stats, set[IssueCode]()
        texts = {name: _clean(item.get(name), repairs) for name in _FIELDS}
        links = (texts[name] for name in ("url", "external_url") if type(item.get(name)) is str)
        text = next(filter(None, links), "")
        url = text if has_web_scheme(text) else resolve(stats.sitemap, text) or ""
        if error := self._find_error(text, url):
            stats.drop_record(events, error, value=text or texts["id"] or None)
            return
        if url is not text:
            stats.add_issue(events, IssueCode.RELATIVE_LOC, url=url, value=text)
        for code in (*sorted(repairs), *url_warnings(url)):
            stats.add_issue(events, code, url=url)
        for name in ("date_modified", "date_published", "title", "image"):
            if len(texts[name]) > self._limits.field_chars:
                stats.add_issue(events, IssueCode.FIELD_TOO_LONG, url=url)
                texts[name] = ""
        written = texts["date_modified"] or texts["date_published"] or None
        lastmod = parse_lastmod(written) if written else None
        if written and lastmod is None:
            stats.add_issue(events, IssueCode.LASTMOD, url=url, value=written)
        image = parse_reference(texts["image"])
        if image is None:
            stats.add_issue(events, IssueCode.EXTENSION, url=url, value=texts["image"])
        entry = UrlEntry(url, lastmod, sitemap=stats.sitemap, lastmod_text=written)
        entry.images = (Image(image),) if image else ()
        entry.title = " ".join(texts["title"].split()) or None
        stats.deliver()
        events.append(entry)

    def _find_error(self, text: str, url: str) -> IssueCode | None:
        """Return why an item has no usable URL; `None` if it has one."""
        if not text:
            return IssueCode.MISSING_LOC
        if len(text) > self._limits.field_chars:
            return IssueCode.FIELD_TOO_LONG
        if url is text:
            return find_url_error(text)
        return find_url_error(text) or find_relative_error(text, self._stats.sitemap, url)


def _list_members(text: str) -> Iterator[tuple[object, Any]]:
    """Yield the members of an object by name; those of an array, one by one.

    Raises JSONDecodeError at the first fault, and RecursionError where values are nested too deep.
    """
    position = _pass(text, 0, "{")
    while not text.startswith("}", position):
        name, position = _DECODER.raw_decode(text, position)
        position = _pass(text, position, ":")
        if not text.startswith("[", position):
            value, position = _DECODER.raw_decode(text, position)
            yield name, value
        else:
            position = _pass(text, position, "[")
            while not text.startswith("]", position):
                value, position = _DECODER.raw_decode(text, position)
                yield name, value
                position = _pass_comma(text, position, "]")
            position = _pass(text, position, "]")
        position = _pass_comma(text, position, "}")
    position = _pass(text, position, "}")
    if position < len(text):
        raise json.JSONDecodeError(_TRAILING, text, position)


def _pass(text: str, position: int, mark: str) -> int:
    """Return where blanks end behind a mark, which must stand here."""
    position = _pass_blanks(text, position)
    if not text.startswith(mark, position):
        raise json.JSONDecodeError(f"Expecting {mark}", text, position)
    return _pass_blanks(text, position + len(mark))


def _pass_comma(text: str, position: int, end: str) -> int:
    """Return where the next member begins, or the end of all."""
    position = _pass_blanks(text, position)
    return position if text.startswith(end, position) else _pass(text, position, ",")


def _pass_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position


def _explain(
    text: str, error: json.JSONDecodeError | RecursionError
) -> tuple[IssueCode, str | None]:
    """Return the code of a fault in the syntax, and the text where it is."""
    if isinstance(error, RecursionError):
        return IssueCode.TOO_DEEP, None
    code = IssueCode.TRAILING_BYTES if error.msg == _TRAILING else IssueCode.MALFORMED
    whole = text.rstrip()
    if code is IssueCode.MALFORMED and (error.pos >= len(whole) or not whole.endswith("}")):
        return IssueCode.TRUNCATED, None
    return code, text[error.pos : error.pos + _SAMPLE_CHARS]


def _clean(value: object, repairs: set[IssueCode]) -> str:
    """Return a text without what no text may hold; "" for anything else."""
    text = value if isinstance(value, str) else ""
    if not text.isascii():  # half of a surrogate pair may be escaped
        text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return remove_controls(text, repairs).strip()
