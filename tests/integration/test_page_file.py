"""The memory of an index: records of pages, by site, that a kill or damage does not mix up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import StateError
from sitemapreader.state import PageFile, PageRecord
from sitemapreader.state.database import StateFile

if TYPE_CHECKING:
    from pathlib import Path

FULL = PageRecord(
    *(
        "https://a.example/",
        "2026-05-01",
        False,
        "hash",
        "https://b.example/",
        '"tag"',
        "yesterday",
        "",
        3,
    ),
    *(10.5, 9.0, 11.0, 12.0, "https://c.example/", 13.0),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "site.db.pages"


def save(pages: PageFile, *records: PageRecord) -> None:
    pages.save({record.url: record for record in records})


def test_records_come_back(path: Path) -> None:
    """Each field is what it was, in another run too; what was not saved is not there."""
    assert all(value is not None for value in attrs.astuple(FULL))
    bare = PageRecord("https://a.example/é?ü")
    with PageFile(path, "a") as pages:
        assert not pages.is_filled
        pages.is_filled = True
        save(pages, FULL, bare)
    with PageFile(path, "a") as pages:
        assert pages.find([FULL.url, "x", bare.url]) == {FULL.url: FULL, bare.url: bare}
        assert pages.is_filled
        pages.save({FULL.url: None})
        assert pages.find([FULL.url, bare.url]) == {bare.url: bare}
        many = [PageRecord(f"https://a.example/{number}") for number in range(1_200)]
        save(pages, *many)
        assert len(pages.find(each.url for each in many)) == 1_200


def test_sites_are_kept_apart(path: Path) -> None:
    """What one site knows, another one of the same file does not."""
    with PageFile(path, "a") as pages:
        save(pages, FULL)
        pages.note_validators(are_true=True)
        pages.save({})
    with PageFile(path, "b") as pages:
        assert pages.find([FULL.url]) == {}
        assert not pages.trusts_validators
        pages.unlist([FULL.url])
        assert pages.list_doubted(99, 99, 9) == []
    with PageFile(path, "a") as pages:
        assert pages.trusts_validators


def test_all_of_a_batch_is_saved_or_nothing(path: Path) -> None:
    """A record that cannot be written takes back those before it."""
    no_moment: Any = "yesterday"
    wrong = attrs.evolve(FULL, url="https://a.example/2", checked_at=no_moment)
    with PageFile(path, "a") as pages:
        with pytest.raises(StateError):
            save(pages, FULL, wrong)
        assert pages.find([FULL.url]) == {}


def test_validators_that_hid_a_change_are_never_believed(path: Path) -> None:
    """One text that changed behind its ETag counts for good; a change that was told, before it."""
    with PageFile(path, "a") as pages:
        told = []
        for are_true in (True, False, True):
            pages.note_validators(are_true=are_true)
            pages.save({})
            told.append(pages.trusts_validators)
    assert told == [True, False, False]


def test_what_is_asked_next(path: Path) -> None:
    """Failed pages come by URL, in parts; doubted ones by how little is known of them."""
    well = PageRecord("w", lastmod="x", text_hash="h", checked_at=5.0)
    failed = [PageRecord(f"f{n}", failed_at=1.0, next_try=float(n)) for n in range(4)]
    doubted = [
        PageRecord("u1", is_listed=False, next_try=3.0, checked_at=9.0, gone_at=1.0),
        PageRecord("u2", is_listed=False, next_try=3.0, checked_at=1.0),
        PageRecord("d1", checked_at=2.0),
        attrs.evolve(well, url="d2", same_text=2),
        attrs.evolve(well, url="d3", checked_at=4.0),
        well,
    ]
    late = PageRecord("u3", is_listed=False, next_try=4.0)
    recent = PageRecord("d4", checked_at=6.0)
    with PageFile(path, "a") as pages:
        save(pages, late, recent, *failed, *reversed(doubted))
        first = pages.list_failed(2.0, "", 2)
        assert first == failed[:2]
        assert pages.list_failed(2.0, first[-1].url, 2) == failed[2:3]
        assert pages.list_doubted(3.0, 5.0, 99) == doubted
        assert pages.list_doubted(3.0, 5.0, 3) == doubted[:3]
        pages.unlist(["w"])
        assert pages.list_doubted(3.0, 0.0, 99)[-1] == attrs.evolve(
            well, is_listed=False, next_try=0.0
        )


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + bytes(900)])
def test_a_damaged_file_is_renamed(path: Path, content: bytes) -> None:
    """A new one is begun, which has not met the pages of its site; a state's file is foreign."""
    path.write_bytes(content)
    with PageFile(path, "a") as pages:
        assert not pages.is_filled
        save(pages, FULL)
    assert path.with_name(f"{path.name}.corrupt-1").read_bytes() == content
    StateFile(path.with_name("site.db")).close()
    with PageFile(path.with_name("site.db"), "a") as pages:
        assert pages.find([FULL.url]) == {}
    assert path.with_name("site.db.corrupt-1").exists()


def test_sites_write_it_in_turn(path: Path) -> None:
    """Runs over several sites share a file, and each has all that it wrote."""
    with PageFile(path, "a") as first, PageFile(path, "b") as second:
        for number in range(5):
            for pages in (first, second):
                save(pages, attrs.evolve(FULL, url=f"https://a.example/{number}"))
    for name in ("a", "b"):
        with PageFile(path, name) as pages:
            assert len(pages.list_doubted(99, 99, 99)) == 5
