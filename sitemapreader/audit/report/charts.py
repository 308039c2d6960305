"""The charts of a report: bars, months of lastmod, languages."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader.audit.models import Row
from sitemapreader.audit.report import show_number, show_share, show_short_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


MONTHS_BACK = 60
"""Months before this one that have a bar each; older ones share a bar."""
MONTHS_AHEAD = 12
"""Months after this one that have a bar each; later ones share a bar."""
_MONTHS_AT_LEAST = 12
_BAR_SHARE = 0.82
"""How much of its slot a bar fills."""
_MIN_HEIGHT, _MIN_WIDTH = 1.0, 0.6
"""Per cent: a bar of one URL beside one of a million can still be seen."""
_CROWDED = 13
"""Per cent of the axis beside another label or the edge, where a phone has no room for one."""


class BarPart(NamedTuple):
    """One colour of a horizontal bar."""

    kind: str
    start: float
    width: float


def stack_parts(counts: Iterable[tuple[str, int]], most: int) -> list[BarPart]:
    """Lay kinds out beside each other in a bar, of which `most` fills the whole width."""
    parts = []
    start = 0.0
    for kind, count in counts:
        if count:
            width = max(100 * count / max(most, 1), _MIN_WIDTH)
            parts.append(BarPart(kind, start, width))
            start += width
    return parts


# -- months

_COUNTS = ("urls", "alike", "future")


def sum_years(months: Iterable[Row]) -> list[Row]:
    """Sum months to years, the newest first, for the table beside the chart."""
    rows: dict[str, Row] = {}
    for month in months:
        year = month.month[:4]
        row = rows.setdefault(year, Row(dict.fromkeys(_COUNTS, 0), year=year))
        row.update((name, row[name] + month[name]) for name in _COUNTS)
    return sorted(rows.values(), key=lambda row: row.year, reverse=True)


def chart_months(months: Sequence[Row], today: str) -> Row:
    """Lay out a bar for each month, from at most five years ago to a year ahead.

    Its `columns` are in per cent from the upper left corner; so are `ticks` on the upright axis,
    and `labels` below the other one. Months before and after share a bar at the edge.
    """
    numbers, now = [_number_month(each.month) for each in months], _number_month(today)
    first = min(max(min(numbers), now - MONTHS_BACK), now - _MONTHS_AT_LEAST + 1)
    last = max(min(max(numbers), now + MONTHS_AHEAD), now)
    has_older, has_later = min(numbers) < first, max(numbers) > last
    begin = 2 * has_older - first
    """From the number of a month to its slot: a shared bar stands apart from the months."""
    slots = begin + last + 1 + 2 * has_later
    bars: defaultdict[tuple[int, str], list[Row]] = defaultdict(list)
    for number, each in zip(numbers, months, strict=True):
        name = f"{date.fromisoformat(each.month):%B %Y}"
        bar = (0, "older") if number < first else (begin + number, name)
        bars[(slots - 1, "later") if number > last else bar].append(each)
    most = max(sum(each.urls for each in counts) for counts in bars.values())
    januaries = range(first + -first % 12, last + 1, 12)
    labels = [(100 * (begin + each) / slots, str(each // 12)) for each in januaries]
    return Row(
        columns=[
            Row(column, x=100 * slot / slots, width=100 * _BAR_SHARE / slots)
            for (slot, name), counts in bars.items()
            for column in _stack_columns(most, name, counts)
        ],
        ticks=[(100 - 25 * part, show_short_number(most * part / 4)) for part in (0, 2, 4)],
        labels=[
            *[(0, "older", False)] * has_older,
            *(
                (at, text, at > 100 - _CROWDED * (1 + has_later) or at < _CROWDED * has_older)
                for at, text in labels
            ),
            *[(100, "later", False)] * has_later,
        ],
    )


def _number_month(day: str) -> int:
    return int(day[:4]) * 12 + int(day[5:7]) - 1


def _stack_columns(most: int, name: str, counts: Sequence[Row]) -> Iterator[Row]:
    """Lay out the parts of one bar above each other."""
    urls = sum(each.urls for each in counts)
    future = min(sum(each.future for each in counts), urls)
    # a URL can be stamped alike and lie in the future: that is the graver of both
    alike = min(sum(each.alike for each in counts), urls - future)
    title = f"{name}: {show_number(urls)} URLs"
    parts = (
        ("alike", alike, f"{title}, of these {show_number(alike)} in sitemaps stamped alike"),
        ("plain", urls - alike - future, title),
        ("future", future, f"{title}, of these {show_number(future)} in the future"),
    )
    bottom = 100.0
    for kind, count, words in parts:
        if count:
            height = max(100 * count / most, _MIN_HEIGHT)
            bottom = max(bottom - height, 0)
            yield Row(kind=kind, y=bottom, height=height, title=words)


# -- languages

MAX_LANGUAGES = 24
"""Columns that are shown, by number of pages."""
_X_DEFAULT = "x-default"


def build_matrix(pairs: Sequence[Row]) -> Row:
    """Arrange pairs of languages as a table, the language with most pages first.

    Its `rows` have a cell for each of `targets`: kind, text and title; `left_out` are the others.
    """
    by_pair = {(pair.page, pair.target): pair for pair in pairs}
    pages = {pair.page: pair.pages for pair in pairs}
    own = sorted(pages, key=lambda name: (-pages[name], name))
    others = sorted(
        {pair.target for pair in pairs} - pages.keys(), key=lambda name: (name == _X_DEFAULT, name)
    )
    targets = own + others[: max(MAX_LANGUAGES - len(own), 1)]
    rows = [
        (page, [_make_cell(page, target, pages[page], by_pair) for target in targets])
        for page in own
    ]
    return Row(targets=targets, rows=rows, left_out=len(own) + len(others) - len(targets))


def _make_cell(
    page: str, target: str, pages: int, by_pair: dict[tuple[str, str], Row]
) -> tuple[str, str, str]:
    if page == target:
        return "own", show_number(pages), f"{show_number(pages)} pages in {page}"
    pair = by_pair.get((page, target))
    if pair is None or not pair.links:
        return "none", "\N{EN DASH}", f"no page in {page} links to {target}"
    title = (
        f"{show_number(pair.links)} of {show_number(pages)} pages in {page} link to {target}; "
        f"{show_number(pair.links - pair.returned)} of these links are not returned"
    )
    kind = "all" if pair.returned == pages else "most" if pair.returned > pages / 2 else "few"
    return kind, show_share(pair.returned, pages), title
