"""The transitions of a sitemap: each is in the table or refused, and all ways lead to an end."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from sitemapreader import walk
from sitemapreader._types.options import FetchOptions
from sitemapreader._types.outcomes import Status
from sitemapreader._walk.states import (
    ENDS,
    TRANSITIONS,
    TRANSITIONS_BY_STATUS,
    SitemapLife,
    SitemapState,
    SitemapTransition,
)
from sitemapreader.fetch import MemoryFetcher
from tests.support import package
from tests.support.walking import ROBOTS, SITE, index, moved, status, urlset, walk_all

if TYPE_CHECKING:
    from pathlib import Path


def list_transitions(state: SitemapState) -> dict[SitemapTransition, SitemapState]:
    """Return the transitions that the table has in a state, and the states that they lead to."""
    return TRANSITIONS.get(state, {})


def find_reachable(start: SitemapState) -> set[SitemapState]:
    """Return the states that some transitions lead to from a state, itself included."""
    found = {start}
    while (
        more := {to for state in found for to in list_transitions(state).values()}
        - found
    ):
        found |= more
    return found


@given(st.lists(st.sampled_from(SitemapTransition)))
def test_a_transition_is_in_the_table_or_refused(
    transitions: list[SitemapTransition],
) -> None:
    """Whatever happens in whatever order, the state is what the table says, or stays."""
    life = SitemapLife()
    for transition in transitions:
        before = life.state
        if transition in list_transitions(before):
            life.process(transition)
            assert life.state is TRANSITIONS[before][transition]
        else:
            with pytest.raises(RuntimeError, match=f"{before.name}.*{transition.name}"):
                life.process(transition)
            assert life.state is before


@given(st.data())
def test_an_allowed_way_comes_to_an_end(data: st.DataObject) -> None:
    """A sitemap that takes any allowed way can end after each step, and then nothing follows."""
    life = SitemapLife()
    for _ in range(data.draw(st.integers(0, 20))):
        assert find_reachable(life.state) & ENDS
        allowed = [*list_transitions(life.state)]
        if not allowed:
            break
        life.process(data.draw(st.sampled_from(allowed)))
    if life.state.is_end:
        for transition in SitemapTransition:
            with pytest.raises(RuntimeError):
                life.process(transition)


def test_every_state_is_reached_and_every_transition_happens() -> None:
    """The table has nothing that no sitemap comes to."""
    assert find_reachable(SitemapState.WAITING) == set(SitemapState)
    transitions = [transition for row in TRANSITIONS.values() for transition in row]
    assert set(transitions) == set(SitemapTransition)


def test_each_outcome_is_an_end() -> None:
    """A sitemap whose outcome is judged ends in the state of that name."""
    judged = TRANSITIONS[SitemapState.ENDING]
    assert {
        status: judged[transition].name.lower()
        for status, transition in TRANSITIONS_BY_STATUS.items()
    } == {status: status.value for status in Status}


def test_a_state_waits_or_can_be_left() -> None:
    """A worker that is stopped leaves the sitemap, and one that waits again is never left."""
    stops = {SitemapTransition.SKIP, SitemapTransition.LEAVE}
    for state in set(SitemapState) - ENDS:
        if state.is_queued:
            assert SitemapTransition.LEAVE not in list_transitions(state), state
        else:
            assert stops & list_transitions(state).keys(), state


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


Ways = dict[SitemapLife, list[tuple[SitemapTransition, SitemapState]]]
"""Sitemap -> its transitions, and the states that they led to."""


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    """Return the ways of all sitemaps of the walks of a test."""
    found: Ways = {}
    process = SitemapLife.process

    def note(life: SitemapLife, transition: SitemapTransition) -> None:
        process(life, transition)
        found.setdefault(life, []).append((transition, life.state))

    monkeypatch.setattr(SitemapLife, "process", note)
    return found


async def test_walks_report_each_transition_and_come_to_each_end(
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
    assert {way[-1][1] for way in ways.values()} == ENDS
    assert {transition for way in ways.values() for transition, _ in way} == set(
        SitemapTransition
    )


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


def test_the_architecture_shows_each_state_and_event() -> None:
    """The picture for a newcomer has the states of the table, and the transitions between them."""
    text = (package.ROOT / "docs" / "architecture.md").read_text("utf-8")
    part = text.partition("## What happens to one sitemap")[2].partition("\n## ")[0]
    words = set(re.findall(r"[A-Z]{4,}", part))
    judgements = {*TRANSITIONS_BY_STATUS.values()} - {SitemapTransition.SKIP}
    names = {each.name for each in SitemapState} | {
        each.name for each in SitemapTransition if each not in judgements
    }
    assert names - words == set()
