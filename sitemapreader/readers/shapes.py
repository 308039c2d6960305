"""Batches whose records all have one shape, proved on the bytes alone.

The markup between the texts of the first record is looked for in the whole batch. Where each piece
of it stands once a record, nothing but blanks stands before a start tag, and no element outside of
a record or inside of a field; so end tags and texts are all that has to be known.
"""

from __future__ import annotations

import re

_OPENING = re.compile(rb"\s*+(<([A-Za-z_][\w:.-]*+)>\s*+<[A-Za-z_][\w:.-]*+>)")
"""A record's start tag, its first field's start tag, and nothing but blanks around."""
_TAGS = re.compile(rb"<[A-Za-z_/][^<>\"'=]*+>(?:\s*+<[A-Za-z_/][^<>\"'=]*+>)*+")
"""Tags without attributes that follow each other."""
_GAP = re.compile(rb">\s*+<")
_CDATA = re.compile(rb"<!\[CDATA\[[^<\]]*+\]\]>")
"""A section in which no tag can stand."""


def count_alike(batch: bytes) -> int:
    """Return how many records a well-formed batch holds, if all have the first one's shape; or 0.

    To be sure, the end tags must then be those of the first record, over and over, and no text
    between the tags of a field be empty.
    """
    opening = _OPENING.match(batch)
    if opening is None or _may_hide_tags(batch):
        return 0
    end_tag = b"</" + opening[2] + b">"
    end = batch.find(end_tag) + len(end_tag)
    second = _OPENING.match(batch, end)
    record = batch[opening.start(1) : second.end() if second else end]
    pieces = _TAGS.findall(record)
    if (
        len(pieces) < 2
        or pieces[0] != opening[1]
        or b"<" in _TAGS.sub(b"", _CDATA.sub(b"", record))
    ):
        return 0
    first, *inner, last = pieces
    count = batch.count(last) + 1 if second else 1
    closing = last[: last.find(end_tag) + len(end_tag)]
    if not batch.endswith(closing):
        return 0
    # There is one gap between two fields, and so one chance of each to be what it should be
    for gap in {gap for tags in inner for gap in _GAP.findall(tags)}:
        inside = sum(tags.count(gap) for tags in inner)
        around = first.count(gap) + last.count(gap) * (count - 1) + closing.count(gap)
        sections = batch.count(b"]]" + gap)
        if batch.count(gap) - sections != inside * count + around:
            return 0
    return count


def _may_hide_tags(batch: bytes) -> bool:
    """Tell whether there are comments, or CDATA sections in which tags could stand."""
    return b"<!" in batch and len(_CDATA.findall(batch)) != batch.count(b"<!")
