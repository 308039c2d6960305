"""The images, videos, news, alternates and extras of common records, read when asked for.

Many callers never look at them. The pattern has proved that nothing has to be said of them; what
they are is read from the text of their elements, once one of them is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003 (attrs resolves field types at run time)
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.models import Alternate, Extra
from sitemapreader.readers.records.elements import join_own_texts
from sitemapreader.readers.records.fields import BY_KEY
from sitemapreader.readers.records.namespaces import XHTML
from sitemapreader.readers.xml.characters import SECTION, decode
from sitemapreader.readers.xml.tree import parse_element

if TYPE_CHECKING:
    from collections.abc import Iterator

_START_TAG = re.compile(rf"<([^\s<>/:]++):([^\s<>/]++)([^<>]*+)>([^<]*+(?>(?:{SECTION}[^<]*+)?))")
_ATTRIBUTE = re.compile(r'([a-z_]++)="([^"]*+)"')
_BLANKS = re.compile("\r\n|[\t\r\n]")


@attrs.frozen
class Vocabulary:
    """What the prefixes of elements mean that are left unread.

    Attributes:
        keys: the prefixes of our own vocabulary, and the keys of their namespaces.
        start_tag: binds all prefixes.
    """

    keys: Mapping[str, str]
    start_tag: str


@attrs.define(weakref_slot=False)
class UnreadParts:
    """The elements of a record whose values are not made yet.

    Attributes:
        vocabulary: what their prefixes mean.
        known: those of our own vocabulary, as written.
        others: the other ones, as written.
    """

    vocabulary: Vocabulary
    known: str
    others: str

    def read(self) -> dict[str, Any]:
        """Return the value of each attribute of the entry that depends on them."""
        slots: dict[str, list[Any]] = {"images": [], "videos": [], "news": [], "alternates": []}
        fields: dict[str, Any] = {}
        made = []
        for prefix, tag, raw, written in _START_TAG.findall(self.known):
            key = self.vocabulary.keys[prefix]
            if key == XHTML:
                slots["alternates"].append(_make_link(raw))
                continue
            extension = BY_KEY[key]
            if tag == extension.tag:
                fields = {}
                made.append((extension, fields))
            elif field := extension.by_tag.get(tag):
                attributes = _read_attributes(raw)
                for name, slot, parse in field.attributes:
                    if name in attributes:
                        fields[slot] = parse(attributes[name])
                if not (text := decode(written).strip()):
                    continue
                value = field.parse(text)
                fields[field.name] = (*fields.get(field.name, ()), value) if field.many else value
        for extension, values in made:
            slots[extension.slot].append(extension.make(**values))
        news = slots["news"][-1] if slots["news"] else None
        return {
            **{slot: tuple(values) for slot, values in slots.items()},
            "news": news,
            "extras": tuple(self._read_extras()),
            "title": news.title if news else None,
        }

    def _read_extras(self) -> Iterator[Extra]:
        if self.others:
            root = parse_element(self.vocabulary.start_tag, self.others)
            for element in islice(root.iter(), 1, None):
                uri, _, local = element.tag.rpartition("}")
                yield Extra(uri[1:], local, join_own_texts(element))


def _make_link(raw: str) -> Alternate:
    attributes = _read_attributes(raw)
    return Alternate(attributes["href"], attributes.get("hreflang"), attributes.get("media"))


def _read_attributes(raw: str) -> dict[str, str]:
    if "=" not in raw:
        return {}
    attributes = dict(_ATTRIBUTE.findall(raw))
    if "&" in raw or "\n" in raw or "\r" in raw or "\t" in raw:
        return {name: decode(_BLANKS.sub(" ", value)) for name, value in attributes.items()}
    return attributes
