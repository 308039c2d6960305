"""Many sites in one run: a stream, an outcome for each, and neighbours that do not notice."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections import Counter
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from sitemapreader import (
    Change,
    Changes,
    Document,
    FetchOptions,
    Issue,
    Limits,
    Search,
    SiteOutcome,
    SiteStatus,
    SiteTask,
    State,
    walk_many,
    walk_many_sync,
)
from sitemapreader._many.sources import TAKEN_AHEAD, find_source
from sitemapreader._types.issues import IssueCode
from sitemapreader.fetch import MemoryFetcher
from sitemapreader.output import write_sites, write_sites_sync
from tests.support.clock import DAY, SetClock
from tests.support.grouping import grouped
from tests.support.timing import retried
from tests.support.walking import Pages, fault, index, status, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path


URLS = 20


def make_site(host: str, urls: int = URLS) -> Pages:
    """Return a site with an index of two sitemaps."""
    base = f"https://{host}"
    locs = [f"{base}/{number}" for number in range(urls)]
    return {
        f"{base}/robots.txt": f"Sitemap: {base}/index.xml".encode(),
        f"{base}/index.xml": index(f"{base}/a.xml", f"{base}/b.xml"),
        f"{base}/a.xml": urlset(*locs[::2]),
        f"{base}/b.xml": urlset(*locs[1::2]),
    }


def make_web(*hosts: str) -> Pages:
    """Return several sites."""
    return {url: page for host in hosts for url, page in make_site(host).items()}


HOSTS = [f"s{number}.example" for number in range(30)]


async def read(
    sites: Any, web: Pages, **arguments: Any
) -> tuple[Counter[str], dict[str, SiteOutcome]]:
    """Read many sites; return how many URLs each gave, and the outcomes."""
    found: Counter[str] = Counter()
    arguments.setdefault("fetcher", MemoryFetcher(web))
    async with walk_many(sites, **grouped(arguments)) as run:
        async for site, entries in run.batches():
            assert entries
            found[site] += len(entries)
    assert len(run.outcomes) == len({outcome.site for outcome in run.outcomes})
    return found, {outcome.site: outcome for outcome in run.outcomes}


async def test_every_site_is_read_and_has_an_outcome() -> None:
    """All URLs of thirty sites come with the site as it was given, and so do the outcomes."""
    found, outcomes = await read(HOSTS, make_web(*HOSTS))
    assert found == dict.fromkeys(HOSTS, URLS)
    assert outcomes.keys() == set(HOSTS)
    for outcome in outcomes.values():
        assert (outcome.status, outcome.reason) == (SiteStatus.COMPLETE, "")
        assert (outcome.entries, outcome.documents, outcome.requests) == (URLS, 3, 4)
        assert (outcome.changed, outcome.unlisted) == (None, None)
        assert outcome.bytes > 0


async def test_each_neighbour_of_bad_input_is_exact() -> None:
    """No URL, a site twice, sites that fail in every way: an outcome each, the others whole."""
    web = make_web("good.example", "fine.example") | {
        "https://dead.example/robots.txt": fault(
            IssueCode.DNS, "https://dead.example/robots.txt"
        ),
        "https://torn.example/robots.txt": b"Sitemap: https://torn.example/map.xml",
        "https://torn.example/map.xml": urlset("https://torn.example/1")[:-40],
        "https://empty.example/robots.txt": status(404),
        "https://empty.example/": b"<html><body>Nothing here</body></html>",
        "https://ill.example/robots.txt": status(500),
    }
    sites = [
        "good.example", "", "not a url", "ftp://x.example/", "file.xml", float("nan"), "https://",
        "dead.example", "torn.example", "empty.example", "ill.example", "good.example",
        "https://good.example/", "u:secret@@bad url", "fine.example",
    ]  # fmt: skip
    found, outcomes = await read(sites, web)
    assert (found["good.example"], found["fine.example"]) == (URLS, URLS)
    said = {site: (str(each.status), each.reason) for site, each in outcomes.items()}
    assert said == {
        "good.example": ("complete", ""),
        "fine.example": ("complete", ""),
        "dead.example": ("failed", "dns"),
        "torn.example": said["torn.example"],
        "empty.example": ("none", "no-sitemap"),
        "ill.example": said["ill.example"],
        "": ("failed", "invalid-url"),
        "not a url": ("failed", "invalid-url"),
        "ftp://x.example/": ("failed", "invalid-url"),
        "file.xml": ("failed", "invalid-url"),
        "nan": ("failed", "invalid-url"),
        "https://": ("failed", "invalid-url"),
        said_without_secret(said): ("failed", "invalid-url"),
    }
    assert said["torn.example"][0] in {"partial", "failed"}
    assert said["ill.example"][0] == "failed"


def said_without_secret(said: dict[str, tuple[str, str]]) -> str:
    """Return the site whose text had a password, which is not shown."""
    (site,) = [site for site in said if "bad url" in site]
    assert "secret" not in site
    return site


async def test_a_site_named_twice_is_read_once() -> None:
    """Spellings of one URL are one site, and the run says how many were left out."""
    fetcher = MemoryFetcher(make_web("one.example"))
    names = [
        "one.example",
        "https://one.example",
        "https://ONE.example/",
        "https://one.example:443",
    ]
    async with walk_many(names, fetcher=fetcher) as run:
        assert sum([len(entries) async for _, entries in run.batches()]) == URLS
    assert (len(run.outcomes), run.repeated) == (1, 3)


async def test_sites_of_one_domain_wait_for_each_other() -> None:
    """Of hosts of one registrable domain one is read at a time, while others are read beside."""
    hosts = [f"h{number}.one.example" for number in range(8)]
    running: set[str] = set()
    most = 0

    class Watched(MemoryFetcher):
        def open(self, url: str, **_: object) -> Any:
            nonlocal most
            running.add(url.split("/")[2])
            most = max(most, len(running))
            return super().open(url)

    def forget(outcome: SiteOutcome) -> None:
        running.discard(outcome.site)

    async with walk_many(
        hosts,
        fetcher=Watched(make_web(*hosts)),
        on_site=forget,
        limits=Limits(sites_at_once=8),
    ) as run:
        assert sum([len(entries) async for _, entries in run.batches()]) == 8 * URLS
    assert most == 1


@pytest.mark.parametrize(
    ("children", "has_neighbour", "is_alone"),
    [(5, True, True), (5, False, False), (40, True, False)],
)
async def test_small_sites_beside_others_are_read_one_document_at_a_time(
    children: int, has_neighbour: bool, is_alone: bool
) -> None:
    """A further connection pays only for many documents, or if nothing else is read."""
    base = "https://watched.example"
    maps = [f"{base}/{number}.xml" for number in range(children)]
    web: Pages = {
        f"{base}/robots.txt": f"Sitemap: {base}/index.xml".encode(),
        f"{base}/index.xml": index(*maps),
        **{url: urlset(f"{url}/page") for url in maps},
    }
    under_way: Counter[bool] = Counter()
    counts: list[int] = []

    class Watched(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            is_watched = url.startswith(base)
            if not is_watched:
                await is_over.wait()
            under_way.update([is_watched])
            counts.append(under_way[True])
            await asyncio.sleep(0)
            async with super().open(url) as response:
                yield response
            under_way.subtract([is_watched])

    is_over = asyncio.Event()
    sites = ["watched.example"]
    if has_neighbour:
        sites.insert(0, "slow.example")
        web |= make_site("slow.example")
    found: Counter[str] = Counter()
    async with walk_many(sites, fetcher=Watched(web)) as run:
        async for site, entries in run.batches():
            found[site] += len(entries)
            if found["watched.example"] == children:
                is_over.set()
    assert found["watched.example"] == children
    assert (max(counts) == 1) is is_alone


async def test_a_bug_at_one_site_is_an_outcome(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An exception that nobody expects ends its site alone, and the log has it."""

    class Buggy(MemoryFetcher):
        def open(self, url: str, **_: object) -> Any:
            if "s3.example/b.xml" in url:
                raise ZeroDivisionError("a bug")
            return super().open(url)

    hosts = HOSTS[:6]
    found, outcomes = await read(hosts, {}, fetcher=Buggy(make_web(*hosts)))
    wrong = outcomes.pop("s3.example")
    assert (wrong.status, wrong.reason) == (SiteStatus.ERROR, "ZeroDivisionError")
    assert {outcome.status for outcome in outcomes.values()} == {SiteStatus.COMPLETE}
    assert sum(found.values()) >= 5 * URLS
    assert "s3.example" in caplog.text


