"""The names of elements, resolved: in which vocabulary each is, and how it is called there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.readers.records.fields import KNOWN_TAGS
from sitemapreader.readers.records.namespaces import (
    MAX_NAMESPACE_CHARS,
    MAX_NAMESPACES,
    OWN,
    namespace_key,
)
from sitemapreader.readers.roots import RECORDS

if TYPE_CHECKING:
    from sitemapreader.models import Format

_KNOWN = KNOWN_TAGS | RECORDS


@attrs.frozen
class Name:
    """The name of an element, resolved.

    Attributes:
        uri: its namespace, or "".
        local: its local name, as written.
        key: key of its namespace; the URI of one that we do not know.
        tag: its local name in lower case.
        own: `tag` in the document's own vocabulary, "" in any other.
    """

    uri: str
    local: str
    key: str
    tag: str
    own: str


class Names(dict[Any, Name]):
    """Resolves the names of a document's elements, `{uri}local`, each of them once.

    Args:
        root_uri: the namespace of the root element.
        format_: the format of the document.
        most: how many names a document may have that are in no vocabulary of ours.
    """

    def __init__(self, root_uri: str, format_: Format, most: int) -> None:
        super().__init__()
        self._own_uris = {root_uri, ""}
        self._root_uri = root_uri
        self._format = format_
        self._most = most
        self._unknown = 0

    @property
    def are_too_many(self) -> bool:
        """Whether the document has more names of its own making than it may."""
        return self._unknown > self._most

    @property
    def own_count(self) -> int:
        """How many namespaces are the document's own: it only ever grows."""
        return len(self._own_uris)

    def add_own(self, uri: str) -> None:
        """Take a namespace as the document's own: a nested root's, or that of its records."""
        uri = uri[: MAX_NAMESPACE_CHARS + 1]
        if uri not in self._own_uris and len(self._own_uris) < MAX_NAMESPACES:
            self._own_uris.add(uri)
            self.clear()

    def find_key(self, uri: str) -> str:
        """Return the key of a namespace."""
        if uri in self._own_uris:
            return OWN
        return namespace_key(uri, self._root_uri, self._format)

    def __missing__(self, tag: object) -> Name:
        if not isinstance(tag, str):  # a processing instruction, or a mark of the lenient parser
            return NO_NAME
        uri, _, local = tag.rpartition("}")
        uri = uri[1:]
        key = self.find_key(uri)
        lower = local.lower()
        name = Name(uri, local, key, lower, lower if key == OWN else "")
        if len(self) < 2 * self._most:
            self[tag] = name
        self._unknown += lower not in _KNOWN or (uri != "" and key == uri)
        return name


NO_NAME = Name("", "", "", "", "")
"""What is no element has it."""
