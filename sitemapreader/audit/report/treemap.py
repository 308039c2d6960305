"""A treemap: the folders of a site as tiles whose area is their number of URLs."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from sitemapreader.audit.report import show_number, show_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemapreader.audit.models import Facts, SectionCount

COLORS = 10
"""Colours of tiles: the style has a class c0, c1 ... for each."""
_OTHERS = "other folders"
_MAX_FOLDERS = 14
_MAX_SUBFOLDERS = 20
_MIN_DIVIDED_AREA = 18_000
"""Square pixels below which a folder is one tile, because its subfolders would be dots."""
_LETTER_WIDTH = 7.6
_PADDING = 8
_MIN_LABEL_HEIGHT, _MIN_NUMBER_HEIGHT = 22, 42
_MIN_LETTERS = 4


class Area(NamedTuple):
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float


class Tile(NamedTuple):
    """One folder of the treemap: its place in per cent of the whole, and its words."""

    x: float
    y: float
    width: float
    height: float
    color: str
    label: str
    number: str
    title: str


def squarify(sizes: Sequence[float], area: Area) -> list[Area]:
    """Divide an area in proportion to sizes, the largest first, into near squares.

    The algorithm of Bruls, Huizing and van Wijk (2000).
    """
    areas: list[Area] = []
    rest = list(sizes)
    while rest:
        x, y, width, height = area
        scale = width * height / sum(rest)
        short = min(width, height)
        count = _choose_row(rest, scale, short)
        row = rest[:count]
        depth = sum(row) * scale / short if short else 0
        at = 0.0
        for size in row:
            length = short * size / sum(row)
            areas.append(
                Area(x, y + at, depth, length)
                if width >= height
                else Area(x + at, y, length, depth)
            )
            at += length
        if width >= height:
            area = Area(x + depth, y, max(width - depth, 0), height)
        else:
            area = Area(x, y + depth, width, max(height - depth, 0))
        del rest[:count]
    return areas


def _choose_row(sizes: Sequence[float], scale: float, short: float) -> int:
    """Return how many sizes make the next row, so that the worst is square."""
    total = worst = 0.0
    for count, size in enumerate(sizes):
        total += size
        depth = total * scale / short if short else 0
        if not depth:
            return len(sizes)  # nothing of the area is left: rounding
        # the sizes fall, so the worst shape is that of the first or of the last one
        ratios = (_measure_ratio(each * scale / depth, depth) for each in (sizes[0], size))
        ratio = max(ratios)
        if count and ratio > worst:
            return count
        worst = ratio
    return len(sizes)


def _measure_ratio(length: float, depth: float) -> float:
    return max(length / depth, depth / length) if length and depth else float("inf")


def name_section(section: SectionCount, main_host: str) -> str:
    """Return the path of a folder, with its host unless that is the main one."""
    return section.path if section.host == main_host else f"{section.host}{section.path}"


def chart_sections(facts: Facts, width: float, height: float) -> list[Tile]:
    """Lay out the tiles of the folders of a site that has some; sizes are in pixels."""
    whole = Area(0, 0, width, height)
    folders = _group_sections(facts)
    areas = squarify([subfolders.total() for _, subfolders in folders], whole)
    tiles = []
    for number, ((folder, subfolders), area) in enumerate(zip(folders, areas, strict=True)):
        color = "others" if folder == _OTHERS else f"c{number % COLORS}"
        named = _rank_subfolders(folder, subfolders)
        if area.width * area.height < _MIN_DIVIDED_AREA and len(named) > 1:
            named = [(folder, subfolders.total())]
        for (name, urls), part in zip(named, squarify([n for _, n in named], area), strict=True):
            share = show_share(urls, facts.urls)
            tiles.append(
                Tile(
                    x=100 * part.x / width,
                    y=100 * part.y / height,
                    width=100 * part.width / width,
                    height=100 * part.height / height,
                    color=color,
                    label=_fit_label(name, part, is_alone=len(named) == 1),
                    number=show_number(urls) if part.height >= _MIN_NUMBER_HEIGHT else "",
                    title=f"{name}: {show_number(urls)} URLs, {share}",
                )
            )
    return tiles


def _group_sections(facts: Facts) -> list[tuple[str, Counter[str]]]:
    """Return the largest folders with their subfolders, and the others as one."""
    main_host = facts.sections[0].host
    folders: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for section in facts.sections:
        name = name_section(section, main_host)
        folders[_find_top_folder(name)][name] += section.urls
    ranked = sorted(folders.items(), key=lambda item: -item[1].total())
    shown, hidden = ranked[:_MAX_FOLDERS], ranked[_MAX_FOLDERS:]
    rest = facts.sections_others + sum(subfolders.total() for _, subfolders in hidden)
    # last, whatever its size: it must not stand among the named ones
    return [*shown, (_OTHERS, Counter({_OTHERS: rest}))] if rest else shown


def _find_top_folder(name: str) -> str:
    """Return the first folder of "host/folder/subfolder/", with the host."""
    host, slash, path = name.partition("/")
    top, inner_slash, _ = path.partition("/")
    return f"{host}{slash}{top}{inner_slash}"


def _rank_subfolders(folder: str, subfolders: Counter[str]) -> list[tuple[str, int]]:
    """Return the largest subfolders, and the others as one, with their URLs."""
    ranked = subfolders.most_common()
    rest = sum(urls for _, urls in ranked[_MAX_SUBFOLDERS:])
    named = ranked[:_MAX_SUBFOLDERS]
    return [*named, (f"others in {folder}", rest)] if rest else named


def _fit_label(name: str, area: Area, *, is_alone: bool) -> str:
    """Return as much of a name as a tile has room for; "" where that says nothing."""
    letters = int((area.width - 2 * _PADDING) / _LETTER_WIDTH)
    if area.height < _MIN_LABEL_HEIGHT or letters < _MIN_LETTERS:
        return ""
    # beside its like, the last part of a name tells it apart; alone, the first one does
    last = name.rstrip("/").rpartition("/")[2]
    names = (name, _find_top_folder(name)) if is_alone else (name, f"…/{last}/", last)
    return next((each for each in names if len(each) <= letters), f"{names[-1][: letters - 1]}…")