async def test_what_is_raised_about_a_site_ends_the_run() -> None:
    """An error in `on_site` is the caller's, and comes as it is; one in `follow` is its site's."""

    def fail(_: object) -> bool:
        raise KeyError("mine")

    async with walk_many(
        HOSTS[:2], fetcher=MemoryFetcher(make_web(*HOSTS[:2])), on_site=fail
    ) as run:
        with pytest.raises(KeyError, match="mine"):
            _ = [batch async for batch in run.batches()]
    _, outcomes = await read(HOSTS[:2], make_web(*HOSTS[:2]), follow=fail)
    assert {(each.status, each.reason) for each in outcomes.values()} == {
        ("error", "KeyError")
    }


async def test_leaving_early_leaves_nothing_running() -> None:
    """Whoever has seen enough leaves; what was begun has an outcome."""
    before = asyncio.all_tasks()

    class Stuck(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            if "s2.example/b.xml" in url:
                await asyncio.Event().wait()
            async with super().open(url) as response:
                yield response

    limits = Limits(sites_at_once=4)
    fetcher = Stuck(make_web(*HOSTS))
    async with walk_many(HOSTS, limits=limits, fetcher=fetcher) as run:
        async for site, _ in run.batches():
            if site == "s9.example":
                break
    assert asyncio.all_tasks() == before
    assert 9 <= len(run.outcomes) < len(HOSTS)
    cut = {each.site: each.reason for each in run.outcomes if not each.status.is_whole}
    assert {cut["s2.example"], *cut.values()} == {"left-early"}


async def test_a_site_may_have_so_many_urls() -> None:
    """`max_urls` cuts each site at its number, and an outcome says that more is there."""
    web = make_site("big.example", 2_500) | make_web("small.example")
    async with walk_many(
        ["big.example", "small.example"],
        fetcher=MemoryFetcher(web),
        limits=Limits(max_urls=URLS),
    ) as run:
        found: Counter[str] = Counter()
        async for site, entries in run.batches():
            found[site] += len(entries)
    assert found == {"big.example": URLS, "small.example": URLS}
    said = {o.site: (str(o.status), o.reason) for o in run.outcomes}
    assert said == {
        "big.example": ("partial", "budget-urls"),
        "small.example": ("complete", ""),
    }


@retried
async def test_a_site_may_take_so_long() -> None:
    """`site_seconds` ends the walk over a site that never answers, and no other."""

    class Slow(MemoryFetcher):
        def open(self, url: str, **_: object) -> Any:
            if "slow.example" in url:
                return Waiting()
            return super().open(url)

    class Waiting:
        async def __aenter__(self) -> None:
            await asyncio.sleep(60)

        async def __aexit__(self, *_: object) -> None: ...

    web = make_web("fine.example")
    async with walk_many(
        ["slow.example", "fine.example"],
        fetcher=Slow(web),
        limits=Limits(site_seconds=0.3),
    ) as run:
        assert sum([len(entries) async for _, entries in run.batches()]) == URLS
    said = {o.site: (str(o.status), o.reason) for o in run.outcomes}
    assert said == {
        "slow.example": ("failed", "budget-seconds"),
        "fine.example": ("complete", ""),
    }


async def test_many_walks_share_a_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file serves thirty walks at once; the next run finds nothing new, then what is."""
    db, web, clock = tmp_path / "all.db", make_web(*HOSTS), SetClock(monkeypatch)
    first, _ = await read(HOSTS, web, state=db, changes=True)
    assert first == dict.fromkeys(HOSTS, URLS)
    again, outcomes = await read(HOSTS, web, state=db, changes=True)
    assert again == {}
    assert {outcome.status for outcome in outcomes.values()} == {SiteStatus.UNCHANGED}
    web |= make_site("s7.example", URLS - 4)
    web["https://s8.example/a.xml"] = urlset(
        ("https://s8.example/0", "2026-01-01"),
        *[f"https://s8.example/{n}" for n in range(2, 20, 2)],
    )
    # unlisted when all is read
    for told in (
        {"s8.example": (0, 1)},
        {"s7.example": (4, 0)},
    ):
        clock.now += DAY
        gone: list[str | None] = []
        async with walk_many(
            HOSTS, state=Changes(db, unlisted=True), fetcher=MemoryFetcher(web)
        ) as run:
            async for _, entries in run.batches():
                gone += [entry.change for entry in entries]
        found = {row.site: (row.unlisted, row.changed) for row in run.outcomes}
        assert {site: row for site, row in found.items() if any(row)} == told
        removed, changed = map(sum, zip(*told.values(), strict=True))
        assert (gone.count(Change.UNLISTED), gone.count(Change.CHANGED)) == (
            removed,
            changed,
        )


async def test_sites_are_strangers_unless_they_are_trusted() -> None:
    """Loopback is refused as a line of a list, and read as a task that is trusted."""
    sites = [
        SiteTask("http://127.0.0.1:9/"),
        SiteTask("http://127.0.0.1:10/", trusted=True),
    ]
    options = FetchOptions(max_attempts=1, connect_seconds=1)
    async with walk_many(sites, options=options, search=Search(probe="never")) as run:
        async for _ in run.batches():
            raise AssertionError("nothing is there")
    reasons = {outcome.site: outcome.reason for outcome in run.outcomes}
    assert reasons["http://127.0.0.1:9/"] == "blocked-port"
    assert reasons["http://127.0.0.1:10/"] == "connect"
    requests = {outcome.site: outcome.requests for outcome in run.outcomes}
    assert requests["http://127.0.0.1:9/"] == 0
    assert requests["http://127.0.0.1:10/"] > 0


@pytest.mark.parametrize(
    ("sites", "arguments", "error"),
    [
        ("https://one.example/", {}, TypeError),
        (b"x", {}, TypeError),
        ([], {"sites_at_once": 0}, ValueError),
        ([], {"max_urls": 0}, ValueError),
        ([], {"site_seconds": 0}, ValueError),
        ([], {"unlisted": True}, TypeError),
        ([], {"changes": True}, TypeError),
        ([], {"probe": "sometimes"}, ValueError),
        ([], {"include": "("}, ValueError),
    ],
)
def test_misuse(
    sites: object, arguments: dict[str, object], error: type[Exception]
) -> None:
    """Arguments that make no sense are refused at the call."""
    with pytest.raises(error):
        walk_many(sites, **grouped(arguments))  # type: ignore[arg-type]


async def test_files_and_rows_of_a_run(tmp_path: Path) -> None:
    """`write` puts all entries and outcomes into files, and the state goes with them."""
    web, db = make_web(*HOSTS[:5]), tmp_path / "all.db"
    for number, rows in enumerate((5 * URLS, 0)):
        output, report = tmp_path / f"{number}.csv", tmp_path / f"{number}.jsonl"
        fetcher = MemoryFetcher(web)
        async with walk_many([*HOSTS[:5], "no site"], state=db, fetcher=fetcher) as run:
            await write_sites(run, output, report=report)
        assert len(output.read_text("utf-8").splitlines()) == rows + 1
        assert len(report.read_text("utf-8").splitlines()) == 6
    with pytest.raises(ValueError, match="must end with"):
        async with walk_many([], fetcher=MemoryFetcher({})) as run:
            await write_sites(run, output, report=tmp_path / "sites.txt")
    with pytest.raises(ValueError, match="named twice"):
        async with walk_many([], fetcher=MemoryFetcher({})) as run:
            await write_sites(run, output, report=tmp_path / "." / output.name)


async def test_a_run_that_is_left_while_it_is_written(tmp_path: Path) -> None:
    """Files of a run that was left early do not look complete, and the state knows nothing new."""
    db, output, report = (
        tmp_path / "all.db",
        tmp_path / "urls.csv",
        tmp_path / "sites.csv",
    )
    is_read = asyncio.Event()

    async def sites() -> AsyncIterator[str]:
        yield HOSTS[0]
        await asyncio.Event().wait()

    async with walk_many(
        sites(),
        state=db,
        fetcher=MemoryFetcher(make_web(HOSTS[0])),
        on_site=lambda _: is_read.set(),
    ) as run:
        writing = asyncio.create_task(write_sites(run, output, report=report))
        await is_read.wait()
    with pytest.raises(ValueError, match="the run is over"):
        await writing
    assert not output.exists()
    assert not report.exists()
    assert State(db).sites() == []


@pytest.mark.skipif(
    sys.platform == "win32", reason="no signal of a thread to itself: not Windows"
)
def test_a_signal_while_a_run_is_written(tmp_path: Path) -> None:
    """Ctrl-C in `write` without `await` leaves no file, also if it does not wake who waits."""

    async def sites() -> AsyncIterator[str]:
        yield HOSTS[0]
        await asyncio.Event().wait()

    fetcher, output = MemoryFetcher(make_web(HOSTS[0])), tmp_path / "urls.csv"
    with (
        pytest.raises(KeyboardInterrupt),
        walk_many_sync(
            sites(),
            fetcher=fetcher,
            on_site=lambda _: signal.pthread_kill(threading.get_ident(), signal.SIGINT),
        ) as run,
    ):
        write_sites_sync(run, output)
    assert list(tmp_path.iterdir()) == []


async def test_documents_and_issues_name_their_site() -> None:
    """What was read and what was dropped is told by the site, as it was given."""
    documents: list[Document] = []
    issues: list[Issue] = []
    hosts = [f"{letter}.example" for letter in "ab"]
    web = {f"https://{host}/sitemap.xml": urlset("mailto:x", "/1") for host in hosts}
    async with walk_many(
        hosts,
        fetcher=MemoryFetcher(web),
        on_document=documents.append,
        on_issue=issues.append,
    ) as run:
        assert [len(entries) async for _, entries in run.batches()] == [1, 1]
    assert {document.site for document in documents} == {*hosts}
    for host in hosts:
        dropped = sum(each.dropped for each in documents if each.site == host)
        mine = [issue for issue in issues if issue.site == host]
        assert dropped == sum(issue.dropped for issue in mine) == 1
        assert len(mine) == 2  # the relative URL, too


async def test_many_names_of_a_slow_domain_hold_up_nobody() -> None:
    """However many hosts of one domain come first, a host of another one is read beside them."""
    others = [f"{letter}.example" for letter in "abc"]
    hosts = [*(f"h{number}.slow.example" for number in range(400)), *others]
    read = asyncio.Event()
    ended = []

    class Slow(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            if "slow.example" in url:
                await read.wait()
            async with super().open(url) as response:
                yield response

    def note(outcome: SiteOutcome) -> None:
        ended.append(outcome.site)
        if set(others) <= set(ended):
            read.set()

    async with asyncio.timeout(60):  # for ever, if the others have to wait
        fetcher = Slow(make_web(*others))
        async with walk_many(
            hosts,
            fetcher=fetcher,
            on_site=note,
            limits=Limits(sites_at_once=2),
            search=Search(probe="never"),
        ) as run:
            async for _ in run.batches():
                pass
    assert set(ended[:3]) == set(others)
    assert len(ended) == len(hosts)


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemapreader._many.places._MAX_WAITING_SITES", 50)
    monkeypatch.setattr("sitemapreader._many.run._MAX_SEEN", 3)


@pytest.mark.usefixtures("small_bounds")
async def test_names_far_behind_may_come_again() -> None:
    """So many names are remembered, and then others: memory has an end, and no site is left out."""
    names = [f"{number}.example" for number in (0, 1, 0, 2, 0, 0, 3, 0, 1, 3)]
    async with walk_many(
        names, fetcher=MemoryFetcher(make_web(*names)), limits=Limits(sites_at_once=1)
    ) as run:
        async for _ in run.batches():
            pass
    assert [each.site for each in run.outcomes] == [
        names[n] for n in (0, 1, 3, 4, 6, 8, 9)
    ]
    assert run.repeated == 3


@pytest.mark.usefixtures("small_bounds")
async def test_an_endless_domain_is_not_read_to_its_end() -> None:
    """The names that wait are bounded: the source is read hardly further than that."""
    pulled, enough = 0, asyncio.Event()

    def name_hosts() -> Iterator[str]:
        nonlocal pulled
        while True:
            pulled += 1
            if pulled == 50:
                enough.set()
            yield f"h{pulled}.slow.example"

    class Stuck(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **_: object) -> AsyncIterator[Any]:
            await asyncio.Event().wait()
            yield url

    async with walk_many(name_hosts(), fetcher=Stuck({})) as run:
        await enough.wait()
        await asyncio.sleep(0.1)
        assert run.outcomes == []
    assert 50 <= pulled <= 52 + TAKEN_AHEAD


# -- who is told, who shares, and what is read


async def test_what_has_a_fetcher_of_its_own(tmp_path: Path) -> None:
    """A folder, a file and a site with a fetcher stand in one list, under their names."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitemap.xml").write_bytes(urlset("https://here.example/1"))
    (tmp_path / "map.xml").write_bytes(urlset("https://there.example/1", "/2"))
    own = SiteTask("one.example", fetcher=MemoryFetcher(make_site("one.example")))
    tasks = [
        find_source(str(tmp_path / "site")),
        find_source(str(tmp_path / "map.xml")),
        own,
    ]
    found: dict[str, set[str]] = {}
    async with walk_many([*tasks, *tasks]) as run:
        async for site, batch in run.batches():
            found.setdefault(site, set()).update(entry.loc for entry in batch)
    assert found == {
        str(tmp_path / "site"): {"https://here.example/1"},
        str(tmp_path / "map.xml"): {"https://there.example/1"},
        "one.example": {f"https://one.example/{number}" for number in range(URLS)},
    }
    assert run.repeated == 3


