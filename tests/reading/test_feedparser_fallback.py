"""Feeds beyond repair: feedparser has a process that is bounded, and that ends with its walk."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from sitemapreader import SitemapReader, UrlEntry, walk, walk_sync
from sitemapreader._read import feedparser as fallback
from sitemapreader._read.feedparser import (
    FeedparserAnswer,
    run_feedparser,
)
from sitemapreader._types.issues import Issue, IssueCode
from sitemapreader._types.models import Event
from sitemapreader._types.options import Limits
from sitemapreader.fetch import MemoryFetcher
from tests.support.walking import SITE, index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sitemapreader._walk.report import Report

HEAD = b"<channel><title>T</title>"
ITEM = b"<item><link>https://example.org/1</link></item>"
BROKEN = HEAD + ITEM + b"</channel>"
"""No root: only feedparser reads it."""
STUCK_SECONDS = 60.0
"""At least so long a worker that is stuck would be waited for."""
ARMED = b"<?xml " + b"encoding='' " * 2_500 + BROKEN
"""A pattern of feedparser takes 10 s on it, and holds the interpreter's lock."""


_POPEN = subprocess.Popen


class Processes:
    """Every process that was started, and how many of the earlier ones ran at that time."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []
        self.beside: list[int] = []

    def start(self, *arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        """Start one, as the fallback would."""
        self.beside.append(len(self.running()))
        process = _POPEN(*arguments, **options)
        self.started.append(process)
        return process

    def running(self) -> list[int]:
        return [each.pid for each in self.started if each.poll() is None]

    async def wait(self) -> None:
        """Wait until there is one."""
        while not self.started:  # noqa: ASYNC110 (a thread starts it, which knows no loop)
            await asyncio.sleep(0.01)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """Note the fallback's processes; at the end of the test none may be left."""
    noted = Processes()

    monkeypatch.setattr(subprocess, "Popen", noted.start)
    yield noted
    assert noted.running() == []


@pytest.fixture
def stuck(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    processes: Processes,
) -> Processes:
    """Have a worker that never answers, and takes no processor from the rest of the test."""
    worker = tmp_path / "worker.py"
    worker.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(fallback, "SCRIPT", worker)
    monkeypatch.setattr(
        fallback,
        "WALL_SECONDS_PER_CPU_SECOND",
        getattr(request, "param", STUCK_SECONDS),
    )
    return processes


def read(data: bytes, **limits: Any) -> list[Event]:
    reader = SitemapReader(SITE, limits=Limits(**limits))
    return reader.feed(data) + reader.close()


def unread(issues: list[Issue]) -> list[str | None]:
    """Return what kept feeds from being read."""
    return [issue.value for issue in issues if issue.code is IssueCode.FEED_UNREADABLE]


def site_of(feeds: list[bytes]) -> MemoryFetcher:
    """Make a site with an index of feeds."""
    urls = [f"{SITE}{number}.rss" for number in range(len(feeds))]
    return MemoryFetcher(
        {f"{SITE}index.xml": index(*urls), **dict(zip(urls, feeds, strict=True))}
    )


async def walk_feeds(feeds: list[bytes], **limits: Any) -> tuple[list[str], Report]:
    """Walk a site of feeds to its end."""
    async with walk(
        sitemaps=[f"{SITE}index.xml"], fetcher=site_of(feeds), limits=Limits(**limits)
    ) as entries:
        locs = [entry.loc async for entry in entries]
    return locs, entries.report


# -- one feed


@pytest.mark.slow
def test_a_feed_that_takes_too_long_is_an_issue() -> None:
    """The process is ended after its CPU seconds, and the Issue names the limit."""
    events = read(ARMED, feedparser_seconds=1)
    assert unread([e for e in events if isinstance(e, Issue)]) == ["feedparser_seconds"]
    assert not any(isinstance(e, UrlEntry) for e in events)


