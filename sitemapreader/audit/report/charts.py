"""The charts of a report: bars, months of lastmod, languages."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import attrs

from sitemapreader.audit.report import show_number, show_share, show_short_number
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sitemapreader.audit.models import DocumentFact, LanguagePair, MonthCount


MONTHS_BACK = 60
"""Months before this one that have a bar each; older ones share a bar."""
MONTHS_AHEAD = 12
"""Months after this one that have a bar each; later ones share a bar."""
_MONTHS_AT_LEAST = 12
_MAX_TICKS = 4
_BAR_SHARE = 0.82
"""How much of its slot a bar fills."""
_MIN_HEIGHT, _MIN_WIDTH = 1.0, 0.6
"""Per cent: a bar of one URL beside one of a million can still be seen."""
_MONTHS_WITH_QUARTERS = 24
_SHARED_SLOTS = 2
"""Room of a bar for several months: its own, and a gap beside it."""
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


class MonthColumn(NamedTuple):
    """One colour of a vertical bar, in per cent from the upper left corner."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    title: str


class AxisLabel(NamedTuple):
    """A word or number beside an axis, and where."""

    at: float
    text: str
    is_crowded: bool = False


@attrs.frozen
class MonthChart:
    """URLs by month of lastmod."""

    columns: list[MonthColumn]
    ticks: list[AxisLabel]
    """Numbers on the upright axis, with their height from the top."""
    labels: list[AxisLabel]
    """Years, "older" and "later"."""


@attrs.define
class YearRow:
    """URLs of one year, for the table beside the chart."""

    year: int
    urls: int = 0
    alike: int = 0
    future: int = 0


def sum_years(months: Iterable[MonthCount]) -> list[YearRow]:
    """Sum months to years, the newest first."""
    rows: dict[int, YearRow] = {}
    for month in months:
        row = rows.setdefault(month.month.year, YearRow(month.month.year))
        row.urls += month.urls
        row.alike += month.alike
        row.future += month.future
    return sorted(rows.values(), key=lambda row: -row.year)


def chart_months(months: Sequence[MonthCount], today: date) -> MonthChart:
    """Lay out a bar for each month, from at most five years ago to a year ahead."""
    span = _fit_span([_number_month(each.month) for each in months], _number_month(today))
    bars: dict[tuple[int, str], list[MonthCount]] = {}
    for each in months:
        bars.setdefault(span.find_bar(each.month), []).append(each)
    most = max(sum(each.urls for each in counts) for counts in bars.values())
    columns = [
        column
        for (slot, name), counts in bars.items()
        for column in _stack_columns(100 * slot / span.slots, 100 / span.slots, most, name, counts)
    ]
    ticks = [
        AxisLabel(100 - 100 * value / most, show_short_number(value))
        for value in _choose_ticks(most)
    ]
    return MonthChart(columns, ticks, span.make_labels())


def _number_month(day: date) -> int:
    return day.year * 12 + day.month - 1


class _Span(NamedTuple):
    """The months with a bar each, and whether others share one beside them."""

    first: int
    last: int
    has_older: bool
    has_later: bool

    @property
    def slots(self) -> int:
        """How many bars there is room for; a shared one stands apart from the months."""
        return self.last - self.first + 1 + _SHARED_SLOTS * (self.has_older + self.has_later)

    def find_bar(self, month: date) -> tuple[int, str]:
        """Return slot and name of the bar to which a month belongs."""
        number = _number_month(month)
        if number < self.first:
            return 0, "older"
        if number > self.last:
            return self.slots - 1, "later"
        return self._find_slot(number), f"{month:%B %Y}"

    def _find_slot(self, number: int) -> int:
        return number - self.first + _SHARED_SLOTS * self.has_older

    def make_labels(self) -> list[AxisLabel]:
        """Label each January with its year, quarters where there is room, and shared bars."""
        labels = [AxisLabel(0, "older")] if self.has_older else []
        months = range(self.first, self.last + 1)
        for number in months:
            year, month = divmod(number, 12)
            if month == 0 or (month % 3 == 0 and len(months) <= _MONTHS_WITH_QUARTERS):
                at = 100 * self._find_slot(number) / self.slots
                is_crowded = at < _CROWDED * self.has_older
                is_crowded |= at > 100 - _CROWDED * (1 + self.has_later)
                text = f"{date(year, month + 1, 1):%b}" if month else str(year)
                labels.append(AxisLabel(at, text, is_crowded))
        return [*labels, AxisLabel(100, "later")] if self.has_later else labels


