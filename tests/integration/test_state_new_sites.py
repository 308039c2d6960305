"""What a site that is new to a state costs: nothing of it has to be looked for or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.state.database import StateFile
from sitemapreader.state.run import RunOptions, RunOutcome
from sitemapreader.state.store import SiteStore

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = RunOptions(b"options", "", lambda _: True)
SITE = "https://site.example/"


def trace_walk(file: StateFile, site: str) -> list[str]:
    """Begin and finish a walk that finds nothing; return the statements."""
    statements: list[str] = []
    file.connection.set_trace_callback(statements.append)
    store = SiteStore(file, site, saves_urls=True)
    store.begin(OPTIONS)
    store.finish(RunOutcome(complete=True, listed=(), knows_all=True))
    file.connection.set_trace_callback(None)
    return statements


def test_a_new_site_has_no_older_walk_to_look_for(tmp_path: Path) -> None:
    """No statement goes through the walks of other sites, nor merges; a second walk does both."""
    file = StateFile(tmp_path / "all.db")
    try:
        for number in range(3):
            first = trace_walk(file, f"https://other-{number}.example/")
        second = trace_walk(file, "https://other-0.example/")
    finally:
        file.close()
    assert not [each for each in first if each.startswith("DELETE FROM run")]
    assert not [each for each in first if "merge_batch" in each]
    assert [each for each in second if each.startswith("DELETE FROM run")]
    assert [each for each in second if "merge_batch" in each]


def test_a_walk_of_a_new_site_that_was_stopped_is_resumed(tmp_path: Path) -> None:
    """Only the first walk is spared the search: the next one finds what it has left."""
    file = StateFile(tmp_path / "all.db")
    try:
        stopped = SiteStore(file, SITE, saves_urls=True)
        stopped.begin(OPTIONS)
        store = SiteStore(file, SITE, saves_urls=True)
        store.begin(OPTIONS)
        assert stopped.run.is_first
        assert not stopped.run.is_resumed
        assert not store.run.is_first
        assert store.run.is_resumed
        assert store.run.id == stopped.run.id
    finally:
        file.close()
