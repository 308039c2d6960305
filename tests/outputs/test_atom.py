"""Feeds of changes: 60 days of them, read back by another library."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import feedparser
import pytest
from defusedxml import ElementTree

from sitemapreader import UrlEntry
from sitemapreader._types.models import Change
from sitemapreader.output import atom, open_output
from tests.support.commands import run
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path


SITE = "https://example.org/"


def test_a_feed_keeps_the_last_changes_of_many_runs(tmp_path: Path) -> None:
    """The feed is valid on each day, has the last 200 changes, and no id changes or comes twice."""
    feed, rng = tmp_path / "changes.atom", random.Random(28)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    sent: list[tuple[str, str]] = []
    ids: dict[str, str] = {}
    identity = set()

    for day in range(30):
        now += timedelta(days=1)
        entries = [
            UrlEntry(
                f"{SITE}{day}/{number}?a=1&b=<{chr(rng.randrange(0, 0x300))}>",
                lastmod=rng.choice([None, now]),
                title=rng.choice([None, "A & B <\x07>", "\ud800 ]]>"]),
                change=rng.choice(list(Change)),
                sitemap=f"{SITE}s.xml",
            )
            for number in range(rng.choice([0, 0, 1, 5, 30, 300]))
        ]
        with open_output(feed) as output:
            for start in range(0, len(entries), 70):
                output.write(entries[start : start + 70])
            output.write(entries[-1:])  # listed twice
        sent += [(str(entry.change), entry.loc.partition("?")[0]) for entry in entries]
        if day not in (0, 1, 29):
            continue
        parsed = feedparser.parse(feed.read_bytes())
        assert (parsed.bozo, parsed.version) == (False, "atom10")
        identity.add(parsed.feed.id)
        found = [
            (each.tags[0].term, each.link.partition("?")[0]) for each in parsed.entries
        ]
        assert found == sent[::-1][: atom.MAX_ENTRIES]
        assert all(
            ids.setdefault(each.id, each.link) == each.link for each in parsed.entries
        )
        dates = [each.updated for each in parsed.entries]
        assert dates == sorted(dates, reverse=True)
        assert parsed.feed.updated == (dates or [parsed.feed.updated])[0]
    assert len(identity) == 1
    assert len(set(ids)) > 250


def test_the_shell_writes_a_feed(tmp_path: Path) -> None:
    """Two runs with a state make one feed; one without news leaves it byte by byte."""
    site, feed = tmp_path / "site", tmp_path / "changes.atom"
    site.mkdir()
    (site / "robots.txt").write_text(f"Sitemap: {SITE}sitemap.xml")
    words = [str(site), "--state", str(tmp_path / "s.db"), "--changes", "-o", str(feed)]
    written = []
    for names in ("ab", "ab", "abc"):
        (site / "sitemap.xml").write_bytes(urlset(*(SITE + name for name in names)))
        assert run(*words).returncode == 0
        written.append(feed.read_bytes())
    assert written[0] == written[1]
    links = [each.link for each in feedparser.parse(written[2]).entries]
    assert (links[0], sorted(links)) == (f"{SITE}c", [SITE + name for name in "abc"])


@pytest.mark.parametrize(
    "character", ["\ufffe", "\uffff", "\x0b", "\ud800", "\U0001ffff", "\x85"]
)
@pytest.mark.parametrize("name", ["loc", "title", "sitemap"])
def test_any_character_leaves_the_feed_readable(
    tmp_path: Path, name: str, character: str
) -> None:
    """One URL or title with a character that XML 1.0 lacks takes no other entry with it."""
    feed = tmp_path / "changes.atom"
    odd = UrlEntry(f"{SITE}odd", title="Odd", sitemap=f"{SITE}s.xml")
    setattr(odd, name, f"{getattr(odd, name)}{character}x")
    with open_output(feed) as output:
        output.write([UrlEntry(f"{SITE}1"), odd, UrlEntry(f"{SITE}2")])
    root = ElementTree.fromstring(feed.read_bytes())
    links = [link.attrib["href"] for link in root.iterfind("{*}entry/{*}link")]
    assert [links[0], links[2]] == [f"{SITE}2", f"{SITE}1"]
    assert links[1].startswith(f"{SITE}odd")
