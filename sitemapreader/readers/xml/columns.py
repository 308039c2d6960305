"""The texts of a batch of common records by columns, and their values."""

from __future__ import annotations

from itertools import compress, count
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.readers.xml.characters import decode_many
from sitemapreader.urls import PLAIN_URL, are_clean_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    Column: TypeAlias = Sequence[Any]


class Columns:
    """The texts of a batch by columns; `odd` are the places that need an Issue."""

    def __init__(self, text: str) -> None:
        self.odd: set[int] = set()
        # Whether anything must be decoded; "[" for `<![CDATA[`, as one character is found faster
        self._is_marked = "&" in text or "[" in text or "\r" in text

    def texts(self, column: Sequence[str]) -> list[str]:
        """Decode texts, and trim them; an empty list if there are none."""
        if not any(column):
            return []
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def or_none(self, texts: list[str]) -> Column | None:
        """Replace blank texts by `None`; the column as well, if there are no others."""
        if not any(texts):
            return None
        return texts if all(texts) else [text or None for text in texts]

    def check_locs(self, locs: Sequence[str]) -> None:
        """Mark the records whose URLs need a closer look as odd."""
        is_whole = all(locs)
        if not is_whole:
            self.blame(not loc for loc in locs)
        if not are_clean_urls(locs if is_whole else list(filter(None, locs))):
            self.blame(not PLAIN_URL.fullmatch(loc) and not are_clean_urls([loc]) for loc in locs)

    def check_runs(self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]) -> None:
        """Mark the records with a run of elements that needs an Issue as odd."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    def values(self, texts: list[str], parse: Callable[[str], Any]) -> Column | None:
        """Parse texts, each different one once; mark unreadable ones as odd."""
        if not any(texts):
            return None
        if parse is parse_lastmod:
            values: Column = parse_column(texts)
            are_read = all(values)
        else:
            known = {text: parse(text) for text in set(texts) if text}
            are_read = None not in known.values()
            values = list(map(known.get, texts))
        if not are_read:
            self.blame(
                value is None and bool(text) for value, text in zip(values, texts, strict=True)
            )
        return values

    def blame(self, marks: Iterable[bool]) -> None:
        """Mark places as odd."""
        self.odd.update(compress(count(), marks))