@pytest.mark.parametrize("stuck", [0.02], indirect=True)
def test_a_process_that_only_waits_is_ended_too(stuck: Processes) -> None:
    """Without a bound on CPU time, as on Windows, the clock on the wall ends it."""
    assert run_feedparser(BROKEN, 1) == FeedparserAnswer(limit="feedparser_seconds")
    assert stuck.started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "python", [None, "", "/opt/app/crawler", "C:/uwsgi.exe", "frozen"]
)
def test_no_other_program_is_started(
    python: str | None, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Python is part of another program, that is not started; the feed is an Issue."""
    if python == "frozen":  # not even if its name is that of Python
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", python)
    assert unread([e for e in read(BROKEN) if isinstance(e, Issue)]) == [None]
    assert processes.started == []


@pytest.mark.parametrize(
    "answer", [b"5", b"<item>", b"<rss><channel></channel></rss>", b"\xff", b""]
)
def test_an_answer_of_another_shape(answer: bytes) -> None:
    """Whatever the process writes, nothing is found, and nothing is raised."""
    reader, events = SitemapReader(SITE), list[Event]()
    reader.feed(BROKEN)
    for step in reader.close_steps():
        events += step
        if reader.beyond_repair:
            reader.salvage(FeedparserAnswer(answer))
    assert unread([e for e in events if isinstance(e, Issue)]) == [None]


@pytest.mark.parametrize(
    "root", [b"", b"<rss version='2.0>", b"<rss\n", b"<rdf:RDF xmlns='u/>"]
)
def test_a_feed_without_a_sound_root_is_salvaged(root: bytes) -> None:
    """Its first tag is that of its channel."""
    (_, entry) = read(b"<?xml version='1.0'?>" + root + BROKEN)
    assert isinstance(entry, UrlEntry)
    assert entry.loc == "https://example.org/1"


@pytest.mark.parametrize(
    "document",
    [
        b"<?xml version='1.0'?><!-- <rss> --><list xmlns='urn:x'>" + ITEM,
        b"<tv><channel id='1'/><feed/><rss>",
        ITEM,
    ],
)
def test_xml_with_items_is_not_a_feed(document: bytes, processes: Processes) -> None:
    """Items make no feed: without a root of ours, the document is no sitemap, and that is all."""
    reader = SitemapReader(SITE)
    reader.feed(document[:-6] if b"<rss>" in document else document)
    codes = [event.code for event in reader.close() if isinstance(event, Issue)]
    assert codes == [IssueCode.NOT_A_SITEMAP]
    assert processes.started == []


def test_entries_of_the_fallback_are_read_as_others_are() -> None:
    """Relative links are resolved, dates are parsed, what is no URL is dropped, all with Issues."""
    feed = (
        HEAD + b"<item><link>/a?b=1&amp;c=2</link>"
        b"<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate></item>"
        b"<item><link>mailto:x@example.org</link></item>"
        b"<item><link>https://example.org/3</link><pubDate>soon</pubDate></item></channel>"
    )
    reader = SitemapReader(SITE + "feed")
    events = reader.feed(feed) + reader.close()
    entries = [e for e in events if isinstance(e, UrlEntry)]
    assert [e.loc for e in entries] == [f"{SITE}a?b=1&c=2", f"{SITE}3"]
    assert [e.lastmod is not None for e in entries] == [True, False]
    codes = {e.code for e in events if isinstance(e, Issue)}
    assert {
        IssueCode.RELATIVE_LOC,
        IssueCode.UNSUPPORTED_SCHEME,
        IssueCode.LASTMOD,
    } <= codes
    assert reader.stats.records == reader.stats.delivered + reader.stats.dropped


def test_no_link_is_invented() -> None:
    """A link that does not stand in the feed, plain or escaped, is a guess: it is dropped."""
    links = {
        "https://example.org/x y": "https://example.org/x y",
        "https://example.org/?a&amp;b": "https://example.org/?a&b",
        "&#104;ttps://example.org/&#x31;": "https://example.org/1",
        "<![CDATA[https://example.org/]]>2": None,
        "https://example.org/&amp;amp;3": None,
    }
    items = "".join(f"<item><link>{written}</link></item>" for written in links)
    reader = SitemapReader(SITE)
    events = [*reader.feed(BROKEN.replace(ITEM, items.encode())), *reader.close()]
    found = [e.loc for e in events if isinstance(e, UrlEntry)]
    assert found == [loc for loc in links.values() if loc]
    assert reader.stats.dropped == 2


# -- a walk


async def test_a_walk_asks_feedparser_so_often_and_no_more(
    processes: Processes,
) -> None:
    """Feeds past the limit are Issues that name it, and everything else of the walk is read."""
    feeds = [BROKEN.replace(b"/1<", b"/%d<" % number) for number in range(30)]
    locs, report = await walk_feeds(feeds, feedparser_runs=2)
    assert len(locs) == len(processes.started) == 2
    assert report.counts[IssueCode.FEED_SALVAGED] == 2
    assert report.counts[IssueCode.FEED_UNREADABLE] == 28
    assert set(unread(report.issues)) == {"feedparser_runs"}
    locs, _ = await walk_feeds(feeds[:3])
    assert len(set(locs)) == 3
    assert processes.beside == [0] * 5  # one at a time, however many documents are


async def test_a_walk_that_is_left_takes_its_process_along(stuck: Processes) -> None:
    """Leaving waits neither for feedparser, which is at one feed, nor for feeds in the queue."""
    fetcher = site_of([BROKEN] * 4)
    async with walk(sitemaps=[f"{SITE}index.xml"], fetcher=fetcher) as entries:
        first = asyncio.ensure_future(anext(aiter(entries.events())))
        await stuck.wait()
        assert stuck.running()
        left = time.monotonic()
        first.cancel()
    assert time.monotonic() - left < STUCK_SECONDS / 2
    assert stuck.running() == []
    assert len(stuck.started) == 1


def test_a_blocking_walk_that_is_left_takes_its_process_along(stuck: Processes) -> None:
    """`walk_sync` leaves no process behind either, at its first entry and not at its end."""
    fetcher = MemoryFetcher(
        {
            f"{SITE}index.xml": index(f"{SITE}0.rss", f"{SITE}1.rss"),
            f"{SITE}0.rss": BROKEN,
            f"{SITE}1.rss": b"<rss><channel>" + ITEM + b"</channel></rss>",
        }
    )
    with walk_sync(sitemaps=[f"{SITE}index.xml"], fetcher=fetcher) as entries:
        assert next(iter(entries)).loc == "https://example.org/1"
        while not stuck.started:
            time.sleep(0.01)
        left = time.monotonic()
    assert time.monotonic() - left < STUCK_SECONDS / 2


@pytest.mark.slow
def test_an_interrupted_program_leaves_no_process(tmp_path: Path) -> None:
    """An interrupt while feedparser works on a file ends the program and its child at once."""
    (tmp_path / "feed.rss").write_bytes(BROKEN)
    worker, pids = tmp_path / "worker.py", tmp_path / "pid"
    worker.write_text("import time; time.sleep(600)")
    script = (
        "import pathlib, subprocess, sys\n"
        "from sitemapreader._cli import main\n"
        "from sitemapreader._read import feedparser\n"
        "class Noted(subprocess.Popen):\n"
        "    def __init__(self, *a, **k):\n"
        "        super().__init__(*a, **k)\n"
        f"        pathlib.Path({str(pids)!r}).write_text(str(self.pid))\n"
        "        print('child', flush=True, file=sys.stderr)\n"
        "subprocess.Popen = Noted\n"
        f"feedparser.SCRIPT = pathlib.Path({str(worker)!r})\n"
        "feedparser.WALL_SECONDS_PER_CPU_SECOND = 600\n"
        "sys.exit(main(['read', sys.argv[1], '--quiet']))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "feed.rss")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        assert program.stderr.readline() == "child\n"
        program.send_signal(signal.SIGINT)
        program.wait(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text()), 0)


def test_a_salvaged_feed_is_not_called_unknown_as_well() -> None:
    """It has one Issue, which says so, and its items, the latest alone as any feed may."""
    reader = SitemapReader("https://example.org/feed")
    events = [*reader.feed(BROKEN), *reader.close()]
    assert (reader.stats.delivered, reader.is_window) == (1, True)
    assert [event.code for event in events if isinstance(event, Issue)] == [
        IssueCode.FEED_SALVAGED
    ]
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [
        "https://example.org/1"
    ]
