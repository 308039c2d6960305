"""A batch as a flat list of tokens, made without running any Python while expat parses.

expat looks names up in a dict, `intern`, and hands over what it finds there: with numbers in it,
its callbacks can be C functions. Text comes as `str`; an end tag as the number, an `End`, that the
lexicon gives its name; a start tag as the `dict` of its attributes: its callback is `list.insert`,
which puts it last because the numbers are larger than the list.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sitemapreader.models import Format, SitemapEntry, UrlEntry
from sitemapreader.readers.exact import UnreadableError, arm_parser, make_start_tag, parse_batch
from sitemapreader.readers.lexicon import LEXICONS, End, other

if TYPE_CHECKING:
    from sitemapreader.options import Limits
    from sitemapreader.readers.xml.prolog import Prolog

T = TypeVar("T")
Attributes = TypeVar("Attributes", dict[str, str], set[str])
Entry: TypeAlias = UrlEntry | SitemapEntry
Token = Any
"""str, End or dict; as a union it would cost a check at every step."""

_MAX_NAME_CHARS = 1_000
"""Of names with their namespace: they are kept as long as the document is read."""


class Doubt(Exception):  # noqa: N818 (no error: it is how a batch that is not plain is handed on)
    """The batch is not plain; the exact reader has to read it."""


def sure(value: T | None) -> T:
    """Return a value that is there; raise Doubt if it is not."""
    if value is None:
        raise Doubt
    return value


class _AttributeName(str):
    """Name of an attribute: the names of elements are numbers, and `intern` is for both."""

    __slots__ = ()


_NAMES_OF_ATTRIBUTES = {
    name: _AttributeName(name)
    for name in ("href", "hreflang", "rel", "type", "media", "title", "length")
}

ATTRIBUTE_NAMES = _NAMES_OF_ATTRIBUTES.keys()
"""Those that come as text; any other is a number, and may be one of them in another case."""


def known_only(attributes: Attributes) -> Attributes:
    """Return attributes, or a set of names; raise Doubt if one may matter, in another case."""
    if not set(attributes) <= ATTRIBUTE_NAMES:
        raise Doubt
    return attributes


class Tokenizer:
    """Makes tokens of the batches of one document."""

    def __init__(self, head: Prolog, limits: Limits) -> None:
        self.lexicon = LEXICONS[head.format]
        self._head = head
        self._limits = limits
        self._known_names: dict[str, Any] = {}
        if head.format is not Format.RSS:  # whose links are texts, and whose elements have titles
            self._known_names.update(_NAMES_OF_ATTRIBUTES)
        self._names = self._known_names.copy()
        self._uri = head.uri
        self._bound = -1
        self._start_tag = b""

    def tokenize(self, batch: bytes) -> list[Token]:
        """Return the tokens of a batch; raise Doubt."""
        while (tokens := self._parse(batch)) is None:  # it ends at the first new name
            self._parse(batch, starts=False)  # learns all of them at once
        del tokens[0]  # the root's
        if len(batch) > self._limits.field_chars:
            self._check_sizes(tokens)
        if len(tokens) > self._limits.record_elements:  # one record may have them all
            raise Doubt
        return tokens

    def _parse(self, batch: bytes, *, starts: bool = True) -> list[Token] | None:
        """Return the tokens of a batch, or `None` if it had names that were no numbers yet."""
        if len(self._head.namespaces) != self._bound:  # which only ever become more
            self._bound = len(self._head.namespaces)
            self._start_tag = make_start_tag(self._head)
            if self._uri != self._head.uri:  # what a name stands for is another
                self._uri = self._head.uri
                self._names = self._known_names.copy()
        tokens: list[Token] = []
        parser: Any = arm_parser()  # whose types know nothing of numbers for names
        parser.intern.update(self._names)
        parser.CharacterDataHandler = tokens.append
        parser.EndElementHandler = tokens.append
        parser.ProcessingInstructionHandler = _doubt
        if starts:
            parser.StartElementHandler = tokens.insert
        try:
            parse_batch(parser, self._start_tag, batch)
        except UnreadableError:
            raise Doubt from None
        except TypeError:  # a name that is no number, which `insert` does not take
            if len(parser.intern) == len(self._names):
                raise Doubt from None
        if len(parser.intern) == len(self._names):
            return tokens
        self._learn(parser.intern)
        return None

    def _learn(self, names: dict[str, Any]) -> None:
        """Number the names that this batch has and no batch before it had."""
        new = names.keys() - self._names.keys()
        if len(names) > self._limits.names or max(map(len, new)) > _MAX_NAME_CHARS:
            raise Doubt
        for name in new:
            token = self.lexicon.find(name, self._head.uri, self._head.format)
            self._names[name] = token or other(len(self._names))

    def _check_sizes(self, tokens: list[Token]) -> None:
        texts = (token for token in tokens if isinstance(token, str))
        values = (v for token in tokens if isinstance(token, dict) for v in token.values())
        if max(map(len, chain(texts, values)), default=0) > self._limits.field_chars:
            raise Doubt


def _doubt(*_: object) -> None:
    raise Doubt


def _can_tokenize() -> bool:
    """Try out what this rests on, and only CPython promises, if anyone."""
    parser: Any = arm_parser()
    tokens: list[Token] = []
    a, b = other(1), other(2)
    parser.intern.update({"a": a, "b": b, "href": _NAMES_OF_ATTRIBUTES["href"]})
    parser.CharacterDataHandler = tokens.append
    parser.EndElementHandler = tokens.append
    parser.StartElementHandler = tokens.insert
    parser.Parse(b"<b>1<a href='2'>3</a>4</b>", True)
    return tokens == [{}, "1", {"href": "2"}, "3", a, "4", b] and type(tokens[4]) is End


CAN_TOKENIZE = _can_tokenize()
"""Whether this interpreter's expat does as is needed here; where it does not, nothing is plain."""
