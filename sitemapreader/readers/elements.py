"""One element of a record, and with it a record: a small tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Iterator


@attrs.define
class Element:
    """An element of a record.

    Attributes:
        key: key of its namespace (see `names`), or the URI of one that we do not know.
        tag: local name in lower case; `name` is it as written.
        attributes: by local name in lower case.
        line: line of the document, from 1.
        fault: why it is not to be read: a limit that it broke, or a template in it; its text or,
            for a record, its rest was not kept.
        repairs: what a lenient reader repairs in it (a record) to make it readable.
    """

    uri: str
    key: str
    name: str
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = attrs.field(factory=list)
    fault: IssueCode | None = None
    repairs: set[IssueCode] = attrs.field(factory=set)
    _parts: list[str | Element | None] = attrs.field(factory=list)
    """Text as it came, and elements; `None` where a stray tag stands between two texts."""
    _chars: int = 0
    _is_blank: bool = True
    """Of the text behind the last child: how long it is, and whether it is nothing but blanks."""
    has_text: bool = attrs.field(default=False, init=False)
    """Whether any text of its own but blanks was met."""

    @property
    def text(self) -> str:
        """Its text, trimmed; of several between tags, none: joined they would be no one's value."""
        texts = self.texts()
        return texts[0] if len(texts) == 1 else ""

    @property
    def own_text(self) -> str:
        """What stands in it and in nothing below it, joined and trimmed."""
        return "".join(part for part in self._parts if isinstance(part, str)).strip()

    def all_text(self) -> str:
        """Its text and that of all below it, trimmed."""
        return "".join(part for part in self.pieces() if part).strip()

    def texts(self) -> list[str]:
        """Its texts and those of all below it, trimmed: one for each run between two tags."""
        if not self.children and None not in self._parts:
            return [text] if (text := self.own_text) else []
        runs: list[list[str]] = [[]]
        for part in self.pieces():
            if part is None:
                runs.append([])
            else:
                runs[-1].append(part)
        return [text for run in runs if (text := "".join(run).strip())]

    def add_text(self, text: str, limit: int) -> None:
        """Add a piece of text; once there is too much of it before a tag, none is kept.

        Blanks alone are never too much: so they stand between two fields.
        """
        self._chars += len(text)
        self._is_blank = self._is_blank and text.isspace()
        self.has_text = self.has_text or not self._is_blank
        is_short = self._is_blank or self._chars <= limit
        if is_short and self.fault is not IssueCode.FIELD_TOO_LONG:
            self._parts.append(text)
        elif self.fault is None:
            self.fault = IssueCode.FIELD_TOO_LONG
            self._parts = list(self.children)

    def walk(self) -> Iterator[Element]:
        """Yield every element below it, in document order."""
        rest = [iter(self.children)]
        while rest:
            child = next(rest[-1], None)
            if child is None:
                rest.pop()
            else:
                yield child
                rest.append(iter(child.children))

    def add_child(self, child: Element) -> None:
        """Add an element."""
        self.children.append(child)
        self._parts.append(child)
        self._chars, self._is_blank = 0, True

    def add_break(self) -> None:
        """Note that the text that comes does not go on where the last one ended."""
        self._parts.append(None)

    def pieces(self) -> Iterator[str | None]:
        """Yield its text and that of all below it, in document order, `None` for each tag."""
        rest = [iter(self._parts)]
        while rest:
            for part in rest[-1]:
                if isinstance(part, Element):
                    yield None
                    rest.append(iter(part._parts))  # noqa: SLF001 (of its own class)
                    break
                yield part
            else:
                rest.pop()
                if rest:
                    yield None
