"""The recipe for IndexNow against a service and sites on loopback that behave and misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from aiohttp import web
from commands import run
from launcher import get_launcher, launch, open_run
from serving import listen
from walking import index, urlset

from sitemapreader import FetchOptions, SitemapReaderError, State, StateError
from sitemapreader.recipes import indexnow
from sitemapreader.recipes.indexnow import IndexNowError, SubmissionResult, submit_changes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from launcher import Order, Run

KEY = "0123456789abcdef-KEY"
OPTIONS = FetchOptions(max_attempts=1)
Answer = int | tuple[int, dict[str, str]] | str
"""A status, one with headers, or "cut" (no answer)."""


@attrs.define
class Web:
    """A site and a service on one server: what they serve, and what the service was sent."""

    base: str = ""
    pages: dict[str, bytes | str] = attrs.field(factory=dict)
    statuses: dict[str, int] = attrs.field(factory=dict)
    answers: list[Answer] = attrs.field(factory=list)
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    accepted: list[str] = attrs.field(factory=list)
    on_request: Callable[[str], Awaitable[None]] | None = None
    """Awaited with "asked" and "accepted", before the answer."""

    @property
    def host(self) -> str:
        return self.base.removeprefix("http://")

    def publish(self, *names: str, count: int = 0) -> list[str]:
        """Have the site list URLs, in sitemaps of 5,000; return them."""
        locs = [f"{self.base}/{name}" for name in (*names, *map(str, range(count)))]
        parts = [locs[start : start + 5_000] for start in range(0, len(locs), 5_000)]
        for number, part in enumerate(parts):
            self.pages[f"/{number}.xml"] = urlset(*part)
        self.pages["/sitemap.xml"] = index(
            *(f"{self.base}/{number}.xml" for number in range(len(parts)))
        )
        return locs

    async def submit(self, db: Path, **arguments: Any) -> SubmissionResult:
        arguments = {
            "endpoint": f"{self.base}/indexnow",
            "options": OPTIONS,
            "submit_all": True,
            **arguments,
        }
        return await submit_changes(f"{self.base}/", state=db, key=KEY, **arguments)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        await self._tell("asked")
        if request.method == "POST":
            return await self._serve(request)
        page = self.pages.get(request.path)
        if page is None:
            return web.Response(status=404)
        if isinstance(page, str):
            return web.Response(status=302, headers={"Location": page})
        response = web.Response(body=page, status=self.statuses.get(request.path, 200))
        if request.path.endswith(".txt"):
            response.enable_compression()
        return response

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        assert request.content_type == "application/json"
        sent = json.loads(await request.read())
        self.requests.append(sent)
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, str):
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        status, headers = (answer, {}) if isinstance(answer, int) else answer
        if status in (200, 202):
            self.accepted += sent["urlList"]
            await self._tell("accepted")
        return web.Response(status=status, headers=headers)

    async def _tell(self, what: str) -> None:
        if self.on_request is not None:
            await self.on_request(what)


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


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, where the service does not say when."""
    monkeypatch.setattr(indexnow, "_FIRST_WAIT_SECONDS", 0.0)


# -- what is submitted


async def test_new_changed_and_removed(site: Web, db: Path) -> None:
    """The first call submits everything, the next ones what differs, a calm one nothing."""
    everything = site.publish("a", "b", "c")
    first = await site.submit(db)
    assert (sorted(site.accepted), first.submitted, first.removed) == (everything, 3, 0)
    assert first.report.complete
    site.accepted.clear()
    assert (await site.submit(db)).submitted == 0
    assert site.requests[1:] == []
    site.publish("a", "d")
    third = await site.submit(db)
    assert (third.submitted, third.removed) == (1, 2)
    assert sorted(site.accepted) == [f"{site.base}/{name}" for name in "bcd"]


async def test_a_request_is_what_the_protocol_wants(site: Web, db: Path) -> None:
    """Host, key, its place and URLs that are escaped, without passwords and fragments."""
    odd = [f"{site.base}/ü x?q=ä#top", f"http://me:secret@{site.host}/z", f"{site.base}/%2f"]
    site.pages["/sitemap.xml"] = urlset(*(loc.replace("&", "&amp;") for loc in odd))
    result = await site.submit(db)
    (sent,) = site.requests
    assert (sent["host"], sent["key"]) == (site.host, KEY)
    assert sent["keyLocation"] == f"{site.base}/{KEY}.txt"
    assert all(url.isascii() and " " not in url and "#" not in url for url in sent["urlList"])
    assert "secret" not in json.dumps(sent)
    assert (result.submitted, result.requests) == (3, {200: 1})


