"""The limits of a record, which are checked when it is a tree of elements."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ProcessingInstruction

from sitemapreader.issues import IssueCode
from sitemapreader.readers.records.elements import discard_texts, has_name, join_own_texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from sitemapreader.options import Limits


def find_errors(
    record: Element, limits: Limits
) -> tuple[IssueCode | None, dict[Element, IssueCode]]:
    """Return which limits a record breaks, and which of its elements are to blame.

    The first is why it must be dropped, if it must; the others are fields that cannot be read.
    """
    if is_deep(record, limits.record_depth - 1):
        return IssueCode.TOO_DEEP, {}
    for element in record.iter():
        if len(element.attrib) > limits.attributes:
            return IssueCode.TOO_MANY_ATTRIBUTES, {}
        if max(map(len, element.attrib.values()), default=0) > limits.field_chars:
            return IssueCode.FIELD_TOO_LONG, {}
    long = list(_find_long_texts(record, limits.field_chars))
    if record in long:
        return IssueCode.FIELD_TOO_LONG, {}
    for element in long:
        discard_texts(element)
    templates = filter(_hide_instructions, record.iter())
    return None, {
        **dict.fromkeys(long, IssueCode.FIELD_TOO_LONG),
        **dict.fromkeys(templates, IssueCode.TEMPLATE),
    }


def _find_long_texts(record: Element, most: int) -> Iterator[Element]:
    """Yield the elements that have a text of more than `most` characters."""
    if max(map(len, record.itertext()), default=0) <= most:
        return
    for element in record.iter():
        texts = filter(None, (element.text, *(child.tail for child in element)))
        if any(len(text) > most and not text.isspace() for text in texts):
            yield element


def _hide_instructions(element: Element[Any]) -> bool:
    """Remove the texts of processing instructions in an element.

    Returns whether there are any.
    """
    children: list[Element[Any]] = list(element)
    instructions = [child for child in children if child.tag == ProcessingInstruction]
    for instruction in instructions:
        instruction.text = None
    if instructions and len(instructions) == len(children):  # which do not split its text
        text = join_own_texts(element)
        discard_texts(element)
        element.text = text
    return bool(instructions)


def is_deep(root: Element, most: int) -> bool:
    """Return whether an element below the root has more than `most` levels."""
    depth, level = 0, list(root)
    while depth <= most and any(map(has_name, level)):
        depth, level = depth + 1, list(chain.from_iterable(level))
    return depth > most