@pytest.mark.parametrize(
    "body", [index("https://a.example/1.xml", "https://a.example/2.xml"), b""]
)
async def test_a_file_alone_is_not_a_site(tmp_path: Path, body: bytes) -> None:
    """What an index in a file lists is counted and not fetched: the outcome is not complete."""
    file = tmp_path / "map.xml"
    file.write_bytes(body)
    async with walk_many([find_source(str(file))]) as run:
        assert [batch async for batch in run.batches()] == []
    (outcome,) = run.outcomes
    assert outcome.site == str(file)
    assert (outcome.status, outcome.reason) == (
        "failed",
        "not-read" if body else "empty",
    )


async def test_the_login_of_a_site_is_handed_to_the_fetcher() -> None:
    """It is sent, and stands in no name; two tasks of one URL with names of their own are two."""
    trusted: list[str] = []

    class Trusting(MemoryFetcher):
        def trust(self, url: str) -> None:
            trusted.append(url)

    tasks = [
        SiteTask("https://me:secret@one.example/", trusted=True),
        *(SiteTask("https://two.example/", name=name) for name in ("here", "there")),
    ]
    fetcher = Trusting(make_web("one.example", "two.example"))
    async with walk_many(tasks, fetcher=fetcher, limits=Limits(sites_at_once=1)) as run:
        async for _ in run.batches():
            pass
    assert "https://me:secret@one.example/" in trusted
    assert sorted(each.site for each in run.outcomes) == [
        "here",
        "https://one.example/",
        "there",
    ]