async def test_many_urls(site: Web, db: Path) -> None:
    """25,000 URLs all arrive once, in requests of one host and 10,000 URLs at most."""
    locs = site.publish(count=25_000)
    result = await site.submit(db)
    assert result.submitted == 25_000
    assert sorted(site.accepted) == sorted(locs)
    sizes = [len(sent["urlList"]) for sent in site.requests]
    assert max(sizes) <= indexnow.MAX_URLS
    assert len(sizes) == 3


async def test_several_hosts(site: Web, db: Path) -> None:
    """URLs of each host go in requests of their own, once its key file is checked."""
    async with serve() as other:
        port = int(other.base.rpartition(":")[2])
        locs = [f"{base}/{number}" for number in range(4) for base in (site.base, other.base)]
        site.pages["/sitemap.xml"] = urlset(*locs)
        options = attrs.evolve(OPTIONS, allow_ports=(port,))
        await site.submit(db, options=options)
    by_host = {sent["host"]: sent["urlList"] for sent in site.requests}
    assert by_host == {
        each.host: [loc for loc in locs if loc.startswith(each.base)] for each in (site, other)
    }


async def test_arguments_choose_among_the_urls(site: Web, db: Path) -> None:
    """What `exclude` leaves out is not submitted."""
    site.publish("a", "private/b")
    await site.submit(db, exclude="/private/")
    assert site.accepted == [f"{site.base}/a"]


# -- the key


async def no_file(site: Web) -> None:
    del site.pages[f"/{KEY}.txt"]


async def other_key(site: Web) -> None:
    site.pages[f"/{KEY}.txt"] = b"something else"


async def web_page(site: Web) -> None:
    site.pages[f"/{KEY}.txt"] = f"<!doctype html><p>{KEY}</p>".encode()


async def endless(site: Web) -> None:
    site.pages[f"/{KEY}.txt"] = KEY.encode() + b" " * 100_000


async def elsewhere(site: Web) -> None:
    site.pages[f"/{KEY}.txt"] = f"http://localhost:{site.base.rpartition(':')[2]}/k.txt"
    site.pages["/k.txt"] = KEY.encode()


@pytest.mark.parametrize("spoil", [no_file, other_key, web_page, endless, elsewhere])
async def test_a_key_that_is_not_there(site: Web, db: Path, spoil: Callable[..., Any]) -> None:
    """The service is not asked, nothing is remembered as submitted, and the message helps."""
    locs = site.publish("a", "b")
    good = dict(site.pages)
    await spoil(site)
    with pytest.raises(indexnow.KeyFileError, match=rf"/{KEY}\.txt .*put a file there") as raised:
        await site.submit(db)
    assert (raised.value.host, site.requests) == (site.host, [])
    site.pages = good
    await site.submit(db)
    assert sorted(site.accepted) == locs


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_site_that_is_down_has_no_wrong_key(site: Web, db: Path, status: int) -> None:
    """A key file that a server does not give today is asked for again, not blamed."""
    site.publish("a")
    site.statuses[f"/{KEY}.txt"] = status
    with pytest.raises(indexnow.IndexNowError, match="try again later") as raised:
        await site.submit(db, options=attrs.evolve(OPTIONS, max_attempts=1))
    assert not isinstance(raised.value, indexnow.KeyFileError)
    code, _, said = await submit(site, db, "--all", "-m", "1")
    assert (code, "try again later" in said) == (4, True)


async def test_a_host_without_the_key_is_named(site: Web, db: Path) -> None:
    """A second host needs the key as well; what was not accepted comes again."""
    async with serve() as other:
        await no_file(other)
        port = int(other.base.rpartition(":")[2])
        options = attrs.evolve(OPTIONS, allow_ports=(port,))
        site.pages["/sitemap.xml"] = urlset(f"{site.base}/1", f"{other.base}/1")
        with pytest.raises(indexnow.KeyFileError, match="cannot be fetched") as raised:
            await site.submit(db, options=options)
        assert raised.value.host == other.host
        result = await site.submit(db, options=options, include=site.base)
    assert (site.accepted, result.submitted) == ([f"{site.base}/1"], 1)


async def test_a_key_file_in_a_private_network_is_not_fetched(site: Web, db: Path) -> None:
    """A host that only the sitemap names is checked by address, as every document is."""
    site.pages["/sitemap.xml"] = urlset("http://127.0.0.2/x")
    with pytest.raises(indexnow.KeyFileError, match="blocked-address"):
        await site.submit(db)


