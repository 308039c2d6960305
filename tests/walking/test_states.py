"""The transitions of a sitemap: each is in the table or refused, and all ways lead to an end."""

from __future__ import annotations

import ast
import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from sitemapreader import walk
from sitemapreader._types.options import FetchOptions
from sitemapreader._types.outcomes import Status
from sitemapreader._walk.states import (
    ENDS,
    TRANSITIONS,
    SitemapLife,
    SitemapState,
)
from sitemapreader.fetch import MemoryFetcher
from tests.support import package
from tests.support.walking import ROBOTS, SITE, index, moved, status, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path


def find_reachable(start: SitemapState) -> set[SitemapState]:
    """Return the states that a sitemap in a state can come to, this one included."""
    found = {start}
    while more := {to for state in found for to in list_following(state)} - found:
        found |= more
    return found


def list_following(state: SitemapState) -> list[SitemapState]:
    """Return the states that the table allows after a state, in the order of their names."""
    return sorted(TRANSITIONS.get(state, ()), key=attrgetter("name"))


@given(st.lists(st.sampled_from(SitemapState)))
def test_a_transition_is_in_the_table_or_refused(states: list[SitemapState]) -> None:
    """Whatever happens in whatever order, the state is what the table allows, or stays."""
    life = SitemapLife()
    for state in states:
        before = life.state
        if state in list_following(before):
            life.enter(state)
            assert life.state is state
        else:
            with pytest.raises(RuntimeError, match=f"{before.name}.*{state.name}"):
                life.enter(state)
            assert life.state is before


@given(st.data())
def test_an_allowed_way_comes_to_an_end(data: st.DataObject) -> None:
    """A sitemap that takes any allowed way can end after each step, and then nothing follows."""
    life = SitemapLife()
    for _ in range(data.draw(st.integers(0, 20))):
        assert find_reachable(life.state) & ENDS
        allowed = list_following(life.state)
        if not allowed:
            break
        life.enter(data.draw(st.sampled_from(allowed)))
    if life.state.is_end:
        for state in SitemapState:
            with pytest.raises(RuntimeError):
                life.enter(state)


def test_every_state_is_reached() -> None:
    """The table has nothing that no sitemap comes to."""
    assert find_reachable(SitemapState.WAITING) == set(SitemapState)


def test_each_outcome_is_an_end() -> None:
    """A sitemap whose outcome is judged ends in the state of that name."""
    judged = TRANSITIONS[SitemapState.ENDING] - {SitemapState.LEFT}
    assert {state.name for state in judged} == {status.name for status in Status}
    assert judged <= ENDS


def test_a_state_waits_or_can_be_left() -> None:
    """A worker that is stopped leaves the sitemap, and one that waits again is never left."""
    stops = {SitemapState.SKIPPED, SitemapState.LEFT}
    for state in set(SitemapState) - ENDS:
        if state.is_queued:
            assert SitemapState.LEFT not in TRANSITIONS[state], state
        else:
            assert stops & TRANSITIONS[state], state


def test_no_worker_leaves_a_sitemap_on_its_way() -> None:
    """Only a sitemap that waits or has ended may be without a worker."""
    for state in SitemapState:
        life = SitemapLife()
        life.state = state
        if state.is_end or state.is_queued:
            life.check_release()
        else:
            with pytest.raises(RuntimeError, match=state.name):
                life.check_release()


Ways = dict[SitemapLife, list[SitemapState]]
"""Sitemap -> the states that it entered."""


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    """Return the ways of all sitemaps of the walks of a test."""
    found: Ways = {}
    enter = SitemapLife.enter

    def note(life: SitemapLife, state: SitemapState) -> None:
        enter(life, state)
        found.setdefault(life, []).append(state)

    monkeypatch.setattr(SitemapLife, "enter", note)
    return found


async def test_walks_enter_each_state_and_come_to_each_end(
    ways: Ways, tmp_path: Path
) -> None:
    """Whatever becomes of a sitemap, its last state is an end; nothing in the table is unused."""
    names = ("whole.xml", "moved.xml", "cut.xml", "absent.xml", "no/forbidden.xml")
    whole = urlset(f"{SITE}1")
    pages = {
        ROBOTS: f"User-agent: *\nDisallow: /no/\nSitemap: {SITE}i.xml".encode(),
        f"{SITE}i.xml": index(*(f"{SITE}{name}" for name in names)),
        f"{SITE}whole.xml": whole,
        f"{SITE}moved.xml": moved(f"{SITE}whole.xml", whole),
        f"{SITE}cut.xml": urlset(f"{SITE}2", f"{SITE}3")[:-40],
    }
    for _ in range(2):
        await walk_all(pages, state=tmp_path / "state.db")
    await walk_all(
        list_refused(20), options=FetchOptions(host_pause_seconds=0.01, concurrency=2)
    )
    many = urlset(*(f"{SITE}{number}" for number in range(20_000)))
    async with walk(SITE, fetcher=MemoryFetcher({f"{SITE}sitemap.xml": many})) as urls:
        await anext(aiter(urls))
    assert {way[-1] for way in ways.values()} == ENDS
    assert {state for way in ways.values() for state in way} == set(SitemapState)


def list_refused(number: int) -> dict[str, Any]:
    """Return an index of documents that the host refuses."""
    refused = {
        url: status(403, url) for url in (f"{SITE}{n}.xml" for n in range(number))
    }
    return {f"{SITE}sitemap.xml": index(*refused), **refused}


def test_only_the_table_changes_a_state() -> None:
    """No other file of the walk sets the state of a sitemap."""
    setters = {
        name
        for name in package.paths()
        if name.startswith("_walk")
        for node in ast.walk(package.parse(name))
        if isinstance(node, ast.Attribute)
        and node.attr == "state"
        and isinstance(node.ctx, ast.Store)
    }
    assert setters == {"_walk.states"}


def test_the_architecture_shows_each_state() -> None:
    """The picture for a newcomer has the states of the table."""
    text = (package.ROOT / "docs" / "architecture.md").read_text("utf-8")
    part = text.partition("## What happens to one sitemap")[2].partition("\n## ")[0]
    words = set(re.findall(r"[A-Z]{4,}", part))
    assert {each.name for each in SitemapState} - words == set()
