"""IndexNow: tell search engines which URLs of your site have changed.

```python
done = await submit_changes("https://www.example.org/", state="site.db", key="2f5c...")
print(done.counts, done.report)
```
`sitemapreader submit` calls it. The protocol: https://www.indexnow.org/documentation. One service
passes URLs on to all others. Your site serves the key in a file: `/2f5c....txt`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import aiohttp
import attrs
from yarl import URL

from sitemapreader import (
    Changes,
    FetchError,
    FetchOptions,
    SitemapReaderError,
    State,
    walk,
)
from sitemapreader.fetch import HttpFetcher, Proxies, read_body
from sitemapreader.urls import host_of, origin_of, site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sitemapreader import Follow, Limits, Report, Search, UrlEntry, Walk

    Patterns = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]

ENDPOINT = "https://api.indexnow.org/indexnow"
MAX_URLS = 10_000
"""URLs in one request, all of one host."""
WORDS = {
    200: "accepted",
    202: "accepted; the service still checks the key, and drops the URLs if it does not find it",
    400: "check the endpoint and the key",
    403: "let the service fetch the key file: check robots.txt, firewall and bot protection",
    422: "check that the site is served at the host that its sitemaps name",
    429: "wait an hour, then run it again: these URLs are submitted again",
}
"""Meaning of a status of the service, or the advice about it."""
_SERVICE_FAILURES = frozenset({429, *range(500, 600)})
"""Statuses that concern the service: every other host would get the same response."""
_RUN_AGAIN = "run it again later: these URLs are submitted again"
_WRITE_KEY_FILE = "put a file there that contains only the key, then run it again"
_URL_ORIGIN = re.compile(r"\A\s*+https?://[^/?#]*", re.IGNORECASE)
_UNESCAPED = "!$%&'()*+,/:;=?@"
"""Characters that are submitted as listed; others are escaped."""
_KEY_FORM = re.compile(r"[A-Za-z0-9-]{8,128}")


class IndexNowError(SitemapReaderError):
    """URLs of a host were not accepted; they wait for the next run.

    Attributes:
        host: the host of these URLs.
        status: status of the service's response, or of the site's for its key; 0 without one.
        advice: the next step.
        submission: the results for all URLs, also those of other hosts, at the end of a run.
    """

    submission: Submission

    def __init__(
        self,
        host: str,
        problem: str,
        status: int = 0,
        advice: str = "",
    ) -> None:
        self.host = host
        self.status = status
        self.advice = advice or WORDS.get(status, _RUN_AGAIN)
        super().__init__(f"{host}: {problem}: {self.advice}")


class Outbox:
    """URLs that were not accepted, in a folder beside the state: a file for each origin.

    A line of a file is a JSON array of a URL and its change.
    """

    def __init__(self, state: Path) -> None:
        self.folder = state.with_name(f"{state.name}-waiting")

    def list_origins(self) -> list[str]:
        """Return the origins with URLs that wait."""
        files = self.folder.glob("*.jsonl")
        return sorted(unquote(file.stem) for file in files)

    def read(self, origin: str) -> dict[str, str]:
        """Return the waiting URLs, and their last change."""
        changes: dict[str, str] = {}
        text = self._find_file(origin).read_text("utf-8")
        for line in text.splitlines():
            # A line may have been cut; the state still has its URL.
            with suppress(ValueError):
                url, change = json.loads(line)
                changes[url] = change
        return changes

    def append(self, origin: str, changes: Iterable[tuple[str, str]]) -> None:
        """Add waiting URLs; they are on the disk when this returns."""
        self.folder.mkdir(exist_ok=True)
        with self._find_file(origin).open("a", encoding="utf-8") as file:
            file.write("\n")  # the last line may have been cut
            file.write(_write_lines(changes))
            file.flush()
            os.fsync(file.fileno())

    def replace(self, origin: str, changes: dict[str, str]) -> None:
        """Write the URLs that still wait, all at once or not at all."""
        file = self._find_file(origin)
        if not changes:
            file.unlink()
            with suppress(OSError):  # the folder has files of other origins
                self.folder.rmdir()
            return
        part = file.with_suffix(".part")
        part.write_text(_write_lines(changes.items()), "utf-8")
        part.replace(file)

    def _find_file(self, origin: str) -> Path:
        return self.folder / f"{quote(origin, safe='')}.jsonl"


def _write_lines(changes: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{json.dumps(pair)}\n" for pair in changes)


@attrs.define
class Service:
    """The IndexNow service, and the key files that it requires on each host.

    Attributes:
        requests: number of requests by status.
    """

    _session: aiohttp.ClientSession
    _fetcher: HttpFetcher
    _endpoint: str
    _key: str
    _dry_run: Callable[[list[str]], object] | None
    requests: Counter[int] = attrs.field(factory=Counter)
    _checked_origins: set[str] = attrs.field(factory=set)
    """Origins whose key file is correct."""
    _refusal: tuple[str, int] | None = None
    """Refusal of the service for all hosts: it is down, or sets a Retry-After."""

    async def submit(self, origin: str, urls: list[str]) -> None:
        """Submit URLs of an origin; raise IndexNowError if they are not accepted."""
        if origin not in self._checked_origins:
            await self._check_key_file(origin)
            self._checked_origins.add(origin)
        if self._dry_run is None:
            await self._post(origin, urls)
        else:
            self._dry_run(urls)

    async def _check_key_file(self, origin: str) -> None:
        """Raise IndexNowError if an origin does not serve the key file."""
        host = _cut_host(origin)
        key_url = self._find_key_url(origin)
        try:
            async with self._fetcher.open(key_url) as response:
                body = await read_body(response, 4_096)
        except FetchError as error:
            reason = f"{error.code} {error.detail}".rstrip()
            problem = f"cannot be fetched ({reason})"
            status = error.http_status or 0
        else:
            status = response.status
            if not origin_of(response.url).endswith(f"//{host}"):
                problem = "redirects to another host"
            elif body.decode("utf-8-sig", "replace").strip() != self._key:
                problem = "has other content"
            else:
                return
        raise IndexNowError(host, f"{key_url} {problem}", status, _WRITE_KEY_FILE)

    async def _post(self, origin: str, urls: list[str]) -> None:
        host = _cut_host(origin)
        if self._refusal is not None:
            raise IndexNowError(host, *self._refusal)
        body = {
            "host": host,
            "key": self._key,
            "keyLocation": self._find_key_url(origin),
            "urlList": urls,
        }
        request = self._session.post(self._endpoint, json=body, allow_redirects=False)
        try:
            async with request as response:
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            self._refusal = f"no response ({type(error).__name__})", 0
            raise IndexNowError(host, *self._refusal) from error
        self.requests[status] += 1
        problem = f"the service returned {status}"
        if status in _SERVICE_FAILURES:
            self._refusal = problem, status
        if status not in (200, 202):
            raise IndexNowError(host, problem, status)

    def _find_key_url(self, origin: str) -> str:
        return f"{origin}/{self._key}.txt"


def _cut_host(origin: str) -> str:
    return origin.partition("://")[2]


@attrs.define
class Submission:
    """The URLs of a walk on their way to the service, and their results.

    Attributes:
        report: report of the walk; documents that it could not read were not compared.
        counts: URLs that were submitted, as "new", "changed" and "gone"; "recorded" by the
            first call; "unusable", which cannot be put into a request; "foreign", of hosts that
            are not the site's.
        errors: origin -> the reason why its URLs were not accepted.
    """

    report: Report
    _site: str
    _hosts: str
    _service: Service
    _outbox: Outbox
    counts: Counter[str] = attrs.field(factory=Counter)
    errors: dict[str, IndexNowError] = attrs.field(factory=dict)
    _waiting: dict[str, list[tuple[str, str]]] = attrs.field(factory=dict)
    """Origin -> URLs of the next request, and their changes."""
    _is_owned: dict[str, bool] = attrs.field(factory=dict)
    """Origin -> True if it belongs to the site."""

    @property
    def requests(self) -> Counter[int]:
        """Number of requests by status: 200, or 202 while the key is validated."""
        return self._service.requests

    def add(self, batch: list[UrlEntry]) -> None:
        """Add waiting URLs, escaped, without users and fragments."""
        for entry in batch:
            origin = origin_of(entry.loc)
            if not origin:
                self.counts["unusable"] += 1
            elif not self._owns(origin):
                self.counts["foreign"] += 1
            else:
                url = entry.loc.partition("#")[0]
                target = _URL_ORIGIN.sub("", url)
                path = quote(target, safe=_UNESCAPED) or "/"
                changes = self._waiting.setdefault(origin, [])
                changes.append((f"{origin}{path}", str(entry.change)))

    def has_room(self, batch: list[UrlEntry]) -> bool:
        """Return whether URLs fit into one request together with the waiting ones."""
        waiting = sum(map(len, self._waiting.values()))
        return waiting + len(batch) <= MAX_URLS

    async def submit(self) -> None:
        """Submit the waiting URLs; the ones that are not accepted go into the outbox."""
        for origin in [*self._waiting]:
            changes = self._waiting.pop(origin)
            if await self._submit(origin, changes):
                self.counts.update(change for _, change in changes)
            else:
                self._outbox.append(origin, changes)

    async def submit_again(self) -> None:
        """Submit the URLs that earlier runs have left in the outbox."""
        origins = self._outbox.list_origins()
        for origin in filter(self._owns, origins):
            changes = self._outbox.read(origin)
            while changes:
                batch = list(islice(changes.items(), MAX_URLS))
                if not await self._submit(origin, batch):
                    break
                for url, change in batch:
                    self.counts[change] += 1
                    del changes[url]
                self._outbox.replace(origin, changes)

    async def _submit(self, origin: str, changes: Sequence[tuple[str, str]]) -> bool:
        """Return whether URLs of an origin were accepted; do not retry a refused origin."""
        if origin in self.errors:
            return False
        try:
            urls = [url for url, _ in changes]
            await self._service.submit(origin, urls)
        except IndexNowError as error:
            self.errors[origin] = error
            return False
        return True

    def finish(self) -> None:
        """Raise the first IndexNowError, if there is one."""
        for error in self.errors.values():
            error.submission = self
            raise error

    def _owns(self, origin: str) -> bool:
        """Return whether an origin is the site's, by the policy `hosts`.

        SECURITY: the key is a secret until it is sent. A sitemap may list anybody's URLs.
        """
        if origin not in self._is_owned:
            self._is_owned[origin] = self._compare_hosts(host_of(origin))
        return self._is_owned[origin]

    def _compare_hosts(self, host: str) -> bool:
        """Return whether a host belongs to the site, by the policy `hosts`."""
        site_host = host_of(self._site)
        if self._hosts == "any" or host == site_host:
            return True
        return self._hosts == "site" and site_of(host) == site_of(site_host)


async def submit_changes(
    site: str,
    *,
    state: str | Path,
    key: str,
    endpoint: str = ENDPOINT,
    submit_all: bool = False,
    dry_run: Callable[[list[str]], object] | None = None,
    include: Patterns = (),
    exclude: Patterns = (),
    unique: bool = False,
    search: Search | None = None,
    follow: Follow | None = None,
    limits: Limits | None = None,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
) -> Submission:
    """Walk a site with a state, and submit its new, changed and gone URLs.

    The first call only records the URLs, because the protocol is for changes. Hosts are
    independent: if one refuses, its URLs wait beside the state, and the others are submitted.

    Args:
        site: its URL.
        state: the file that remembers the site.
        key: the site's key. Other hosts in its sitemaps need a file with it as well. URLs of
            another site are not submitted, unless `follow` has `hosts="any"`.
        endpoint: URL of the service.
        submit_all: whether the first call submits all URLs.
        dry_run: gets the URLs of each request in place of the service; nothing is remembered.
        include: as in `walk`; and so are the next ones.
        exclude: as in `walk`.
        unique: as in `walk`.
        search: as in `walk`.
        follow: as in `walk`.
        limits: as in `walk`.
        options: how the site is fetched.

    Raises:
        IndexNowError: the service did not accept URLs, or a host has no file with the key; raised
            at the end, when the other hosts are done.
        ValueError: the key has another form.
        StateError: the state cannot be used.
    """
    if not _KEY_FORM.fullmatch(key):
        raise ValueError(
            "the key must have 8 to 128 letters, digits and dashes, and no other characters"
        )
    hosts = "site"
    if follow is not None:
        hosts = follow.hosts
    if hosts == "site":
        # this loads a list, which takes 0.1 s
        await asyncio.to_thread(site_of, host_of(site))
    with TemporaryDirectory(prefix="sitemapreader-") as folder:
        path = Path(state)
        if dry_run is not None:
            path = _copy_state(path, Path(folder))
        is_submitted = submit_all or _has_baseline(path, site)
        session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=60),
            headers={"User-Agent": options.user_agent},
            proxy=Proxies(options.proxy).find(URL(endpoint)),
        )
        async with HttpFetcher(options) as fetcher, session:
            fetcher.trust(site)
            service = Service(session, fetcher, endpoint, key, dry_run)
            walking = walk(
                site,
                state=Changes(path, gone=MAX_URLS),
                include=include,
                exclude=exclude,
                unique=unique,
                search=search,
                follow=follow,
                limits=limits,
                fetcher=fetcher,
            )
            async with walking as entries:
                submission = Submission(
                    entries.report,
                    site,
                    hosts,
                    service,
                    Outbox(path),
                )
                if is_submitted:
                    await _submit_walk(submission, entries)
                else:
                    async for batch in entries.batches():
                        submission.counts["recorded"] += len(batch)
    submission.finish()
    return submission


async def _submit_walk(submission: Submission, entries: Walk) -> None:
    """Submit the URLs of a walk; the state remembers a URL when it is submitted."""
    await submission.submit_again()
    await entries.hold_state()
    async for batch in entries.batches():
        # the walk has acknowledged all earlier batches
        if not submission.has_room(batch):
            await submission.submit()
            await entries.commit_state(holds=True)
        submission.add(batch)
    await submission.submit()
    await entries.commit_state()


def _has_baseline(path: Path, site: str) -> bool:
    """Return whether a walk over the site has read URLs, or was stopped."""
    if not path.exists():
        return False
    name = url_key(site)
    for summary in State(path).sites():
        if summary.name == name:
            return summary.urls > 0 or summary.finished is None
    return False


def _copy_state(path: Path, folder: Path) -> Path:
    """Copy a state and its outbox into a folder; return the path of the copy."""
    for suffix in ("", "-wal"):
        part = path.with_name(path.name + suffix)
        if part.exists():
            shutil.copy(part, folder)
    copy = folder / path.name
    outbox = Outbox(path).folder
    if outbox.exists():
        shutil.copytree(outbox, Outbox(copy).folder)
    return copy