# -- what the service answers

REFUSALS = {
    400: "check the endpoint and the key",
    403: "let the service fetch the key file: check robots.txt, firewall and bot protection",
    422: "check that the site answers under the host that its sitemaps name",
    **dict.fromkeys((404, 301, 418), "try again later: these URLs come again"),
}


@pytest.mark.parametrize("status", REFUSALS)
async def test_a_refusal_is_typed(site: Web, db: Path, status: int) -> None:
    """It is raised at once with the host, the status and what to do; the URLs come again."""
    locs = site.publish("a", "b")
    site.answers = [(status, {"Location": "http://127.0.0.2/"})]
    said = f"the service answered {status}: {REFUSALS[status]}"
    with pytest.raises(IndexNowError, match=re.escape(said)) as raised:
        await site.submit(db)
    assert raised.value.advice == REFUSALS[status]
    assert isinstance(raised.value, SitemapReaderError)
    assert (raised.value.host, raised.value.status) == (site.host, status)
    assert len(site.requests) == 1
    await site.submit(db)
    assert sorted(site.accepted) == locs


@pytest.mark.parametrize(
    "trouble",
    [
        [429],
        [(429, {"Retry-After": "0"})],
        [(429, {"Retry-After": formatdate(0, usegmt=True)})],
        [(503, {"Retry-After": "soon"}), 500],
        ["cut"],
        ["cut", 502],
    ],
)
async def test_trouble_that_passes(site: Web, db: Path, trouble: list[Answer]) -> None:
    """Too many requests, a failing service and a cut line are tried again, with the same URLs."""
    locs = site.publish("a", "b")
    site.answers = list(trouble)
    result = await site.submit(db)
    assert sorted(site.accepted) == locs
    assert len(site.requests) == len(trouble) + 1
    assert result.submitted == 2


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        ([429] * 3, 429),
        ([(429, {"Retry-After": "86400"})], 429),
        ([500] * 3, 500),
        (["cut"] * 3, 0),
    ],
)
async def test_trouble_that_stays(site: Web, db: Path, trouble: list[Answer], status: int) -> None:
    """It is raised after three tries, or when the wait is too long; nothing is lost."""
    locs = site.publish("a", "b")
    site.answers = list(trouble)
    with pytest.raises(IndexNowError, match="again") as raised:
        await site.submit(db)
    assert raised.value.status == status
    if isinstance(trouble[0], tuple):
        assert raised.value.retry_after_seconds == 86_400
    assert len(site.requests) == len(trouble)
    await site.submit(db)
    assert sorted(site.accepted) == locs


async def test_a_service_that_is_not_there(site: Web, db: Path) -> None:
    """Nobody listens: an error without a status, and the URLs come again."""
    async with serve() as gone:
        pass
    locs = site.publish("a")
    with pytest.raises(IndexNowError, match="no answer"):
        await site.submit(db, endpoint=f"{gone.base}/indexnow")
    await site.submit(db)
    assert site.accepted == locs


async def test_a_key_that_is_still_validated(site: Web, db: Path) -> None:
    """202 is an acceptance, and the result says so."""
    site.publish("a")
    site.answers = [202]
    result = await site.submit(db)
    assert (result.submitted, result.requests) == (1, {202: 1})
    assert (await site.submit(db)).submitted == 0


# -- nothing is lost


