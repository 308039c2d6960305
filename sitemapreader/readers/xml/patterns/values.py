"""The texts that a pattern found -> values: by columns, or when asked for.

Many callers never use images, videos, news, alternates and extras. The pattern has proved that they
need no Issue; their values are read from the text of their elements when one of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 (attrs resolves field types at run time)
from functools import lru_cache
from itertools import compress, count, repeat
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.models import Alternate, Format
from sitemapreader.readers.records.context import make_extra
from sitemapreader.readers.records.entries import choose_link
from sitemapreader.readers.records.media import MediaReader
from sitemapreader.readers.records.vocabulary import EXTENSIONS, Names, take_text
from sitemapreader.readers.xml.characters import SECTION, decode, decode_attributes, decode_many
from sitemapreader.readers.xml.patterns.grammar import (
    BORDER,
    FEED_DATE_NAMES,
    LINK_ATTRIBUTES,
    REFERENCE,
    write_atom_link_pattern,
)
from sitemapreader.readers.xml.tree import parse_element
from sitemapreader.rows import EntryColumns
from sitemapreader.urls import PLAIN_URL, are_clean_urls, parse_reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Column: TypeAlias = Sequence[Any]


_PAGE, _HTML = {"", '"alternate"', "'alternate'"}, {"", '"text/html"', "'text/html'"}
"""Attributes, with their quotes, of a link that leads to the page itself."""


class Columns:
    """The texts of a batch by columns; `odd` are the places that need an Issue."""

    def __init__(self, text: str) -> None:
        self.odd: set[int] = set()
        # Whether anything must be decoded; "[" for `<![CDATA[`, as one character is found faster
        self._is_marked = "&" in text or "[" in text or "\r" in text

    def texts(self, column: Sequence[str]) -> list[str]:
        """Decode texts, and trim them; an empty list if there are none."""
        if not any(column):
            return []
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def or_none(self, texts: list[str]) -> Column | None:
        """Replace blank texts by `None`; the column as well, if there are no others."""
        if not any(texts):
            return None
        return texts if all(texts) else [text or None for text in texts]

    def check_locs(self, locs: Sequence[str]) -> None:
        """Mark the records whose URLs need a closer look as odd."""
        is_whole = all(locs)
        if not is_whole:
            self.blame(not loc for loc in locs)
        if not are_clean_urls(locs if is_whole else list(filter(None, locs))):
            self.blame(not PLAIN_URL.fullmatch(loc) and not are_clean_urls([loc]) for loc in locs)

    def check_runs(self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    def values(self, texts: list[str], parse: Callable[[str], Any]) -> Column | None:
        """Parse texts, each different one once; mark unreadable ones as odd."""
        if not any(texts):
            return None
        if parse is parse_lastmod:
            values: Column = parse_column(texts)
            are_read = all(values)
        else:
            known = {text: parse(text) for text in set(texts) if text}
            are_read = None not in known.values()
            values = list(map(known.get, texts))
        if not are_read:
            self.blame(
                value is None and bool(text) for value, text in zip(values, texts, strict=True)
            )
        return values

    def blame(self, marks: Iterable[bool]) -> None:
        """Mark places as odd."""
        self.odd.update(compress(count(), marks))


def make_posts(
    columns: Columns, found: list[Sequence[str]], sitemap: str, format_: Format, link: str
) -> EntryColumns:
    """Make the entries of records; `link` is how a link of Atom begins."""
    links, titles, *dates = found[: 2 + len(FEED_DATE_NAMES[format_])]
    is_atom = format_ is Format.ATOM
    locs = _choose_links(columns, links, link) if is_atom else columns.texts(links) or links
    columns.check_locs(locs)
    texts: list[str] = []
    for column in dates:
        if not (texts and all(texts)) and (others := columns.texts(column)):
            merged = zip(texts or others, others, strict=True)
            texts = [text or other for text, other in merged]
    moments = columns.values(texts, parse_lastmod)
    written, named = columns.or_none(texts), columns.or_none(columns.texts(titles))
    own = [sitemap] * len(locs)
    return EntryColumns(locs, own, moments, None, None, written, named)


def _choose_links(columns: Columns, runs: Sequence[str], start: str) -> list[str]:
    """Choose the URL of each entry among its links; "" where there is none."""
    pattern = write_atom_link_pattern(start)
    joined = BORDER + BORDER.join(runs)
    found = pattern.findall(joined)
    if not found[-1][-1]:  # one link each
        of = dict(zip(LINK_ATTRIBUTES, zip(*found, strict=True), strict=False))
        if _PAGE.issuperset(of["rel"]) and _HTML.issuperset(of["type"]):
            hrefs = decode_attributes([quoted[1:-1] for quoted in of["href"]])
            return list(map(str.strip, hrefs))
    if "enclosure" in joined.lower():
        columns.blame("enclosure" in run.lower() for run in runs)
    locs = []
    for place, run in enumerate(runs):
        *links, rest = pattern.findall(run.replace(start, BORDER + start) + BORDER)
        if rest[-1] != BORDER:
            columns.odd.add(place)
        attributes = [_read_link(link) for link in links]
        chosen = choose_link(attributes)
        locs.append("" if chosen is None else attributes[chosen]["href"].strip())
    return locs


def _read_link(quoted: Sequence[str]) -> dict[str, str]:
    values = decode_attributes([value[1:-1] for value in quoted])
    named = zip(LINK_ATTRIBUTES, quoted, values, strict=False)
    return {name: value for name, is_there, value in named if is_there}


_START_TAG = re.compile(rf"<([^\s<>/:]++):([^\s<>/]++)([^<>]*+)>([^<]*+(?>(?:{SECTION}[^<]*+)?))")
_ATTRIBUTE = re.compile(r'([a-z_]++)="([^"]*+)"')
_CLEAN_URL, _CLEAN_DURATION = re.compile(f'url="{REFERENCE}"'), re.compile('duration="[0-9]{1,15}"')
_VERBATIM = (take_text, parse_reference)
"""What gives the text itself, if anything: the pattern has looked at URLs."""


@attrs.frozen
class Vocabulary:
    """What the prefixes of elements mean that are left unread."""

    keys: Mapping[str, str]
    """The prefixes of our own vocabulary, and the keys of their namespaces."""
    start_tag: str
    """Binds all prefixes."""


@attrs.define(weakref_slot=False)
class UnreadParts:
    """The elements of a record, as written, whose values are not made yet."""

    vocabulary: Vocabulary
    known: str
    links: str
    others: str

    def read(self) -> dict[str, Any]:
        """Return the value of each attribute of the entry that depends on them."""
        slots: dict[str, list[Any]] = {"images": [], "videos": [], "news": []}
        fields: dict[str, Any] = {}
        made = []
        keys, start_tag, others = self.vocabulary.keys, self.vocabulary.start_tag, self.others
        for prefix, tag, raw, written in _START_TAG.findall(self.known):
            extension = EXTENSIONS[keys[prefix]]
            if tag == extension.tag:
                fields = {}
                made.append((extension, fields))
            elif field := extension.by_tag.get(tag):
                attributes = _read_attributes(raw) if raw and field.attributes else {}
                for name, slot, parse in field.attributes:
                    if name in attributes:
                        fields[slot] = parse(attributes[name])
                if not (text := decode(written).strip()):
                    continue
                value = text if field.parse in _VERBATIM else field.parse(text)
                fields[field.name] = (*fields.get(field.name, ()), value) if field.many else value
        for extension, values in made:
            slots[extension.slot].append(extension.make(**values))
        news = slots["news"][-1] if slots["news"] else None
        return {
            **{slot: tuple(values) for slot, values in slots.items()},
            "news": news,
            "alternates": tuple(_read_links(self.links)) if self.links else (),
            "extras": tuple(map(make_extra, parse_element(start_tag, others))) if others else (),
            "title": news.title if news else None,
        }


@attrs.define(weakref_slot=False)
class UnreadMedia:
    """The media of a feed's record, as written, whose values are not made yet."""

    names: Names
    start_tag: str
    text: str

    def read(self) -> dict[str, Any]:
        """Return the value of each attribute of the entry that depends on them."""
        record = parse_element(self.start_tag, self.text)
        return MediaReader(self.names, record, lambda *_, **__: None).read()  # which are clean


