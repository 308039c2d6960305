"""Submitting to IndexNow: a service and sites on loopback that behave and misbehave."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web

from sitemapreader import (
    Change,
    Changes,
    FetchOptions,
    Report,
    SitemapReaderError,
    UrlEntry,
    walk,
)
from sitemapreader._cli.commands.submit import _describe_submission
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.recipes import indexnow
from sitemapreader.recipes.indexnow import (
    IndexNowError,
    Outbox,
    Submission,
    submit_changes,
)
from tests.support.clock import DAY, SetClock
from tests.support.commands import run, run_code, start
from tests.support.grouping import grouped
from tests.support.serving import listen
from tests.support.walking import SITE, index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from tests.support.launcher import Run

KEY = "0123456789abcdef-KEY"
OPTIONS = FetchOptions(max_attempts=1)


@attrs.define
class Web:
    """A site and a service on one server: what they serve, and what the service was sent."""

    base: str = ""
    pages: dict[str, bytes | str | int] = attrs.field(factory=dict)
    answers: list[int] = attrs.field(factory=list)
    """Statuses of the next answers of the service; 0 is none."""
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    accepted: list[str] = attrs.field(factory=list)
    serving: asyncio.Lock = attrs.field(factory=asyncio.Lock)
    """Held while the service reads and answers a request."""
    on_request: Callable[[], Awaitable[None]] | None = None
    """Awaited at each request, and at each acceptance before the answer."""

    @property
    def host(self) -> str:
        return self.base.removeprefix("http://")

    def publish(self, *names: str, count: int = 0) -> list[str]:
        """Have the site list URLs, in sitemaps of 5,000; return them."""
        locs = [f"{self.base}/{name}" for name in (*names, *map(str, range(count)))]
        self.pages = {
            place: page for place, page in self.pages.items() if len(place) > 2
        }
        self.pages |= {f"/{name}": b"A page" for name in names}
        parts = [locs[start : start + 5_000] for start in range(0, len(locs), 5_000)]
        for number, part in enumerate(parts):
            self.pages[f"/{number}.xml"] = urlset(*part)
        children = (f"{self.base}/{number}.xml" for number in range(len(parts)))
        self.pages["/sitemap.xml"] = index(*children)
        return locs

    async def submit(
        self, db: Path, *, submit_all: bool = True, **arguments: Any
    ) -> Submission:
        given: dict[str, Any] = {
            "endpoint": f"{self.base}/indexnow",
            "options": OPTIONS,
        }
        if submit_all:  # else it is left out
            given["submit_all"] = True
        return await submit_changes(
            f"{self.base}/", state=db, key=KEY, **grouped(given | arguments)
        )

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await self._tell()
        if request.method == "POST":
            return await self._serve(request)
        page = self.pages.get(request.path, 404)
        if isinstance(page, int):
            return web.Response(status=page)
        if isinstance(page, str):
            return web.Response(status=302, headers={"Location": page})
        return web.Response(body=page)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        assert request.content_type == "application/json"
        assert not self.serving.locked(), "one request at a time"
        async with self.serving:
            sent = json.loads(await request.read())
            self.requests.append(sent)
            status = self.answers.pop(0) if self.answers else 200
            if not status:
                assert request.transport is not None
                request.transport.abort()
            if status in (200, 202):
                self.accepted += sent["urlList"]
                await self._tell()
            return web.Response(
                status=status or 200, headers={"Location": "http://127.0.0.2/"}
            )

    async def _tell(self) -> None:
        if self.on_request is not None:
            await self.on_request()


@asynccontextmanager
async def serve() -> AsyncIterator[Web]:
    """Serve a site with a key, and a service that accepts everything."""
    served = Web()
    async with listen(served.answer) as served.base:
        served.pages[f"/{KEY}.txt"] = f"{KEY}\n".encode()
        yield served


@pytest.fixture
async def site() -> AsyncIterator[Web]:
    async with serve() as served:
        yield served


# -- what is submitted


async def test_new_changed_and_gone_urls_are_submitted(
    site: Web, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call submits everything, the next ones what differs, a calm one nothing."""
    days: list[tuple[list[str], str, dict[str, int]]] = [
        (["a", "b", "c"], "abc", {"new": 3}),
        (["a", "b", "c"], "", {}),
        (["a", "d"], "d", {"new": 1}),
        (["a", "d"], "bc", {"gone": 2}),
        (["a", "b", "d"], "b", {"new": 1}),
        (["a", "d"], "", {}),
        (["a", "d"], "b", {"gone": 1}),
    ]
    clock = SetClock(monkeypatch)
    for names, sent, counts in days:
        clock.now += DAY
        site.accepted.clear()
        site.publish(*names)
        done = await site.submit(db)
        assert sorted(site.accepted) == [f"{site.base}/{name}" for name in sent]
        assert (done.counts, done.report.complete) == (counts, True)


