"""What a site costs in a state of many: nothing of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from walking import urlset, walk_all

from sitemapreader.state.database import StateFile
from sitemapreader.state.rows import RemovalRules
from sitemapreader.state.runs import RunOptions, SiteStore

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

OPTIONS = RunOptions(b"options", "", lambda _: True)
SITE = "https://site.example/"


def test_a_walk_of_a_new_site_that_was_stopped_is_resumed(tmp_path: Path) -> None:
    """The next walk finds what the first one has left."""
    file = StateFile(tmp_path / "all.db")
    try:
        stopped = SiteStore(file, SITE, saves_urls=True, rules=RemovalRules())
        stopped.begin(OPTIONS)
        store = SiteStore(file, SITE, saves_urls=True, rules=RemovalRules())
        store.begin(OPTIONS)
        assert not stopped.run.is_resumed
        assert store.run.is_resumed
        assert store.run.id == stopped.run.id
    finally:
        file.close()


async def test_a_walk_costs_no_more_for_the_other_sites_of_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite takes as many steps for later walks over a site beside 5 others as beside 50."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    class CountedFile(StateFile):
        """A state file whose steps are counted."""

        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self.connection.set_progress_handler(count, 1)

    monkeypatch.setattr("sitemapreader.walker.state_writer.StateFile", CountedFile)
    state, costs = tmp_path / "all.db", []

    async def come(number: int, day: int = 1) -> None:
        url = f"https://site-{number}.example/sitemap.xml"
        body = urlset(f"{url}/{day}")
        await walk_all({url: body}, None, sitemaps=[url], state=state, changes=True)

    for sites in (range(6), range(6, 51)):
        for number in sites:
            await come(number)
        steps = 0
        for day in (1, 2, 3, 3):  # merge, merge what has changed twice, and merge nothing
            await come(sites[3], day)
        costs.append(steps)
    few, many = costs
    assert few > 100
    assert many < 1.1 * few, costs
