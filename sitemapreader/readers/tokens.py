"""A batch as a flat list of tokens, or the word that it is not plain enough for that.

Text is `str`; an end tag is the `int` that the lexicon gives its name; the attributes of a link are
a `dict`. expat looks names up in a dict, `intern`, and hands over what it finds there: with numbers
in it, its callbacks can be the C function `list.append`, and no Python runs while it parses.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any

from sitemapreader.models import Format
from sitemapreader.readers.exact import UnreadableError, arm_parser, parse_batch, prolog
from sitemapreader.readers.lexicon import LEXICONS, LINK, RECORD
from sitemapreader.readers.names import VIDEO, XHTML, namespace_key

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.head import Head

Token = Any
"""str, int or dict; as a union it would cost a check at every step."""

_MAX_NAME_CHARS = 1_000
"""Of names with their namespace: they are kept as long as the document is read."""
_ATTRIBUTE = re.compile(rb"=\s*[\"']")
_OPENING = re.compile(rb"\s*(<[A-Za-z_][\w:.-]*>\s*<([A-Za-z_][\w:.-]*)>)")
"""A record's start tag, its first field's start tag, and nothing but blanks around."""


class _AttributeName(str):
    """Name of an attribute: the names of elements are numbers, and `intern` is for both."""

    __slots__ = ()


_ATTRIBUTE_NAMES = {
    name: _AttributeName(name) for name in ("href", "hreflang", "rel", "type", "media")
}


class Doubt(Exception):  # noqa: N818 (no error: it is how a batch that is not plain is handed on)
    """The batch is not plain; the exact reader has to read it."""


class Tokenizer:
    """Makes tokens of the batches of one document."""

    def __init__(self, head: Head, limits: Limits) -> None:
        self.lexicon = LEXICONS[head.format]
        self._head = head
        self._limits = limits
        self._names: dict[str, Any] = dict(_ATTRIBUTE_NAMES)

    def tokenize(self, batch: bytes) -> tuple[list[Token], int, bool]:
        """Return tokens, how many records they are, and whether nothing can stand before a loc.

        Raises Doubt.
        """
        keys = {
            namespace_key(uri, self._head.uri, self._head.format)
            for uri in self._head.namespaces.values()
        }
        if VIDEO in keys and _ATTRIBUTE.search(batch):  # whose attributes are values
            raise Doubt
        has_links = XHTML in keys or self._head.format is Format.ATOM
        tokens = self._parse(batch, has_links=has_links)
        if len(batch) > self._limits.field_chars:
            self._check_sizes(tokens)
        if len(tokens) > self._limits.record_elements:  # one record may have them all
            raise Doubt
        count = tokens.count(RECORD)
        if tokens[-1] != RECORD:
            raise Doubt
        return tokens, count, self._check_frame(batch, count)

    def _parse(self, batch: bytes, *, has_links: bool) -> list[Token]:
        tokens: list[Token] = []
        parser = arm_parser()
        parser.intern.update(self._names)
        parser.CharacterDataHandler = tokens.append
        parser.EndElementHandler = tokens.append
        parser.ProcessingInstructionHandler = _doubt
        if has_links:
            append = tokens.append

            def start(name: Any, attributes: dict[str, str]) -> None:
                if name == LINK:
                    append(attributes)

            parser.StartElementHandler = start
        try:
            parse_batch(parser, prolog(self._head), batch)
        except UnreadableError:
            raise Doubt from None
        if len(parser.intern) > len(self._names):
            self._learn(parser.intern)
            return self._parse(batch, has_links=has_links)
        return tokens

    def _learn(self, names: dict[str, Any]) -> None:
        """Number the names that this batch has and no batch before it had."""
        new = names.keys() - self._names.keys()
        if len(names) > self._limits.names or max(map(len, new)) > _MAX_NAME_CHARS:
            raise Doubt
        for name in new:
            self._names[name] = self.lexicon.number(name, self._head.uri, self._head.format)

    def _check_sizes(self, tokens: list[Token]) -> None:
        texts = (token for token in tokens if isinstance(token, str))
        values = (v for token in tokens if isinstance(token, dict) for v in token.values())
        if max(map(len, chain(texts, values)), default=0) > self._limits.field_chars:
            raise Doubt

    def _check_frame(self, batch: bytes, count: int) -> bool:
        """Check that records follow each other with nothing but the same blanks between them.

        Text or fields that stand outside of the records would otherwise run into the next one.
        Returns whether each record begins with its loc, so that nothing can have run into that.
        """
        opening = _OPENING.match(batch)
        if opening is None:
            raise Doubt
        name = opening[1][1:].partition(b">")[0]
        end_tag = b"</" + name + b">"
        end = batch.find(end_tag) + len(end_tag)
        blanks = len(batch) - end - len(batch[end:].lstrip()) if count > 1 else 0
        frame = end_tag + batch[end : end + blanks] + opening[1]
        if batch.count(frame) != count - 1 or batch.count(end_tag) != count:
            raise Doubt
        if batch.count(b"<" + name) != count:  # one more begins than ends
            raise Doubt
        return opening[2].rpartition(b":")[2].lower() == b"loc"


def _doubt(*_: object) -> None:
    raise Doubt
