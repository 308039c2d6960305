"""The records of urlsets and sitemap indexes: `<url>` and `<sitemap>`.

This module defines the meaning of a record that the tree or the lenient parser has read. The
pattern must give the same for common records.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode
from sitemapreader.models import Change, SitemapEntry, UrlEntry, Via
from sitemapreader.readers.records.elements import join_texts, list_texts, read_attributes
from sitemapreader.readers.records.extensions import add_extension
from sitemapreader.readers.records.feeds import read_entry, read_item
from sitemapreader.readers.records.fields import PROTOCOL_FIELDS, parse_changefreq, parse_priority
from sitemapreader.readers.records.names import NO_NAME
from sitemapreader.readers.records.namespaces import RESOURCESYNC
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias
    from xml.etree.ElementTree import Element

    from sitemapreader.readers.records.context import RecordContext
    from sitemapreader.readers.records.elements import Record
    from sitemapreader.readers.records.names import Name

    Parsers: TypeAlias = tuple[tuple[str, Callable[[str], Any], IssueCode], ...]


def read_record(context: RecordContext, record: Record) -> None:
    """Add the record's entries and Issues."""
    context.record = record
    if record.error:
        context.drop_record(record.error, join_texts(record.element))
    else:
        _READERS[context.names[record.element.tag].tag](context, record.element)


@attrs.define
class _Part:
    """What belongs to one loc of a record.

    Attributes:
        loc: its element, if it has one.
        text: its text.
        own: the last filled element of each other field of the protocol.
        repeated: fields of which there are several.
        others: elements of extensions.
    """

    loc: Element | None = None
    text: str = ""
    own: dict[str, Element] = attrs.field(factory=dict)
    repeated: set[str] = attrs.field(factory=set)
    others: list[tuple[Name, Element]] = attrs.field(factory=list)


def _read_protocol_record(context: RecordContext, element: Element) -> None:
    """Read a `<url>` or `<sitemap>`; each of several locs gives an entry of its own."""
    is_url = context.names[element.tag].tag == "url"
    parts = _split_by_loc(context, element)
    context.report_repairs(parts[0].text)
    for part in parts:
        url = context.check_loc(part.text, part.loc)
        if url is not None:
            make = _make_url_entry if is_url else _make_sitemap_entry
            make(context, url, part)


def _split_by_loc(context: RecordContext, element: Element) -> list[_Part]:
    """Split a record by its locs: each with the fields behind it.

    What stands before the first loc belongs to it too, and an empty one does not count beside
    others. A record without a loc may have its URL as its own text.
    """
    part = _Part()
    parts, locs = [part], 0
    for child in element:
        name = context.names[child.tag]
        own = name.own
        if own == "loc":
            locs += 1
            part = _add_loc(parts, child)
        elif own not in PROTOCOL_FIELDS:
            if name is not NO_NAME:
                part.others.append((name, child))
        elif context.is_filled(child):
            if own in part.own:
                part.repeated.add(own)
            part.own[own] = child
    if locs > 1:
        context.add_issue(IssueCode.REPEATED_LOC, element, value=str(locs))
    elif not locs and (texts := list_texts(element)) and has_web_scheme(texts[0]):
        part.text = texts[0]
        context.add_issue(IssueCode.MISSING_LOC, element, value=part.text)
    return parts


def _add_loc(parts: list[_Part], loc: Element) -> _Part:
    """Add a loc to the last part, or a part for it; return the part for what follows."""
    part, texts = parts[-1], list_texts(loc)
    if texts and part.loc is not None and list_texts(part.loc):
        part = _Part()
        parts.append(part)
    if texts or part.loc is None:
        part.loc, part.text = loc, texts[0] if len(texts) == 1 else ""
    return part


def _read_own(
    context: RecordContext, url: str, part: _Part, parsers: Parsers
) -> list[tuple[Any, str | None]]:
    """Return the value and the text of each field behind the loc."""
    for tag in PROTOCOL_FIELDS:
        if tag in part.repeated:
            last = part.own[tag]
            value = context.names[last.tag].local
            context.add_issue(IssueCode.REPEATED_FIELD, last, url=url, value=value)
    return [context.read_value(part.own.get(tag), url, parse, code) for tag, parse, code in parsers]


def _make_sitemap_entry(context: RecordContext, url: str, part: _Part) -> None:
    [(moment, written)] = _read_own(context, url, part, _PARSERS[:1])
    context.deliver(SitemapEntry(url, moment, Via.INDEX, context.stats.sitemap, written))
    for name, field in part.others:
        context.add_issue(IssueCode.EXTENSION, field, url=url, value=f"<{name.local}>")


def _find_metadata(part: _Part) -> dict[str, str]:
    """Return what ResourceSync says of the URL (ANSI/NISO Z39.99, section 7)."""
    for name, field in part.others:
        if (name.key, name.tag) == (RESOURCESYNC, "md"):
            return read_attributes(field)
    return {}


def _make_url_entry(context: RecordContext, url: str, part: _Part) -> None:
    metadata = _find_metadata(part)
    if metadata.get("capability"):  # a list of lists: sections 8 and 9
        part.others.clear()
        _make_sitemap_entry(context, url, part)
        return
    change = _CHANGES.get(metadata.get("change", "").strip().lower())
    if change is Change.REMOVED and not context.keeps_deleted:
        context.drop_record(IssueCode.DELETED, url)
        return
    (moment, written), (frequency, _), (priority, _) = _read_own(context, url, part, _PARSERS)
    sitemap = context.stats.sitemap
    entry = UrlEntry(
        url, moment, frequency, priority, sitemap=sitemap, lastmod_text=written, change=change
    )
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for name, field in part.others:
        add_extension(context, found, name, field, url)
    for slot, extensions in found.items():
        setattr(entry, slot, extensions[-1] if slot == "news" else tuple(extensions))
    if entry.news:
        entry.title = entry.news.title
    context.deliver(entry)


_CHANGES = {"created": Change.NEW, "updated": Change.CHANGED, "deleted": Change.REMOVED}
_PARSERS: Parsers = (
    ("lastmod", parse_lastmod, IssueCode.LASTMOD),
    ("changefreq", parse_changefreq, IssueCode.CHANGEFREQ),
    ("priority", parse_priority, IssueCode.PRIORITY),
)
"""Each field behind the loc, what reads it, and the code of what cannot be read."""
_READERS: dict[str, Callable[[RecordContext, Element], None]] = {
    "url": _read_protocol_record,
    "sitemap": _read_protocol_record,
    "item": read_item,
    "entry": read_entry,
}
"""Name of a record -> what reads it."""