@pytest.mark.parametrize("at", [0, 1, 3])
async def test_a_refusal_in_the_middle(
    site: Web, db: Path, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was accepted before a refusal is not sent again, and all arrives."""
    monkeypatch.setattr(indexnow, "MAX_URLS", 700)  # a batch of the walk, and a little more
    locs = site.publish(count=3_000)
    site.answers = [*([200] * at), 422]
    with pytest.raises(IndexNowError, match="422"):
        await site.submit(db)
    assert bool(site.accepted) == bool(at)
    await site.submit(db)
    assert set(site.accepted) == set(locs)
    assert len(site.accepted) == len(locs)


async def test_a_removal_that_was_refused_comes_again(site: Web, db: Path) -> None:
    """URLs that are gone are submitted by the next call if this one fails."""
    site.publish("a", "b")
    await site.submit(db)
    site.publish("a")
    site.answers = [403]
    with pytest.raises(IndexNowError, match="403"):
        await site.submit(db)
    site.accepted.clear()
    await site.submit(db)
    assert site.accepted == [f"{site.base}/b"]
    site.accepted.clear()
    await site.submit(db)
    assert site.accepted == []


SMALL_REQUESTS = """
import sys
from sitemapreader.cli import main
from sitemapreader.recipes import indexnow
indexnow.MAX_URLS = 400
sys.exit(main(sys.argv[1:]))
"""


def order(site: Web, db: Path, words: tuple[str, ...], code: str = "") -> Order:
    """Return what the launcher needs to run `sitemapreader submit`."""
    key = db.with_name("key.txt")
    key.write_text(f"{KEY}\n")
    given = ["submit", f"{site.base}/", "--state", str(db), "--key-file", str(key), *words]
    given += ["--endpoint", f"{site.base}/indexnow"]
    return code, given, str(db.parent), dict(os.environ)


async def submit(site: Web, db: Path, *words: str, code: str = "") -> tuple[int, str, str]:
    """Run it to its end; return its code and what it printed."""
    done = await asyncio.to_thread(launch, get_launcher().start, order(site, db, words, code))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
async def test_the_shell(site: Web, db: Path) -> None:
    """The first run records, `--dry-run` shows, the next one submits, and says how it went."""
    site.publish("a", "b")
    code, printed, said = await submit(site, db)
    assert (code, printed, site.requests) == (0, "", [])
    assert "first run: 2 URLs are recorded, and none is submitted" in said
    site.publish("b", "c")
    code, printed, said = await submit(site, db, "--dry-run")
    assert (code, printed.split()) == (0, [f"{site.base}/c", f"{site.base}/a"])
    assert "would be submitted: 1 new or changed URLs, 1 removed ones" in said
    site.answers = [200, 202]
    code, printed, said = await submit(site, db)
    assert (code, printed, site.accepted) == (0, "", [f"{site.base}/c", f"{site.base}/a"])
    assert "\nsitemapreader: submitted: 1 new or changed URLs, 1 removed ones\n" in said
    assert "1 requests were answered with 202: accepted; the service still checks the key" in said
    assert "submitted: 0 new or changed URLs, 0 removed ones" in (await submit(site, db))[2]


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 403, 422, 429])
async def test_the_shell_says_what_was_answered(site: Web, db: Path, status: int) -> None:
    """A refusal ends the run with 1, its status, and what to do."""
    site.publish("a")
    site.answers = [(status, {"Retry-After": "86400"})]
    code, _, said = await submit(site, db, "--all")
    assert code == 1
    assert f"the service answered {status}: {indexnow._ADVICE[status]}" in said


async def test_all_is_for_a_first_run(site: Web, db: Path) -> None:
    """Who records first and then asks for all is told how to submit all."""
    site.publish("a")
    assert "remove the state and add --all" in (await submit(site, db))[2]
    code, _, said = await submit(site, db, "--all")
    assert (code, site.requests) == (0, [])
    assert f"to submit all URLs, remove {db} and {db}.submitted" in said


async def test_the_shell_without_the_file_on_the_site(site: Web, db: Path) -> None:
    """A key that the site does not serve ends the run with 1, and says what to put where."""
    site.publish("a")
    await no_file(site)
    code, _, said = await submit(site, db, "--all")
    assert code == 1
    assert f"/{KEY}.txt cannot be fetched (http-status 404 Not Found): put a file there" in said


async def test_a_site_that_is_down_records_nothing(site: Web, db: Path) -> None:
    """A first call that reads no URL is not the first: a later one submits not everything."""
    down = await site.submit(db, submit_all=False)
    assert (down.recorded, down.report.complete) == (0, False)
    site.publish("a")
    assert (await site.submit(db, submit_all=False)).recorded == 1
    assert site.requests == []


@pytest.mark.parametrize("fault", ["empty", "missing", "shrunk"])
async def test_a_bad_day_removes_nothing(site: Web, db: Path, fault: str) -> None:
    """A sitemap that is empty, missing or much shorter for a day submits no page as removed."""
    site.publish(count=60)
    await site.submit(db, submit_all=False)
    if fault == "missing":
        del site.pages["/0.xml"]
    else:
        site.pages["/0.xml"] = urlset(*(f"{site.base}/{n}" for n in range(5 * (fault != "empty"))))
    result = await site.submit(db)
    assert (result.removed, result.report.removals_unknown, site.requests) == (0, 1, [])
    site.publish(count=60)
    assert (await site.submit(db)).requests == {}


async def test_a_state_that_was_deleted(site: Web, db: Path) -> None:
    """The next call records, and does not take all URLs for new ones."""
    site.publish("a")
    await site.submit(db)
    await asyncio.to_thread(db.unlink)
    assert (await site.submit(db, submit_all=False)).recorded == 1
    assert len(site.requests) == 1


async def test_a_first_call_that_was_stopped(site: Web, db: Path) -> None:
    """One that submits everything goes on doing so, whatever the next call is asked for."""
    site.publish(*"abc")
    site.answers = [403]
    with pytest.raises(IndexNowError, match="403"):
        await site.submit(db)
    assert (await site.submit(db, submit_all=False)).submitted == 3


async def test_a_url_that_comes_back_and_goes(site: Web, db: Path) -> None:
    """Each removal of one URL is submitted, once."""
    for names, sent in ((("a", "b"), 2), (("a",), 1), (("a", "b"), 1), (("a",), 1), (("a",), 0)):
        site.accepted.clear()
        site.publish(*names)
        await site.submit(db)
        assert len(site.accepted) == sent, names


@attrs.define
class Killer:
    """Kills a process when the servers have met so many events."""

    place: int
    process: Run | None = None
    events: int = 0

    async def note(self, _: str) -> None:
        self.events += 1
        if self.events == self.place and self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            await asyncio.sleep(0.1)  # it is dead before the answer comes


@pytest.mark.slow
async def test_kills(site: Web, tmp_path: Path) -> None:
    """Killed at ten places, then run again: all arrives, and one request at most twice.

    URLs of two hosts have changed, and others are gone, some of them since the run before.
    """
    async with serve() as other:
        words = ("--allow-port", other.base.rpartition(":")[2])
        locs = [f"{base}/{number}" for number in range(700) for base in (site.base, other.base)]
        prepared = tmp_path / "prepared.db"
        for listed in (locs, locs[:1200]):  # the first run records, the second is refused
            site.pages["/sitemap.xml"] = urlset(*((loc, "2026-01-01") for loc in listed))
            site.answers = [403]
            await submit(site, prepared, *words)
        site.pages["/sitemap.xml"] = urlset(*((loc, "2026-01-02") for loc in locs[:1000]))
        site.answers, total = [], 0
        for number in range(11):
            db = tmp_path / f"{number}.db"
            for suffix in ("", ".submitted"):
                shutil.copy(f"{prepared}{suffix}", f"{db}{suffix}")
            site.accepted, site.requests, other.requests = [], [], []
            killer = Killer(1 + (number - 1) * (total - 1) // 9 if number else 0)
            site.on_request = other.on_request = killer.note
            given = order(site, db, words, SMALL_REQUESTS)
            null = subprocess.DEVNULL
            run = open_run(
                get_launcher(), given, stdin=null, stdout=null, stderr=null, encoding=None
            )
            killer.process = run
            code = await asyncio.to_thread(run.wait, 60)
            assert code == (-signal.SIGKILL if number else 0)
            total = total or killer.events
            site.on_request = other.on_request = None
            assert (await submit(site, db, *words, code=SMALL_REQUESTS))[0] == 0
            counts = Counter(site.accepted)
            assert counts.keys() == {*locs}
            twice = {loc for loc, count in counts.items() if count > 1}
            assert max(counts.values()) <= 2
            assert any(twice <= {*sent["urlList"]} for sent in site.requests)
            assert not twice or number
        assert total > 12


# -- arguments


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"key": "short"}, "8 to 128"),
        ({"key": "../../etc/passwd"}, "8 to 128"),
        ({"endpoint": "file:///etc/passwd"}, "http"),
        ({"endpoint": "api.indexnow.org"}, "http"),
        ({"endpoint": "ftp://a.example/"}, "http"),
    ],
)
async def test_what_cannot_be_meant(db: Path, arguments: dict[str, str], said: str) -> None:
    """A key or an endpoint that is none is refused before anything is fetched."""
    given: dict[str, Any] = {"key": KEY, "endpoint": indexnow.ENDPOINT, **arguments}
    with pytest.raises(ValueError, match=said):
        await submit_changes("https://a.example/", state=db, **given)
    with pytest.raises(StateError):
        State(db).sites()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file"),
        ("short", "holds no key: it has 8 to 128 characters"),
        ("<p>0123456789abcdef</p>", "such as 2f5c0a9be1d84c37"),
    ],
)
def test_a_key_file_that_is_none(db: Path, content: str | None, said: str, tmp_path: Path) -> None:
    """It is refused before anything is fetched, with what to write."""
    words = ["--state", str(db), "--key-file", "key.txt", "http://127.0.0.1:9/"]
    if content is not None:
        (tmp_path / "key.txt").write_text(content)
    done = run("submit", *words, cwd=tmp_path)
    assert (done.returncode, db.exists()) == (2, False)
    assert said in done.stderr
