"""What a site costs in a state of many: nothing of the others, and little if it is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from walking import urlset, walk_all

from sitemapreader.state.database import StateFile
from sitemapreader.state.run import RunOptions, RunOutcome
from sitemapreader.state.store import SiteStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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


async def test_a_walk_costs_no_more_for_the_other_sites_of_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes as many steps for a later walk over a site beside 5 others as beside 50."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    class CountedFile(StateFile):
        """A state file whose steps are counted."""

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.connection.set_progress_handler(count, 1)

    monkeypatch.setattr("sitemapreader.walker.persistence.access.StateFile", CountedFile)
    state, costs = tmp_path / "all.db", []

    async def come(number: int) -> None:
        url = f"https://site-{number}.example/sitemap.xml"
        await walk_all({url: urlset(f"{url}/1")}, None, sitemaps=[url], state=state, changes=True)

    for sites in (range(6), range(6, 51)):
        for number in sites:
            await come(number)
        await come(3)  # what the first walk over it has left to be merged is merged now
        steps = 0
        await come(3)
        costs.append(steps)
    few, many = costs
    assert few > 100
    assert many < 1.1 * few, costs
