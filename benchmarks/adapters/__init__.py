"""The compared libraries, each behind functions of the same form.

A module here is imported only in the process that measures it, so a peer that is not installed
stops nobody, and none pays for another's imports. The shapes:

- `read(document) -> int | None`: read a document in memory, return how many records it had;
- `walk(url, found) -> None`: fetch a sitemap and all below it, call `found(n)` as URLs come;
- `collect(urls) -> Iterator[Collected]`: fetch sitemaps, one by one, and list what each holds.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

CHUNK_BYTES = 65_536
SECONDS_PER_DOCUMENT = 20
"""How long `collect` waits for one document; all of them are small, and near."""

Found = Callable[[int], None]


class Document(NamedTuple):
    """A document in memory, the same document in a file, and its kind."""

    path: Path
    data: bytes
    kind: str


class Collected(NamedTuple):
    """The result for one URL: the URLs that it lists, and the exception, if any."""

    sitemap: str
    urls: list[str]
    error: str = ""


class GaveUpError(Exception):
    """A document that took too long."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise GaveUpError in the main thread after some seconds."""

    def give_up(_: int, __: FrameType | None) -> None:
        raise GaveUpError(f"gave up after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def collect_each(
    urls: Sequence[str], collect: Callable[[str, list[str]], None]
) -> Iterator[Collected]:
    """Call a function that appends its results; those before a failure count."""
    for url in urls:
        found: list[str] = []
        error = ""
        try:
            with limited(SECONDS_PER_DOCUMENT):
                collect(url, found)
        except Exception as problem:  # a result: other tools raise anything
            error = f"{type(problem).__name__}: {problem}"
        yield Collected(url, found, error)