async def test_a_state_of_another_site_is_no_baseline(site: Web, db: Path) -> None:
    """The first call for a site records its URLs, whatever else the state remembers."""
    site.publish("a")
    other = {f"{SITE}robots.txt": b"", f"{SITE}sitemap.xml": urlset(f"{SITE}x")}
    async with walk(SITE, state=Changes(db), fetcher=MemoryFetcher(other)) as entries:
        assert [entry.loc async for entry in entries] == [f"{SITE}x"]
    done = await site.submit(db, submit_all=False)
    assert (done.counts, site.accepted) == ({"recorded": 1}, [])


async def test_a_state_without_urls_is_no_baseline(site: Web, db: Path) -> None:
    """A site that listed nothing has its first URLs recorded, and not submitted."""
    days: list[tuple[str, dict[str, int]]]
    days = [("", {}), ("a", {"recorded": 1}), ("ab", {"new": 1})]
    for names, counts in days:
        site.publish(*names)
        if not names:
            site.pages["/sitemap.xml"] = urlset()
        done = await site.submit(db, submit_all=False)
        assert done.counts == counts
    assert site.accepted == [f"{site.base}/b"]


async def test_a_request_follows_the_protocol(site: Web, db: Path) -> None:
    """Host, key, its place and URLs that are escaped, without passwords and fragments."""
    odd = [
        f"{site.base}/ü x?q=ä#top",
        f"http://me:secret@{site.host}/z",
        f"{site.base}/%2f",
    ]
    site.pages["/sitemap.xml"] = urlset(*odd, "http://[::1/none")
    site.answers = [202]
    done = await site.submit(db)
    (sent,) = site.requests
    assert (sent["host"], sent["key"]) == (site.host, KEY)
    assert sent["keyLocation"] == f"{site.base}/{KEY}.txt"
    assert all(
        url.isascii() and " " not in url and "#" not in url for url in sent["urlList"]
    )
    assert "secret" not in json.dumps(sent)
    assert (done.counts, done.requests) == ({"new": 3, "unusable": 1}, {202: 1})