def are_clean_media(runs: Iterable[str]) -> bool:
    """Return whether media certainly have no value that needs an Issue."""
    rest = _CLEAN_DURATION.sub("", _CLEAN_URL.sub("", "".join(runs))).lower()
    return not ("url" in rest or "href" in rest or "duration" in rest)


def _read_links(run: str) -> Iterable[Alternate]:
    """Read a run of links: at once, if all have the first one's attributes in order."""
    names = tuple(name for name, _ in _ATTRIBUTE.findall(run[: run.index(">")]))
    rows = _write_link_pattern(names).findall(run) if len(names) > 1 else []
    if len(rows) != run.count(":link"):
        links = filter(None, map(_read_attributes, run.split("<")))
        return [Alternate(one["href"], one.get("hreflang"), one.get("media")) for one in links]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    absent = (None,) * len(rows)
    parts = (columns.get(name) for name in ("href", "hreflang", "media"))
    decoded = (decode_attributes(column) if column else absent for column in parts)
    return map(tuple.__new__, repeat(Alternate), zip(*decoded, strict=True))  # twice as fast


@lru_cache(maxsize=64)
def _write_link_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    values = r"[ \t\r\n]++".join(f'{name}="([^"]*+)"' for name in names)
    return re.compile(rf":link[ \t\r\n]++{values}[ \t\r\n]*+/?>")


def _read_attributes(raw: str) -> dict[str, str]:
    attributes = dict(_ATTRIBUTE.findall(raw))
    return dict(zip(attributes, decode_attributes(attributes.values()), strict=True))
