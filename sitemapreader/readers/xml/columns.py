"""The texts of a batch of common records, by columns, and the values that they become."""

from __future__ import annotations

import re
from itertools import chain, compress, islice, repeat
from typing import TYPE_CHECKING, Any

from sitemapreader.dates import parse_column, parse_lastmod
from sitemapreader.readers.xml.characters import decode_many
from sitemapreader.readers.xml.grammar import BORDER
from sitemapreader.urls import PLAIN_URL, are_clean_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    Column: TypeAlias = Sequence[Any]

_BLANKS = re.compile("\r\n|[\t\r\n]")


class Columns:
    """Texts of a batch by columns; `odd` are the places in them of which something must be said."""

    def __init__(self, text: str, size: int) -> None:
        self.odd: set[int] = set()
        self.size = size
        # Whether anything must be decoded; "[" for `<![CDATA[`, as one character is found faster
        self._is_marked = any(mark in text for mark in "&[\r")

    def texts(self, column: Sequence[str]) -> list[str]:
        """Decode texts, and trim them."""
        if not any(column):
            return list(column)
        if self._is_marked:
            column = decode_many(column)
        return list(map(str.strip, column))

    def or_none(self, texts: list[str]) -> Column:
        """Put `None` in place of blank texts."""
        if not any(texts):
            return [None] * len(texts)
        return texts if all(texts) else [text or None for text in texts]

    def check_locs(self, locs: list[str]) -> None:
        """Blame the records whose URLs have anything odd about them."""
        if not are_clean_urls(locs):
            self.blame(not PLAIN_URL.fullmatch(loc) and not are_clean_urls([loc]) for loc in locs)

    def check_runs(self, runs: Sequence[str], are_clean: Callable[[list[str]], bool]) -> None:
        """Blame the records that have a run of elements of which something must be said."""
        filled = list(filter(None, runs))
        if filled and not are_clean(filled):
            self.blame(bool(run) and not are_clean([run]) for run in runs)

    def values(self, texts: list[str], parse: Callable[[str], Any]) -> Column:
        """Parse texts, each different one once; those that cannot be read are to blame."""
        if not any(texts):
            return self.or_none(texts)
        if parse is parse_lastmod:
            values: Column = parse_column(texts)
        else:
            known = {text: parse(text) if text else None for text in set(texts)}
            values = [known[text] for text in texts]
        if values.count(None) > texts.count(""):
            self.blame(
                value is None and bool(text) for value, text in zip(values, texts, strict=True)
            )
        return values

    def blame(self, marks: Iterable[bool]) -> None:
        """Note the places that have a mark."""
        self.odd.update(compress(range(self.size), marks))

    def cut(self, pattern: re.Pattern[str], runs: Sequence[str], start: str) -> Cut:
        """Cut the runs of records into elements; `start` is what each begins with."""
        # Where each element is one tag, counting `<` counts elements, and is fastest
        found = pattern.findall(BORDER.join(filter(None, runs)))
        counts = [run.count("<") for run in runs]
        if sum(counts) != len(found):
            counts = [run.count(start) for run in runs]
        if len(found) != sum(counts) or (found and found[-1][-1]):
            each = [pattern.findall(run) if run else [] for run in runs]
            for place, rows in enumerate(each):
                if rows and rows[-1][-1]:
                    self.odd.add(place)
                    rows.clear()
            counts, found = list(map(len, each)), list(chain.from_iterable(each))
        return Cut(found, counts, pattern.groups)


class Cut:
    """Columns of elements, several of which may be one record's."""

    def __init__(self, found: list[tuple[str, ...]], counts: list[int], groups: int) -> None:
        self.size = len(found)
        self.counts = counts
        columns = zip(*found, strict=True) if found else repeat((), groups)
        self.next: Callable[[], Sequence[str]] = iter(columns).__next__
        """Returns the next column of texts as they are written."""

    def attributes(self, values: Sequence[str]) -> list[str]:
        """Decode values of attributes (XML 1.0, section 3.3.3)."""
        joined = "".join(values)
        if any(mark in joined for mark in "\t\n\r"):
            values = [_BLANKS.sub(" ", value) for value in values]
        if "&" in joined:
            return list(decode_many(values))
        return list(values)

    def deal(self, values: Iterable[Any]) -> list[tuple[Any, ...]]:
        """Give each record its share of the values."""
        rest = iter(values)
        if size := self.counts[0] if len(set(self.counts)) == 1 else 0:
            return list(zip(*repeat(rest, size), strict=True))
        return [tuple(islice(rest, count)) if count else () for count in self.counts]
