"""Values of a state: which errors mean damage, what a row may have, and how URLs are kept."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import zlib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

import attrs
import pytest

from sitemapreader._types.errors import StateError
from sitemapreader._types.models import Extra, Format, Image, SitemapEntry, UrlEntry
from sitemapreader._types.rows import EntryColumns
from sitemapreader.changes.database import DamageError, Guard, is_damage
from sitemapreader.changes.rows import (
    DocumentRow,
    begins_stretch,
    has_record,
    hash_record,
    hash_records,
    hash_url,
    pack,
    split_keys,
    strip_origin,
    write_lastmod,
)

pytestmark = pytest.mark.cases(50)  # nothing is walked
FILE = Path("site.db")


def fail(code: int, kind: type[sqlite3.Error] = sqlite3.DatabaseError) -> sqlite3.Error:
    error = kind("it failed")
    error.sqlite_errorcode = code
    return error


LOCKED = "it failed: another program is writing it: wait until it ends, then walk again"
REPLACED = "it failed: the next walk replaces it"
CAUSE = "it failed: remove the cause, and walk again"


@pytest.mark.parametrize(
    ("error", "said", "has_damage", "is_locked"),
    [
        (fail(sqlite3.SQLITE_BUSY), LOCKED, False, True),
        (fail(sqlite3.SQLITE_LOCKED), LOCKED, False, True),
        (fail(sqlite3.SQLITE_BUSY_SNAPSHOT), LOCKED, False, True),
        (fail(sqlite3.SQLITE_CORRUPT), REPLACED, True, False),
        (fail(sqlite3.SQLITE_CORRUPT_VTAB), REPLACED, True, False),
        (fail(sqlite3.SQLITE_NOTADB), REPLACED, True, False),
        (fail(sqlite3.SQLITE_ERROR, sqlite3.OperationalError), REPLACED, True, False),
        (fail(sqlite3.SQLITE_CONSTRAINT), REPLACED, True, False),
        (fail(sqlite3.SQLITE_MISMATCH), REPLACED, True, False),
        (fail(sqlite3.SQLITE_TOOBIG), REPLACED, True, False),
        (fail(sqlite3.SQLITE_FULL), CAUSE, False, False),
        (fail(sqlite3.SQLITE_IOERR_READ), CAUSE, False, False),
        (fail(sqlite3.SQLITE_READONLY), CAUSE, False, False),
        (DamageError("it failed"), REPLACED, True, False),
        (
            sqlite3.OperationalError("Could not decode to UTF-8"),
            "Could not decode to UTF-8: the next walk replaces it",
            True,
            False,
        ),
        (sqlite3.OperationalError("it failed"), CAUSE, False, False),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            os.strerror(errno.ENOSPC),
            False,
            False,
        ),
        (OSError("it failed"), "it failed", False, False),
    ],
)
def test_errors_of_a_state_file(
    error: Exception, said: str, has_damage: bool, is_locked: bool
) -> None:
    """Each has its remedy; what means damage has the file replaced."""
    guard = Guard(FILE)
    with pytest.raises(StateError) as raised, guard:
        raise error
    assert raised.value.detail == said
    assert str(raised.value) == f"state file site.db: {said}"
    assert raised.value.is_locked is is_locked
    assert (guard.is_damaged, is_damage(error), is_damage(raised.value)) == (
        has_damage,
        has_damage,
        has_damage,
    )
    with guard:  # it is free again
        pass
    assert guard.is_damaged is has_damage


def test_other_errors_pass_as_they_are() -> None:
    """One of the caller's is none of the file, and one with a remedy keeps it."""
    guard = Guard(FILE)
    own = StateError(FILE, "x")
    for error in (ValueError("x"), own, KeyboardInterrupt()):
        with pytest.raises(type(error)) as raised, guard:
            raise error
        assert raised.value is error
    assert not guard.is_damaged
    assert not is_damage(None)
    assert not is_damage(ValueError("decode"))


ROW = (1, 2, "https://a.example/s.xml", 3)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"format": "rss"}, {"format": Format.RSS}),
        ({"format": None}, {"format": None}),
        ({"filters": "a b"}, {"filters": "a b"}),
        ({"filters": " "}, {"filters": " "}),
        ({"child_list": None}, {"child_list": []}),
        ({"child_list": ""}, {"child_list": []}),
        ({"child_list": '[["a", null]]'}, {"child_list": [("a", None)]}),
        ({"child_list": '[["b", "2026"]]'}, {"child_list": [("b", "2026")]}),
    ],
)  # fmt: skip
def test_values_of_a_row(values: dict[str, Any], found: dict[str, Any]) -> None:
    """They are read as a walk writes them."""
    row = DocumentRow(*ROW, **values)
    assert {name: getattr(row, name) for name in found} == found


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"format": "docx"}, "docx is not a format"),
        ({"filters": "a"}, "'a' is not a list of filters"),
        ({"filters": "a b c"}, "'a b c' is not a list of filters"),
        ({"filters": 3}, "3 is not a list of filters"),
        ({"child_list": "x"}, "x is not a list of children"),
        ({"child_list": "[1]"}, r"[1] is not a list of children"),
        ({"child_list": '[["a"]]'}, '[["a"]] is not a list of children'),
        ({"child_list": '[["a", 1]]'}, '[["a", 1]] is not a list of children'),
        ({"child_list": "[[null, null]]"}, "[[null, null]] is not a list of children"),
    ],
)
def test_a_row_that_no_walk_has_written(values: dict[str, Any], said: str) -> None:
    """It is damage, and says what is wrong."""
    with pytest.raises(DamageError) as raised:
        DocumentRow(*ROW, **values)
    assert str(raised.value) == said


# -- URLs and records


