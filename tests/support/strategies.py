"""Damaged documents and odd chunkings: seeded mutators, and hypothesis strategies made of them."""

from __future__ import annotations

import codecs
import gzip
import itertools
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tests.support import golden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

MAX_BYTES = 65_536
"""Mutants grow no longer than this: the tests are to be many, not large."""
MAX_SLICE = 200

SNIPPETS = (
    *b"<url> </url> <loc> </loc> <urlset> </urlset> <sitemapindex> <item> <entry> /> =".split(),
    *b"<image:loc>x</image:loc> <!-- --> <![CDATA[ ]]> <?x ?> & &amp; &a; &nbsp; &#0;".split(),
    *b"&#x110000; < > \" ' \x00 \xff \xc3 \xed\xa0\x80 \xe2\x80\xa8 \x1f\x8b\x08 http://".split(
        b" "
    ),
    *(
        codecs.BOM_UTF8,
        codecs.BOM_UTF16_LE,
        b"\x0b",
        b"\r\n",
        b"\n\n",
        b" " * 100,
        b"x" * 3000,
    ),
    *(
        b"{{ x }}",
        b"<link href='/x'/>",
        b"<!DOCTYPE urlset>",
        b"https://www.example.org/x y",
    ),
    b"<!DOCTYPE urlset [<!ENTITY a 'b'>]>",
    b"<url><loc>https://www.example.org/inserted</loc></url>",
)
"""What documents are made of, and what breaks them."""

ENCODINGS = (
    "utf-16",
    "utf-16-be",
    "utf-8-sig",
    "latin-1",
    "windows-1251",
    "gbk",
    "utf-32",
)


def choose_slice(random: Random, data: bytes) -> tuple[int, int]:
    """Choose a place in a document, mostly a short one."""
    start = random.randint(0, len(data))
    return start, min(len(data), start + random.randint(0, MAX_SLICE))


def cut(random: Random, data: bytes) -> bytes:
    """Keep the beginning, or the end."""
    at = random.randint(0, len(data))
    return data[:at] if random.random() < 0.8 else data[at:]


def flip(random: Random, data: bytes) -> bytes:
    """Change up to five bytes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 5)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def insert(random: Random, data: bytes) -> bytes:
    """Put a snippet somewhere, once or often."""
    at = random.randint(0, len(data))
    times = 1 if random.random() < 0.9 else random.randint(2, 50)
    return data[:at] + random.choice(SNIPPETS) * times + data[at:]


def delete(random: Random, data: bytes) -> bytes:
    """Take a slice away."""
    start, end = choose_slice(random, data)
    return data[:start] + data[end:]


def repeat(random: Random, data: bytes) -> bytes:
    """Write a slice twice."""
    start, end = choose_slice(random, data)
    return data[:end] + data[start:]


def swap(random: Random, data: bytes) -> bytes:
    """Let two slices change places."""
    a, b, c, d = sorted(random.randint(0, len(data)) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def splice(random: Random, data: bytes) -> bytes:
    """Put a slice of another document somewhere."""
    start, end = choose_slice(random, other := random.choice(bodies()))
    at = random.randint(0, len(data))
    return data[:at] + other[start:end] + data[at:]


def reencode(random: Random, data: bytes) -> bytes:
    """Write a UTF-8 document in another encoding, whatever its declaration says."""
    return data.decode("utf-8", "replace").encode(random.choice(ENCODINGS), "replace")


def compress(random: Random, data: bytes) -> bytes:
    """Compress with gzip, sometimes in two members."""
    at = random.randint(0, len(data)) if random.random() < 0.3 else len(data)
    members = [data[:at], data[at:]] if at < len(data) else [data]
    return b"".join(gzip.compress(member, 1, mtime=0) for member in members)


MUTATORS: tuple[Callable[[Random, bytes], bytes], ...] = (
    cut,
    flip,
    insert,
    delete,
    repeat,
    swap,
    splice,
    reencode,
    compress,
)


@cache
def bodies() -> tuple[bytes, ...]:
    """Read every golden document."""
    return tuple(document.read_bytes() for document in golden.documents())


def mutate(random: Random, data: bytes, rounds: int = 1) -> bytes:
    """Damage a document in `rounds` ways, one upon the other."""
    for _ in range(rounds):
        data = random.choice(MUTATORS)(random, data)[:MAX_BYTES]
    return data


def damaged(random: Random) -> bytes:
    """Choose a golden document, and damage it in one to four ways."""
    return mutate(random, random.choice(bodies()), random.randint(1, 4))


def pieces_at(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Cut a document at the given places."""
    places = [0, *sorted(cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


# -- the same for hypothesis, which can shrink what it finds

characters = st.characters(exclude_categories=["Cs"])
"""All that can be written as UTF-8; by its default, hypothesis would try each of them, for 1 s."""
documents = st.sampled_from(golden.documents())
damaged_documents = st.randoms(use_true_random=False).map(damaged)


@st.composite
def chunkings(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Cut a document in any way, empty pieces included."""
    return pieces_at(data, draw(st.lists(st.integers(0, len(data)), max_size=20)))
