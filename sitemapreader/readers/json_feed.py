"""The reader of JSON Feed, versions 1 and 1.1.

https://www.jsonfeed.org/version/1.1/
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement

from sitemapreader.issues import IssueCode
from sitemapreader.models import Event, Format
from sitemapreader.readers.records.context import Record, RecordContext
from sitemapreader.readers.records.entries import NEXT, deliver_pages, read_record
from sitemapreader.readers.records.vocabulary import USUAL_PREFIXES, Names
from sitemapreader.readers.xml.characters import remove_controls, replace_bad_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_IMAGE = f"{{{USUAL_PREFIXES['media']}}}content"
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
        self._context = RecordContext(stats, Names("", Format.RSS, limits.names), [])
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
                self._take_member(name, value)
                if number % _STEP == 0:
                    events += self._context.take_events()
                    yield events
                    events = []
        except (json.JSONDecodeError, RecursionError) as error:
            fault, why = (fault, why) if fault else _explain(text, error)
        events += self._context.take_events()
        if fault is not None:
            self._stats.add_issue(events, fault, value=why)
        elif not self._stats.records:
            self._stats.add_issue(events, IssueCode.EMPTY)
        yield events
        events = []
        deliver_pages(events, self._stats, self._pages)
        yield events

    def _take_member(self, name: object, value: object) -> None:
        if name == "items":
            self._read_item(value if isinstance(value, dict) else {})
        elif name == "next_url" and (url := _clean(value, set())):
            self._pages[NEXT] = (url,)

    def _read_item(self, item: dict[str, Any]) -> None:
        """Read an item as the record of RSS that says the same."""
        repairs: set[IssueCode] = set()
        texts = {name: _clean(item.get(name), repairs) for name in _FIELDS}
        links = (texts[name] for name in ("url", "external_url") if type(item.get(name)) is str)
        record, errors = Element("item"), {}
        if link := next(filter(None, links), ""):
            for name in ("date_modified", "date_published", "title", "image"):
                if len(texts[name]) > self._limits.field_chars:
                    issue = IssueCode.FIELD_TOO_LONG
                    self._stats.add_issue(self._context.events, issue, url=link)
                    texts[name] = ""
            child = SubElement(record, "link")
            child.text = link
            if len(link) > self._limits.field_chars:
                errors[child] = IssueCode.FIELD_TOO_LONG
            SubElement(record, "pubDate").text = texts["date_modified"] or texts["date_published"]
            SubElement(record, "title").text = " ".join(texts["title"].split())
            if texts["image"]:
                SubElement(record, _IMAGE, url=texts["image"], medium="image")
        else:
            record.text = texts["id"]
        read_record(self._context, Record(record, lambda _: None, None, errors, repairs))


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