async def test_the_time_of_a_run_is_that_of_all_sites() -> None:
    """A site that is begun late has what is left of `max_time`, and one that is too late none."""
    loop, passed = asyncio.get_running_loop(), 0.0
    now = loop.time

    class Slow(MemoryFetcher):
        @asynccontextmanager
        async def open(self, url: str, **how: Any) -> AsyncIterator[Any]:
            nonlocal passed
            if url.endswith("robots.txt"):
                passed += 60
                await asyncio.sleep(0)
            async with super().open(url, **how) as response:
                yield response

    def tell() -> float:
        return now() + passed

    arguments: Any = {"sites_at_once": 1, "max_time": timedelta(seconds=100)}
    with mock.patch.object(loop, "time", tell):
        _, outcomes = await read(
            HOSTS[:3], {}, fetcher=Slow(make_web(*HOSTS[:3])), **arguments
        )
    ends = [(end.status, end.reason) for end in outcomes.values()]
    assert ends == [
        (SiteStatus.COMPLETE, ""),
        (SiteStatus.FAILED, IssueCode.BUDGET_SECONDS),
    ]


ALONE = "https://shop.example"


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("User-agent: *\nDisallow: /", "robots-disallowed"),
        ("User-agent: mybot\nDisallow: /sitemap", "robots-disallowed"),
        ("User-agent: *\nDisallow: /admin/\nDisallow: /sitemap/", "no-sitemap"),
        ("User-agent: other\nDisallow: /", "no-sitemap"),
        ("", "no-sitemap"),
    ],
)
@pytest.mark.parametrize("probe", ["auto", "few"])
async def test_a_site_that_forbids_is_not_one_without_a_sitemap(
    rules: str, reason: str, probe: Any
) -> None:
    """Where robots.txt forbids the likely paths, nobody knows whether there is a sitemap."""
    web = {f"{ALONE}/robots.txt": rules.encode(), f"{ALONE}/": b"<html></html>"}
    if reason == "robots-disallowed":
        web[f"{ALONE}/sitemap.xml"] = urlset(f"{ALONE}/1")
    fetcher = MemoryFetcher(web)
    async with walk_many(
        ["shop.example"],
        fetcher=fetcher,
        search=Search(probe=probe),
        options=FetchOptions(user_agent="mybot/1.0"),
    ) as run:
        assert [batch async for batch in run.batches()] == []
    (outcome,) = run.outcomes
    status = SiteStatus.NONE if reason == "no-sitemap" else SiteStatus.FAILED
    assert (outcome.status, outcome.reason) == (status, reason)
    asked = f"{ALONE}/" in fetcher.requested
    assert asked == ("Disallow: /\n" not in f"{rules}\n" or "other" in rules)