async def test_25_000_changes_are_three_requests(site: Web, db: Path) -> None:
    """All URLs arrive once, in requests of 10,000 URLs at most, one after the other.

    A first call records as many, and sends none.
    """
    locs = site.publish(count=25_000)
    await site.submit(db)
    assert sorted(site.accepted) == sorted(locs)
    assert sorted(-len(sent["urlList"]) // 10_000 for sent in site.requests) == [-1] * 3
    first = await site.submit(db.with_name("other.db"), submit_all=False)
    assert (first.counts, len(site.requests)) == ({"recorded": 25_000}, 3)


async def test_the_key_follows_no_redirect_of_the_service(site: Web, db: Path) -> None:
    """Another place is not told the key: its status is the answer, and the URLs wait."""
    (loc,) = site.publish("a")
    site.answers = [307]
    with pytest.raises(IndexNowError, match="the service returned 307") as caught:
        await site.submit(db)
    assert (caught.value.status, len(site.requests), site.accepted) == (307, 1, [])
    assert (await site.submit(db)).counts == {"new": 1}
    assert site.accepted == [loc]


async def test_a_key_file_is_read_once_for_all_requests(site: Web, db: Path) -> None:
    """However many requests the URLs of a host need: a page's response may be expensive."""
    paths: list[str] = []
    read = site.answer

    async def count(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        return await read(request)

    async with listen(count) as site.base:
        site.publish(count=25_000)
        await site.submit(db)
    assert paths.count("/indexnow") == 3
    assert paths.count(f"/{KEY}.txt") == 1


async def test_hosts_are_submitted_independently(site: Web, db: Path) -> None:
    """Hosts are independent: URLs of one without a key file wait, those of the others are sent."""
    async with serve() as other:
        port = int(other.base.rpartition(":")[2])
        options = attrs.evolve(OPTIONS, allow_ports=(port,))
        locs = [
            f"{base}/{number}"
            for number in range(4)
            for base in (site.base, other.base)
        ]
        site.pages["/sitemap.xml"] = urlset(*locs)
        key = other.pages.pop(f"/{KEY}.txt")
        with pytest.raises(
            IndexNowError, match=f"{other.host}: .*cannot be fetched"
        ) as raised:
            await site.submit(db, options=options)
        assert (raised.value.host, raised.value.status) == (other.host, 404)
        assert raised.value.submission.counts == {"new": 4}
        other.pages[f"/{KEY}.txt"] = f"{site.base}/{KEY}.txt"
        with pytest.raises(
            IndexNowError, match=f"{other.host}: .*redirects to another host"
        ):
            await site.submit(db, options=options)
        other.pages[f"/{KEY}.txt"] = key
        shown: list[str] = []
        await site.submit(db, options=options, dry_run=shown.extend)
        assert shown == [loc for loc in locs if loc.startswith(other.base)]
        done = await site.submit(db, options=options)
        assert (done.counts, done.errors) == ({"new": 4}, {})
        assert (await site.submit(db, options=options)).counts == {}
    requests = [(sent["host"], sent["urlList"]) for sent in site.requests]
    assert requests == [
        (each.host, [loc for loc in locs if loc.startswith(each.base)])
        for each in (site, other)
    ]


@pytest.mark.parametrize("refusing", [0, 1])
@pytest.mark.parametrize("status", [403, 422, 400])
async def test_urls_of_a_refused_host_wait(
    site: Web, db: Path, refusing: int, status: int
) -> None:
    """The service refuses one host of two, of which either may be the site's own; all arrives."""
    async with serve() as other:
        port = int(other.base.rpartition(":")[2])
        words = ("--all", "--allow-port", str(port))
        hosts = [site, other]
        site.pages["/sitemap.xml"] = urlset(*(f"{each.base}/a" for each in hosts))
        site.answers = [200, 200]
        site.answers[refusing] = status
        code, _, said = await submit(site, db, *words)
        assert code == 1
        assert f"{hosts[refusing].host}: the service returned {status}" in said
        assert "submitted: 1 new or changed URL" in said
        assert site.accepted == [f"{hosts[1 - refusing].base}/a"]
        code, _, said = await submit(site, db, *words)
        assert (code, len(site.requests)) == (0, 3)
        assert sorted(site.accepted) == sorted(f"{each.base}/a" for each in hosts)
        assert not list(db.parent.glob("*waiting*"))


@pytest.mark.parametrize("status", [429, 503, 0])
async def test_urls_wait_while_the_service_is_down(
    site: Web, db: Path, status: int
) -> None:
    """A service that is down, or asks to wait, gets no request for another host; all waits."""
    async with serve() as other:
        options = attrs.evolve(
            OPTIONS, allow_ports=(int(other.base.rpartition(":")[2]),)
        )
        site.pages["/sitemap.xml"] = urlset(
            f"{site.base}/a", f"{other.base}/a", f"{site.base}/b"
        )
        site.answers = [status]
        with pytest.raises(IndexNowError) as raised:
            await site.submit(db, options=options)
        assert (raised.value.status, len(site.requests)) == (status, 1)
        assert raised.value.submission.errors.keys() == {site.base, other.base}
        await site.submit(db, options=options)
        assert len(site.accepted) == 3


@pytest.mark.parametrize(
    "stranger",
    ["http://127.0.0.2:{port}", "http://stranger.test:{port}", "http://[::1]:{port}"],
)
async def test_strangers_never_see_the_key(site: Web, db: Path, stranger: str) -> None:
    """URLs of other sites are counted, and neither submitted nor told the key."""
    asked: list[str] = []

    async def note() -> None:
        asked.append(stranger)

    async with serve() as other:
        base = stranger.format(port=other.base.rpartition(":")[2])
        other.on_request = note
        site.pages["/sitemap.xml"] = urlset(
            f"{base}/x", f"{site.base}/a", f"{base}/{KEY}"
        )
        code, _, said = await submit(
            site, db, "--all", "--allow-network", "127.0.0.0/8"
        )
    assert (code, site.accepted, asked) == (0, [f"{site.base}/a"], [])
    assert "skipped 2 URLs of other sites" in said
    done = await site.submit(db)
    assert done.counts == {}


# -- the key


@pytest.mark.parametrize(
    ("page", "said", "status"),
    [
        (404, "http-status 404", 404),
        (b"something else", "has other content", 200),
        (KEY.encode() + b" " * 100_000, "too-large", 0),
        ("http://127.0.0.2/k.txt", "blocked-address", 0),
    ],
)
async def test_a_missing_key_file_is_reported(
    site: Web, db: Path, page: bytes | str | int, said: str, status: int
) -> None:
    """Nothing is sent, and the message says what to put where; then all URLs come."""
    locs = site.publish("a", "b")
    good = dict(site.pages)
    site.pages[f"/{KEY}.txt"] = page
    with pytest.raises(
        IndexNowError, match=rf"/{KEY}\.txt .*{said}.*: put a file there"
    ) as raised:
        await site.submit(db)
    assert (raised.value.host, raised.value.status, site.requests) == (
        site.host,
        status,
        [],
    )
    code, _, shown = await submit(site, db)
    assert (code, str(raised.value) in shown) == (1 if status else 4, True)
    site.pages = good
    # it was stopped while it submitted, and goes on
    await site.submit(db, submit_all=False)
    assert sorted(site.accepted) == locs


# -- what the service answers


SLOW = [pytest.param(status, marks=pytest.mark.slow) for status in (503, 301, 0)]


@pytest.mark.parametrize("status", [403, *SLOW])
async def test_unacknowledged_urls_are_sent_again(
    site: Web, db: Path, status: int
) -> None:
    """A refusal ends the run at once, in words; then all comes, one request at most twice."""
    locs = site.publish(count=15_000)
    site.answers = [200, status]
    words = indexnow.WORDS.get(
        status, "run it again later: these URLs are submitted again"
    )
    said = (
        f"the service returned {status}: {words}"
        if status
        else f"no response .*: {words}"
    )
    with pytest.raises(IndexNowError, match=said) as raised:
        await site.submit(db)
    assert isinstance(raised.value, SitemapReaderError)
    assert (raised.value.status, raised.value.advice) == (status, words)
    assert len(site.requests) == 2
    site.answers = [status]
    code, _, shown = await submit(site, db)
    assert code == (1 if status else 4)
    assert re.search(said, shown)
    await site.submit(db)
    check_deliveries(site, locs)


def check_deliveries(site: Web, locs: list[str]) -> set[str]:
    """Return the URLs that were accepted twice; all were once, and only those of one request."""
    counts = Counter(site.accepted)
    assert counts.keys() == {*locs}
    assert max(counts.values()) <= 2
    twice = {loc for loc, count in counts.items() if count > 1}
    assert any(twice <= {*sent["urlList"]} for sent in site.requests)
    return twice


# -- the first run, and the shell


def write_order(site: Web, db: Path) -> list[str]:
    """Return the words of `sitemapreader submit`."""
    key = db.with_name("key.txt")
    key.write_text(f"{KEY}\n")
    given = ["submit", f"{site.base}/", "--state", str(db), "--key-file", str(key)]
    return [*given, "--endpoint", f"{site.base}/indexnow", "-m", "5"]


async def submit(
    site: Web, db: Path, *words: str, code: str = ""
) -> tuple[int, str, str]:
    """Run it to its end; return its code and what it printed."""
    given = (*write_order(site, db), *words)
    done = await asyncio.to_thread(run_code, code, db.parent, *given)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("hosts", "foreign"), [("any", 0), ("site", 2), ("host", 3)])
def test_whose_urls_are_submitted(hosts: str, foreign: int, tmp_path: Path) -> None:
    """Those of the host, of its site or of any, by the policy; what is no URL is counted apart."""
    outbox = Outbox(tmp_path / "a.db")
    service: Any = SimpleNamespace(requests=Counter())
    submission = Submission(Report(0), "https://www.a.example/", hosts, service, outbox)
    urls = (
        *("https://www.a.example/1", "https://WWW.a.example:443/2#x"),
        *("https://shop.a.example/", "https://b.example/", "http://a.example.net/"),
        *("/relative", "ftp://www.a.example/"),
    )
    submission.add([UrlEntry(url) for url in urls])
    counts = {"foreign": foreign, "unusable": 2}
    assert +submission.counts == +Counter(counts)
    most = [UrlEntry("https://a.example/")] * (10_000 - (5 - foreign))
    assert submission.has_room(most)
    assert not submission.has_room([*most, *most[:1]])


async def test_what_is_not_accepted_waits(tmp_path: Path) -> None:
    """URLs of a host that was refused wait in its file, and are not tried again in this run."""
    asked: list[tuple[str, list[str]]] = []

    async def submit(origin: str, urls: list[str]) -> None:
        asked.append((origin, urls))
        if origin == "https://b.example":
            raise IndexNowError("b.example", "no", 403)

    outbox = Outbox(tmp_path / "a.db")
    service: Any = SimpleNamespace(requests=Counter(), submit=submit)
    submission = Submission(Report(0), "https://a.example/", "any", service, outbox)
    for number in (1, 2):
        urls = [f"https://{host}.example/{number} \u00fc" for host in "ab"]
        submission.add([UrlEntry(url, change=Change.NEW) for url in urls])
        await submission.submit()
    escaped = [f"/{number}%20%C3%BC" for number in (1, 2)]
    assert asked == [
        ("https://a.example", [f"https://a.example{escaped[0]}"]),
        ("https://b.example", [f"https://b.example{escaped[0]}"]),
        ("https://a.example", [f"https://a.example{escaped[1]}"]),
    ]
    assert submission.counts == {"new": 2}
    assert outbox.list_origins() == ["https://b.example"]
    waiting = {f"https://b.example{path}": "new" for path in escaped}
    assert outbox.read("https://b.example") == waiting
    with pytest.raises(IndexNowError, match=r"b\.example: no") as caught:
        submission.finish()
    assert caught.value.submission is submission
    outbox.replace("https://b.example", {})
    assert outbox.list_origins() == []


FOR_CHANGES = (
    "None is submitted, because IndexNow is for changes. To submit all, remove the "
    "state and add --all"
)
FOREIGN = "If they are yours, submit each site, or add --hosts any"


@pytest.mark.parametrize(
    ("counts", "requests", "lines"),
    [
        (
            {"recorded": 1},
            {},
            [f"first run: 1 URL was recorded. {FOR_CHANGES}"],
        ),
        ({}, {}, ["was submitted: 0 new or changed URLs, 0 gone"]),
        (
            {"new": 1, "changed": 2, "gone": 3},
            {200: 2, 202: 1, 429: 9},
            [
                "was submitted: 3 new or changed URLs, 3 gone",
                f"2 requests with status 200: {indexnow.WORDS[200]}",
                f"1 request with status 202: {indexnow.WORDS[202]}",
            ],
        ),
        (
            {"gone": 1, "foreign": 1, "unusable": 2},
            {},
            [
                "was submitted: 0 new or changed URLs, 1 gone",
                f"skipped 1 URL of other sites. {FOREIGN}",
                "skipped 2 entries without an http(s) URL",
            ],
        ),
    ],
)
def test_what_the_shell_says_of_a_submission(
    counts: dict[str, int], requests: dict[int, int], lines: list[str]
) -> None:
    """It has a line for what was submitted, for each status, and for what was left out."""
    done: Any = SimpleNamespace(counts=Counter(counts), requests=Counter(requests))
    assert [*_describe_submission(done, "was ")] == lines


async def test_the_shell_submits_urls(site: Web, db: Path) -> None:
    """The first run records, `--dry-run` shows, the next one submits, and says how it went."""
    assert (await submit(site, db))[0] == 1  # a site without URLs records nothing
    site.publish("a", "b")
    code, printed, said = await submit(site, db)
    assert (code, printed, site.requests) == (0, "", [])
    assert "first run: 2 URLs recorded. None is submitted" in said
    assert "To submit all, remove the state and add --all" in said
    site.publish("b", "c")
    code, printed, said = await submit(site, db, "--dry-run")
    assert (code, printed.split()) == (0, [f"{site.base}/c"])
    assert "would be submitted: 1 new or changed URL, 0 gone" in said
    assert site.requests == []
    site.answers = [202]
    code, printed, said = await submit(site, db)
    assert (code, printed, site.accepted) == (0, "", [f"{site.base}/c"])
    assert "\nsitemapreader: submitted: 1 new or changed URL, 0 gone\n" in said
    assert (
        "1 request with status 202: accepted; the service still checks the key" in said
    )
    await asyncio.to_thread(db.unlink)
    code, printed, said = await submit(site, db, "--dry-run")
    assert "first run: 2 URLs would be recorded" in said
    assert await asyncio.to_thread(db.exists) is False


@pytest.mark.parametrize(
    ("words", "content", "said"),
    [
        ((), None, "cannot be read: No such file"),
        ((), "short", "8 to 128 letters"),
        ((), "../../etc/passwd", "8 to 128 letters"),
        (("--endpoint", "file:///etc/passwd"), KEY, "write a full URL"),
        (("--endpoint", "api.indexnow.org"), KEY, "write a full URL"),
    ],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, words: tuple[str, ...], content: str | None, said: str
) -> None:
    """A key or an endpoint that is none is refused before anything is fetched."""
    if content is not None:
        (tmp_path / "key.txt").write_text(content)
    given = [
        "--state",
        "site.db",
        "--key-file",
        "key.txt",
        "http://127.0.0.1:9/",
        *words,
    ]
    done = run("submit", *given, cwd=tmp_path)
    assert (done.returncode, (tmp_path / "site.db").exists()) == (2, False)
    assert said in done.stderr


# -- kills

SMALL_REQUESTS = """
import sys
from sitemapreader._cli import main
from sitemapreader.recipes import indexnow
indexnow.MAX_URLS = 900
sys.exit(main(sys.argv[1:]))
"""


@attrs.define
class Killer:
    """Kills a process when the servers have met so many events."""

    place: int
    process: Run | None = None
    events: int = 0

    async def note(self) -> None:
        self.events += 1
        if self.events == self.place and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            await asyncio.sleep(0.1)  # it is dead before the answer comes


@pytest.mark.slow
async def test_a_killed_run_loses_no_url(site: Web, tmp_path: Path) -> None:
    """Killed at six places, then run again: all arrives, and one request at most twice.

    URLs have changed since the run before; what is listed no more waits for another day.
    """
    locs = [f"{site.base}/{number}" for number in range(2_800)]
    prepared = tmp_path / "prepared.db"
    for listed in (locs, locs[:2_400]):  # the first run records, the second is refused
        site.pages["/sitemap.xml"] = urlset(*((loc, "2026-01-01") for loc in listed))
        site.answers = [403]
        await submit(site, prepared)
    site.pages["/sitemap.xml"] = urlset(*((loc, "2026-01-02") for loc in locs[:2_000]))
    site.answers, total = [], 0
    nowhere: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    for number in range(7):
        db = tmp_path / f"{number}.db"
        shutil.copy(prepared, db)
        site.accepted, site.requests = [], []
        killer = Killer(number + 3 if number else 0)
        site.on_request = killer.note
        killer.process = process = start(
            *write_order(site, db), code=SMALL_REQUESTS, **nowhere
        )
        code = await asyncio.to_thread(process.wait, 60)
        assert code == (-signal.SIGKILL if number else 0)
        # a request of the process that was killed may still be read
        async with site.serving:
            pass
        total, site.on_request = total or killer.events, None
        assert (await submit(site, db, code=SMALL_REQUESTS))[0] == 0
        assert not check_deliveries(site, locs[:2_000]) or number
    assert total >= 9  # the pages of URLs that are gone are requested besides


async def test_a_refused_gone_url_is_sent_again(
    site: Web, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """URLs that are gone are submitted by the next call if this one fails."""
    site.publish("a", "b")
    await site.submit(db)
    site.publish("a")
    clock = SetClock(monkeypatch, time.time())
    clock.now += DAY
    await site.submit(db)
    clock.now += DAY
    site.answers = [403]
    with pytest.raises(IndexNowError, match="403"):
        await site.submit(db)
    for sent in (["b"], []):
        site.accepted.clear()
        await site.submit(db)
        assert site.accepted == [f"{site.base}/{name}" for name in sent]


def test_urls_that_wait_are_kept_by_their_origin(tmp_path: Path) -> None:
    """The last change of each counts, a line that was cut costs itself, and no file stays."""
    outbox = Outbox(tmp_path / "site.db")
    one, two = "https://one.example", "http://two.example:8080"
    outbox.append(one, [("/a", "new"), ("/b", "new")])
    assert outbox.list_origins() == [one]
    (file,) = outbox.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-4])
    outbox.append(one, [("/c", "gone"), ("/a", "changed")])
    outbox.append(two, [("/d", "new")])
    assert outbox.list_origins() == [two, one]
    assert outbox.read(one) == {"/a": "changed", "/c": "gone"}
    outbox.replace(one, {"/c": "gone"})
    assert outbox.read(one) == {"/c": "gone"}
    assert {path.suffix for path in outbox.folder.iterdir()} == {".jsonl"}
    outbox.replace(one, {})
    assert outbox.list_origins() == [two]
    outbox.replace(two, {})
    assert outbox.list_origins() == []