def test_urls_begin_at_their_path_where_most_do() -> None:
    """The first one says which origin that is; others stay whole."""
    row = DocumentRow(*ROW)
    urls = [
        "https://a.b/",
        "https://a.b/x",
        "https://a.b",
        "https://a.bc/",
        "http://a.b/",
    ]
    assert strip_origin(urls, row) == ["/", "/x", *urls[2:]]
    assert row.origin == "https://a.b"
    assert strip_origin(["http://a.b/y"], row) == ["http://a.b/y"]
    assert strip_origin(["https://a.b/y"], row) == ["/y"]


def test_keys_of_urls() -> None:
    """They have ten bytes, follow one another, and one of 32 begins a stretch."""
    urls = [f"https://a.b/{number}" for number in range(3_200)]
    keys = [*map(hash_url, urls)]
    assert {len(key) for key in keys} == {10}
    assert len({*keys}) == len(urls)
    assert list(split_keys(b"".join(keys))) == keys
    assert 70 < sum(map(begins_stretch, keys)) < 130
    assert [begins_stretch(bytes([n])) for n in (0, 7, 8, 255)] == [
        True,
        True,
        False,
        False,
    ]
    assert hash_url("https://a.b/\ud800") != hash_url("https://a.b/")
    packed = pack(["/é", "/b"])
    assert json.loads(zlib.decompress(packed)) == ["/é", "/b"]
    assert zlib.decompress(packed).isascii()


ONE, TWO = Image("https://a.b/1.png"), Image("https://a.b/2.png", "t")
EXTRA = Extra("urn:x", "e", "x", {"a": "1", "b": "2"}, (Extra("urn:x", "c"),))
MIXED = attrs.evolve(EXTRA, attributes={"b": "2", "a": "1"})


def entry(**values: Any) -> UrlEntry:
    return UrlEntry("https://a.b/", **values)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (
            {"lastmod_text": "2026-01-01"},
            {"lastmod_text": "2026-01-01T00:00:00Z"},
            True,
        ),
        ({"lastmod_text": "2026-01-01"}, {"lastmod_text": "2026-01-02"}, False),
        ({"lastmod_text": "soon"}, {"lastmod_text": "later"}, False),
        ({}, {"lastmod_text": "2026-01-01"}, False),
        ({"priority": 0.5}, {"priority": 0.5}, True),
        ({"priority": 0.5}, {}, False),
        ({"changefreq": "daily"}, {"changefreq": "weekly"}, False),
        ({"title": "a"}, {"title": "b"}, False),
        ({"title": "a"}, {}, False),
        ({"images": (ONE, TWO)}, {"images": (TWO, ONE)}, True),
        ({"images": (ONE, TWO)}, {"images": (ONE,)}, False),
        ({"images": (ONE,)}, {"images": (TWO,)}, False),
        ({"images": (ONE,)}, {}, False),
        ({"extras": (EXTRA,)}, {"extras": (MIXED,)}, True),
        ({"extras": (EXTRA,)}, {"extras": (attrs.evolve(EXTRA, text="y"),)}, False),
        ({"extras": (EXTRA,)}, {"extras": (attrs.evolve(EXTRA, children=()),)}, False),
        (
            {"lastmod_text": f"2026-01-01{' ' * 99}"},
            {"lastmod_text": f"2026-01-01{' ' * 98}"},
            True,
        ),
    ],
)
def test_records_that_are_the_same(
    one: dict[str, Any], other: dict[str, Any], is_same: bool
) -> None:
    """Another notation of a date is no change, and each field is one."""
    first, second = hash_record(entry(**one)), hash_record(entry(**other))
    assert len(first) == len(second) == 6
    assert (first == second) is is_same
    assert hash_records([entry(**one), entry(**other)]) == [first, second]
    assert has_record(first + second, second)
    assert has_record(first, first)
    assert has_record(first, second) is is_same
    assert not has_record(b"", first)
    assert not has_record(b"x" + first, first)


@pytest.mark.parametrize("chars", [10, 64, 65, 99])
def test_records_by_columns_have_the_same_hashes(chars: int) -> None:
    """Short dates and long ones, with a title and without."""
    texts = ["2026-01-01".ljust(chars), None, "2026-01-02"]
    urls = ["https://a.b/"] * 3
    columns = EntryColumns(urls, urls, lastmod_text=texts, priority=[0.5, None, 1.0])
    hashes = hash_records(columns)
    assert hashes == [
        hash_record(entry(lastmod_text=text, priority=priority))
        for text, priority in zip(texts, [0.5, None, 1.0], strict=True)
    ]
    titled = EntryColumns(urls, urls, lastmod_text=texts, title=["a", None, "b"])
    assert len({*hashes, *hash_records(titled)}) == 5  # one has nothing at all


def test_one_thread_at_a_time_has_a_file() -> None:
    """Another one enters when the first has left, also after an error."""
    guard = Guard(FILE)
    entered = []

    def enter() -> None:
        with guard:
            entered.append(True)

    with suppress(StateError), guard, guard:
        raise fail(sqlite3.SQLITE_FULL)
    thread = Thread(target=enter, daemon=True)
    thread.start()
    thread.join(10)
    assert entered == [True]


@pytest.mark.parametrize(
    ("day", "text", "written"),
    [
        (None, None, None),
        (None, "soon", None),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026", "2026"),
        (datetime(2026, 1, 1, tzinfo=UTC), None, "2026-01-01T00:00:00+00:00"),
    ],
)
def test_the_date_of_a_document_in_its_index(
    day: datetime | None, text: str | None, written: str | None
) -> None:
    """It is kept as it is written; one that cannot be read is none."""
    child = SitemapEntry("https://a.b/s.xml", day, lastmod_text=text)
    assert write_lastmod(child) == written