def _fit_span(numbers: Sequence[int], now: int) -> _Span:
    """Choose the months that are shown each: as many as have URLs, within the limits."""
    first = min(max(min(numbers), now - MONTHS_BACK), now - _MONTHS_AT_LEAST + 1)
    last = max(min(max(numbers), now + MONTHS_AHEAD), now)
    return _Span(first, last, min(numbers) < first, max(numbers) > last)


def _stack_columns(
    x: float, room: float, most: int, name: str, counts: Sequence[MonthCount]
) -> list[MonthColumn]:
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
    columns = []
    bottom = 100.0
    for kind, count, words in parts:
        if count:
            height = max(100 * count / most, _MIN_HEIGHT)
            bottom = max(bottom - height, 0)
            columns.append(MonthColumn(kind, x, bottom, room * _BAR_SHARE, height, words))
    return columns


def _choose_ticks(most: int) -> list[int]:
    """Return round numbers from 0 up to `most`, five at most."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if most <= _MAX_TICKS * step * factor:
                return list(range(0, most + 1, step * factor))
        step *= 10


# -- languages

MAX_LANGUAGES = 24
"""Rows and columns that are shown, by number of pages."""
_X_DEFAULT = "x-default"


@attrs.frozen
class MatrixCell:
    """The links from one language to another."""

    kind: str
    """Of "own", "none", "all", "most" or "few"."""
    text: str
    """Share of the pages whose link is returned; the number of pages for "own"."""
    title: str


@attrs.frozen
class LanguageMatrix:
    """Languages, and a row of cells for each; `left_out` is how many are not shown."""

    targets: list[str]
    rows: list[tuple[str, list[MatrixCell]]]
    left_out: int


def build_matrix(pairs: Sequence[LanguagePair]) -> LanguageMatrix:
    """Arrange the pairs of languages as a table, the language with most pages first."""
    by_pair = {(pair.page, pair.target): pair for pair in pairs}
    pages = {pair.page: pair.pages for pair in pairs}
    links: dict[str, int] = {}
    for pair in pairs:
        links[pair.target] = links.get(pair.target, 0) + pair.links
    own = sorted(pages, key=lambda name: (-pages[name], name))
    others = sorted(
        links.keys() - pages.keys(), key=lambda name: (name == _X_DEFAULT, -links[name])
    )
    shown = own[:MAX_LANGUAGES]
    targets = shown + others[: max(MAX_LANGUAGES - len(shown), 1)]
    rows = [
        (page, [_make_cell(page, target, pages[page], by_pair) for target in targets])
        for page in shown
    ]
    return LanguageMatrix(targets, rows, len(own) + len(others) - len(targets))


def _make_cell(
    page: str, target: str, pages: int, by_pair: dict[tuple[str, str], LanguagePair]
) -> MatrixCell:
    if page == target:
        return MatrixCell("own", show_number(pages), f"{show_number(pages)} pages in {page}")
    pair = by_pair.get((page, target))
    if pair is None or not pair.links:
        return MatrixCell("none", "\N{EN DASH}", f"no page in {page} links to {target}")
    lost = pair.links - pair.returned
    title = (
        f"{show_number(pair.links)} of {show_number(pages)} pages in {page} link to {target}; "
        f"{show_number(lost)} of these links are not returned"
    )
    kind = "all" if pair.returned == pages else "most" if pair.returned > pages / 2 else "few"
    return MatrixCell(kind, show_share(pair.returned, pages), title)


# -- sitemaps


def is_failed_probe(document: DocumentFact) -> bool:
    """Return whether a well-known path that nobody listed had no sitemap."""
    is_unlisted = document.role == "sitemap" and not document.parent
    return is_unlisted and document.status == "skipped" and not document.format


def find_main_origin(documents: Sequence[DocumentFact]) -> str:
    """Return the origin that most documents share, or "" without one."""
    origins = Counter(filter(None, (origin_of(document.url) for document in documents)))
    return origins.most_common(1)[0][0] if origins else ""


def shorten_url(url: str, origin: str) -> str:
    """Return the path of a URL of the main origin, and any other URL as it is."""
    path = url.removeprefix(origin) if origin else url
    return path if path.startswith("/") else url
