"""The resolved names of elements: the vocabulary of each, and its name there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.readers.records.vocabulary import (
    MAX_NAMESPACE_CHARS,
    MAX_NAMESPACES,
    OWN,
    namespace_key,
)

if TYPE_CHECKING:
    from sitemapreader.models import Format


_LONGEST_KEPT = 2 * MAX_NAMESPACE_CHARS
"""Longer names are resolved each time: thousands of them would take a lot of memory."""


@attrs.frozen
class Name:
    """The name of an element, resolved."""

    uri: str
    local: str
    """As written."""
    key: str
    """The key of its namespace; the URI of one that we do not know."""
    tag: str
    """Its local name in lower case."""
    own: str
    """`tag` in the document's own vocabulary, "" in any other."""


class Names(dict[Any, Name]):
    """Resolver of names, `{uri}local`, each only once; `most` may be extras."""

    def __init__(self, root_uri: str, format_: Format, most: int) -> None:
        super().__init__()
        self._own_uris = {root_uri, ""}
        self._format = format_
        self._most = most
        self._of_extras: set[Any] = set()

    @property
    def are_too_many(self) -> bool:
        """Whether the extras of the document have too many names."""
        return len(self._of_extras) > self._most

    @property
    def own_count(self) -> int:
        """How many namespaces are the document's own; the number never falls."""
        return len(self._own_uris)

    def add_own(self, uri: str) -> None:
        """Add a namespace as the document's own: a nested root's, or its records'."""
        uri = uri[: MAX_NAMESPACE_CHARS + 1]
        if uri not in self._own_uris and len(self._own_uris) < MAX_NAMESPACES:
            self._own_uris.add(uri)
            self.clear()

    def count_extras(self, tags: set[str]) -> bool:
        """Count the names of extras; return False if they are too many or too long."""
        together = self._of_extras | tags
        if len(together) > self._most or max(map(len, tags)) > _LONGEST_KEPT:
            return False
        self._of_extras = together
        return True

    def count_extra(self, tag: object) -> Name:
        """Count the name of an element that becomes an extra, and resolve it."""
        is_long = isinstance(tag, str) and len(tag) > _LONGEST_KEPT
        if not self.are_too_many:
            self._of_extras.add(hash(tag) if is_long else tag)
        return self[tag]

    def find_key(self, uri: str) -> str:
        """Return the key of a namespace."""
        return OWN if uri in self._own_uris else namespace_key(uri, self._format)

    def __missing__(self, tag: object) -> Name:
        if not isinstance(tag, str):  # a processing instruction, or a mark of the lenient parser
            return NO_NAME
        uri, _, local = tag.rpartition("}")
        uri = uri[1:]
        key = self.find_key(uri)
        lower = local.lower()
        name = Name(uri, local, key, lower, lower if key == OWN else "")
        if len(self) < 2 * self._most and len(tag) <= _LONGEST_KEPT:
            self[tag] = name
        return name


NO_NAME = Name("", "", "", "", "")
"""The name of comments and processing instructions, which are no elements."""
