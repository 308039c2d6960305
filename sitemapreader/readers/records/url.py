"""One record as a tree -> the values that it stands for, and an Issue for all that is odd in it.

This is where a record's meaning is written down, in one table (`BUILDERS`) and a function a row.
What the fast reader makes of a plain record has to be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.issues import IssueCode
from sitemapreader.models import SitemapEntry, UrlEntry, Via
from sitemapreader.readers.records.context import is_own
from sitemapreader.readers.records.extensions import add_extension
from sitemapreader.readers.records.feeds import read_entry, read_item
from sitemapreader.readers.records.fields import PROTOCOL_FIELDS, parse_changefreq, parse_priority
from sitemapreader.readers.records.namespaces import OWN
from sitemapreader.urls import has_web_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.records.context import RecordContext


def read_record(context: RecordContext, record: Element) -> Iterator[None]:
    """Add the record's entries and Issues, with a pause for each entry and extension's field."""
    if record.fault:
        value = record.all_text()
        context.stats.drop(context.events, record.fault, line=record.line, value=value)
        yield
    else:
        yield from BUILDERS[record.tag](context, record)


def read_url(context: RecordContext, record: Element) -> Iterator[None]:
    """Read a `<url>`; one with several locs gives an entry each, with what follows its loc."""
    parts = _split_by_loc(context, record)
    context.report_repairs(record, parts[0][0])
    for text, loc, fields in parts:
        yield
        url = context.check_loc(record, text, loc)
        if url is not None:
            context.deliver((yield from _make_url_entry(context, url, fields)))


def read_sitemap(context: RecordContext, record: Element) -> Iterator[None]:
    """Read a `<sitemap>` of an index."""
    parts = _split_by_loc(context, record)
    context.report_repairs(record, parts[0][0])
    for text, loc, fields in parts:
        yield
        url = context.check_loc(record, text, loc)
        if url is not None:
            lastmod, lastmod_text = context.read_date(context.last(fields, "lastmod", url), url)
            sitemap = context.stats.sitemap
            context.deliver(SitemapEntry(url, lastmod, Via.INDEX, sitemap, lastmod_text))
            for field in fields:
                if field.key != OWN or field.tag not in PROTOCOL_FIELDS:
                    context.note(IssueCode.EXTENSION, field, url=url, value=f"<{field.name}>")


def _split_by_loc(
    context: RecordContext, record: Element
) -> list[tuple[str, Element | None, list[Element]]]:
    """Split a record into (loc's text, loc, the fields that belong to it).

    What stands before the first loc belongs to it too. A record without a loc may have its URL as
    its own text.
    """
    texts = {
        place: child.texts() for place, child in enumerate(record.children) if is_own(child, "loc")
    }
    locs = [place for place, runs in texts.items() if runs] or list(texts)[:1]
    if not locs:
        runs = record.texts()
        text = runs[0] if runs and has_web_scheme(runs[0]) else ""
        if text:
            context.note(IssueCode.MISSING_LOC, record, value=text)
        return [(text, None, record.children)]
    if len(texts) > 1:
        context.note(IssueCode.REPEATED_LOC, record, value=str(len(texts)))
    starts = [0, *locs[1:]]
    ends = [*locs[1:], len(record.children)]
    return [
        (record.children[place].text, record.children[place], record.children[start:end])
        for place, start, end in zip(locs, starts, ends, strict=True)
    ]


def _make_url_entry(
    context: RecordContext, url: str, fields: list[Element]
) -> Generator[None, None, UrlEntry]:
    lastmod, changefreq, priority = (context.last(fields, tag, url) for tag in PROTOCOL_FIELDS[1:])
    moment, lastmod_text = context.read_date(lastmod, url)
    entry = UrlEntry(
        url,
        moment,
        context.read_value(changefreq, url, parse_changefreq, IssueCode.CHANGEFREQ),
        context.read_value(priority, url, parse_priority, IssueCode.PRIORITY),
        sitemap=context.stats.sitemap,
        lastmod_text=lastmod_text,
    )
    found: dict[str, list[Any]] = {}
    for field in fields:
        if field.key != OWN or field.tag not in PROTOCOL_FIELDS:
            yield
            yield from add_extension(context, found, field, url)
    for slot, values in found.items():
        setattr(entry, slot, values[-1] if slot == "news" else tuple(values))
    return entry


BUILDERS: dict[str, Callable[[RecordContext, Element], Iterator[None]]] = {
    "url": read_url,
    "sitemap": read_sitemap,
    "item": read_item,
    "entry": read_entry,
}
"""Name of a record -> what reads it."""
