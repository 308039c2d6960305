"""Repairs in the text of a record, after which the tree can read it.

A bare `&`, an entity of HTML, and a prefix that nothing declares are the commonest faults. A record
with any other one is left to the lenient parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemapreader.issues import IssueCode
from sitemapreader.readers.xml.characters import (
    HIDDEN,
    MAX_UNESCAPED,
    ODD_REFERENCE,
    resolve_reference,
)
from sitemapreader.readers.xml.prolog import declare

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from sitemapreader.models import Event
    from sitemapreader.readers.xml.boundaries import Span
    from sitemapreader.readers.xml.prolog import Prolog

_NO_TEXT = re.compile(f"({HIDDEN})")
_PREFIX = re.compile(r"<([^\W\d][\w.\xb7-]*+):")
_DECLARED = re.compile(r"xmlns:([^\s=]++)")
_RECORD_NAME = re.compile(r"<(?:([^\s<>/:]++):)?[^\s<>/]++")


def repair_batch(
    text: str, spans: Sequence[Span], prolog: Prolog
) -> Generator[list[Event], None, tuple[str, list[set[IssueCode]]]]:
    """Repair the records of a batch; with pauses.

    Returns the text of the batch, and what was repaired in each record.
    """
    repairs: list[set[IssueCode]] = []
    pieces = []
    position, work = spans[0][0], 0
    for start, end in spans:
        record = text[start:end]
        codes: set[IssueCode] = set()
        if len(record) <= MAX_UNESCAPED:
            record = _declare_prefixes(_repair_references(record, codes), codes, prolog)
            work += len(record)
        if work > MAX_UNESCAPED:
            work = 0
            yield []
        pieces += [text[position:start], record]
        repairs.append(codes)
        position = end
    return "".join(pieces), repairs


def _repair_references(record: str, repairs: set[IssueCode]) -> str:
    """Write references of HTML and each bare `&` so that XML knows them."""

    def write(match: re.Match[str]) -> str:
        # One that is removed may join two parts of a tag: the parser has to refuse it
        return "".join(f"&#{ord(one)};" for one in resolve_reference(repairs, match)) or match[0]

    if "&" not in record:
        return record
    pieces = _NO_TEXT.split(record)
    pieces[::2] = (ODD_REFERENCE.sub(write, piece) for piece in pieces[::2])
    return "".join(pieces) if repairs else record


def _declare_prefixes(record: str, repairs: set[IssueCode], prolog: Prolog) -> str:
    """Declare in the start tag of a record the prefixes that nothing declares."""
    markup = "".join(_NO_TEXT.split(record)[::2])
    known = {"xml", *prolog.namespaces, *_DECLARED.findall(markup)}
    unbound = sorted(set(_PREFIX.findall(markup)) - known)
    name = _RECORD_NAME.match(record)
    if not (unbound and name):
        return record
    repairs.add(IssueCode.UNBOUND_PREFIX)
    if name[1] in unbound:
        prolog.own_prefix = name[1]
    declarations = declare({prefix: prolog.guess_uri(prefix) for prefix in unbound})
    return f"{name[0]}{declarations}{record[name.end() :]}"
