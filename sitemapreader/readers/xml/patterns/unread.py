"""The images, videos, news, alternates and extras that are read when asked for.

Many callers never use them. The pattern has proved that they need no Issue; their values are read
from the text of their elements when one of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 (attrs resolves field types at run time)
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Alternate
from sitemapreader.readers.records.context import make_extra
from sitemapreader.readers.records.media import MediaReader
from sitemapreader.readers.records.vocabulary import EXTENSIONS, take_text
from sitemapreader.readers.xml.characters import SECTION, decode, decode_attributes
from sitemapreader.readers.xml.patterns.grammar import REFERENCE
from sitemapreader.readers.xml.tree import parse_element
from sitemapreader.urls import parse_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sitemapreader.models import Extra
    from sitemapreader.readers.records.vocabulary import Names

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
        keys = self.vocabulary.keys
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
            "extras": tuple(self._read_extras()),
            "title": news.title if news else None,
        }

    def _read_extras(self) -> Iterator[Extra]:
        if self.others:
            yield from map(make_extra, parse_element(self.vocabulary.start_tag, self.others))


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