async def test_a_task_of_a_host_names_no_page() -> None:
    """A task that says that its URL is a site says nothing about the start page."""
    web = {f"{ALONE}/robots.txt": b"User-agent: *\nDisallow: /", f"{ALONE}/": b""}
    fetcher = MemoryFetcher(web)
    async with walk_many([SiteTask(ALONE, kind="site")], fetcher=fetcher) as run:
        assert [batch async for batch in run.batches()] == []
    assert fetcher.requested == [f"{ALONE}/robots.txt"]
    assert run.outcomes[0].reason == "robots-disallowed"


async def test_a_url_that_the_caller_names_is_requested() -> None:
    """Who names a host has named no page; who names a URL has."""
    page = f"{ALONE}/shop/"
    web = {
        f"{ALONE}/robots.txt": b"User-agent: *\nDisallow: /",
        page: b'<html><link rel="sitemap" href="/s.xml">',
    }
    fetcher = MemoryFetcher(web)
    async with walk_many([page], fetcher=fetcher) as run:
        assert [batch async for batch in run.batches()] == []
    assert page in fetcher.requested
    assert run.outcomes[0].reason == "robots-disallowed"


@pytest.mark.parametrize("site", ["shop.example", ALONE, f"{ALONE}/"])
async def test_a_start_page_has_a_path(site: str) -> None:
    """However a host is written, its start page is requested as clients write it."""
    web: Pages = {
        f"{ALONE}/": b'<link rel="sitemap" href="/s.xml">',
        f"{ALONE}/s.xml": urlset(f"{ALONE}/1"),
    }
    async with walk_many([site], fetcher=MemoryFetcher(web)) as run:
        locs = [each.loc async for _, batch in run.batches() for each in batch]
    assert locs == [f"{ALONE}/1"]
    assert [(each.site, each.status) for each in run.outcomes] == [(site, "complete")]
