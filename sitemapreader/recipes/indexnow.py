"""IndexNow: tell search engines which URLs of your site are new, changed or gone.

```python
done = await submit_changes("https://www.example.org/", state="site.db", key="2f5c...")
print(done.submitted, done.removed, done.report)
```
It is the engine of `sitemapreader submit`. The protocol: https://www.indexnow.org/documentation.
One service passes URLs on to all others. The key lies in a file of your site: `/2f5c....txt`.

The first call only records what there is, because the protocol asks for changes. Nothing is lost:
what the service has not accepted comes again with the next call. What it has accepted is remembered
beside the state, so that a kill repeats at most one request.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import aiohttp
import attrs
from yarl import URL

from sitemapreader import (
    FetchError,
    FetchOptions,
    HttpFetcher,
    IssueCode,
    SitemapReaderError,
    State,
    walk,
)
from sitemapreader.fetch import read_body
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from sitemapreader import Report

ENDPOINT = "https://api.indexnow.org/indexnow"
MAX_URLS = 10_000
"""URLs in one request, all of one host."""
MAX_TRIES = 3
MAX_WAIT_SECONDS = 300.0
"""Longest pause between two tries; if the service wants more, its error is raised."""
_FIRST_WAIT_SECONDS = 5.0
_TIMEOUT = aiohttp.ClientTimeout(total=60)
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_MAX_KEY_FILE_BYTES = 4_096


_UNREACHED = frozenset(
    {IssueCode.CONNECT, IssueCode.DNS, IssueCode.TIMEOUT, IssueCode.BODY_CUT, IssueCode.STALLED}
)
_ACCEPTED = frozenset({200, 202})
_ADVICE = {
    400: "check the endpoint and the key",
    403: "let the service fetch the key file: check robots.txt, firewall and bot protection",
    422: "check that the site answers under the host that its sitemaps name",
    429: "wait, and submit only what has changed: these URLs come again",
}


class IndexNowError(SitemapReaderError):
    """The service has not accepted URLs; all that it accepted before is remembered.

    Attributes:
        host: the host of these URLs.
        status: status of the service's answer; 0 where there was none.
        advice: what to do about it.
        retry_after_seconds: the wait that the service asks for, if it does.
    """

    def __init__(
        self,
        host: str,
        said: str,
        status: int = 0,
        retry_after_seconds: float | None = None,
        advice: str = "try again later: these URLs come again",
    ) -> None:
        self.host = host
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.advice = _ADVICE.get(status, advice)
        super().__init__(f"{host}: {said}: {self.advice}")


class KeyFileError(IndexNowError):
    """The file with the key is missing or holds something else; nothing was sent."""

    def __init__(self, host: str, said: str) -> None:
        super().__init__(host, said, advice="put a file there that holds the key and nothing else")


@attrs.define
class SubmissionResult:
    """What was submitted.

    Attributes:
        report: report of the walk; what it could not read was not compared.
        recorded: URLs that the first call has recorded, and not submitted.
        submitted: URLs that are new or changed.
        removed: URLs that no sitemap lists any more.
        requests: number of requests by status: 200, or 202 while the key is validated.
        unusable: URLs that cannot be put into a request.
    """

    report: Report
    recorded: int = 0
    submitted: int = 0
    removed: int = 0
    requests: Counter[int] = attrs.field(factory=Counter)
    unusable: int = 0


def read_key(path: str | Path) -> str:
    """Return the key in a file; raise ValueError if it has none, or cannot be read."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_MAX_KEY_FILE_BYTES).decode("utf-8-sig", "replace").strip()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    return _check_key(text, f"{path} holds no key")


def _check_key(key: str, where: str = "that is no key") -> str:
    if not _KEY.fullmatch(key):
        raise ValueError(
            f"{where}: it has 8 to 128 characters of a-z, A-Z, 0-9 and -, and nothing else, such "
            "as 2f5c0a9be1d84c37"
        )
    return key


async def submit_changes(
    site: str,
    *,
    state: str | Path,
    key: str,
    endpoint: str = ENDPOINT,
    submit_all: bool = False,
    preview: Callable[[list[str]], Awaitable[object]] | None = None,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
    **arguments: Any,
) -> SubmissionResult:
    """Walk a site with a state, and submit its new, changed and removed URLs.

    Args:
        site: its URL.
        state: the file that remembers the site; `FILE.submitted` beside it, what was accepted.
        key: the site's key. Other hosts in its sitemaps need a file with it as well.
        endpoint: URL of the service.
        submit_all: whether the first call submits all URLs, and does not only record them.
        preview: awaited with the URLs of each request, in place of the service; then nothing is
            remembered either.
        options: how the site is fetched.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Raises:
        IndexNowError: the service did not accept URLs, or a key file is wrong (KeyFileError).
        ValueError: the key or the endpoint is not valid.
        StateError: the state cannot be used.
    """
    _check_key(key)
    if URL(endpoint).scheme not in ("http", "https") or not URL(endpoint).host:
        raise ValueError(f"the endpoint must be an http(s) URL like {ENDPOINT}, not {endpoint!r}")
    with TemporaryDirectory(prefix="sitemapreader-") as folder:
        path = Path(state) if preview is None else _copy_state(Path(state), Path(folder))
        journal = _Journal(path.with_name(f"{path.name}.submitted"))
        is_known = journal.path.exists() or _is_recorded(path, site)
        is_first = not (path.exists() and is_known)  # a state that was deleted has no changes
        if submit_all or not is_first:
            journal.path.touch()  # if this call is killed, the next one goes on submitting
        async with (
            HttpFetcher(options) as fetcher,
            aiohttp.ClientSession(
                timeout=_TIMEOUT, headers={"User-Agent": options.user_agent}
            ) as session,
        ):
            entries = walk(site, state=path, changes=True, fetcher=fetcher, **arguments)
            result = SubmissionResult(entries.report)
            if is_first and not submit_all:
                async with entries:
                    async for batch in entries.batches():
                        result.recorded += len(batch)
                return result
            service = _Service(
                session, fetcher, endpoint, key, result, journal, preview, options.proxy
            )
            fetcher.trust(site)
            await service.check_key_file(URL(site))
            if path.exists():
                result.removed = await service.submit_removed(State(path).removed(site))
            journal.begin_walk()
            async with entries:
                entries.deliver_through(service)  # the state has a URL once it is accepted
                async for batch in entries.batches():
                    await service.add([(str(entry), entry.loc) for entry in batch])
            result.submitted = service.accepted - result.removed
            result.removed += await service.submit_removed(State(path).removed(site))
            journal.end(State(path).removed(site))
    return result


def _is_recorded(path: Path, site: str) -> bool:
    """Return whether a walk over the site has come to its end, and has read URLs."""
    known = State(path).sites() if path.exists() else []
    return any(each.name == url_key(site) and each.finished and each.urls for each in known)


def _copy_state(path: Path, folder: Path) -> Path:
    """Copy a state, and what lies beside it, into a folder."""
    for suffix in ("", "-wal", ".submitted"):
        if (part := path.with_name(path.name + suffix)).exists():
            shutil.copy(part, folder)
    return folder / path.name


_REMOVED = "removed "


class _Journal:
    """The file that remembers what was accepted: 16 bytes for each URL.

    New and changed URLs are in the state soon after, and forgotten here. Removed ones stay as long
    as the state calls them removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        data = path.read_bytes() if path.exists() else b""
        self._known = {data[at : at + 16] for at in range(0, len(data) - 15, 16)}
        self._walk_begins = 0

    def has(self, name: str) -> bool:
        """Return whether something was accepted before this call."""
        return bool(self._known) and _hash(name) in self._known

    def add(self, names: list[str]) -> None:
        """Remember what was accepted."""
        hashes = list(map(_hash, names))
        if names[0].startswith(_REMOVED):  # a walk that does not come to its end lists them again
            self._known.update(hashes)
        with self.path.open("ab") as file:
            file.write(b"".join(hashes))
            file.flush()
            os.fsync(file.fileno())

    def begin_walk(self) -> None:
        """Record that new and changed URLs follow."""
        size = self.path.stat().st_size
        self._walk_begins = size - size % 16
        self.forget()

    def forget(self) -> None:
        """Forget the URLs of the walk that are in the state by now."""
        os.truncate(self.path, self._walk_begins)

    def end(self, removed: Iterable[str]) -> None:
        """Keep the removed URLs alone."""
        new = self.path.with_name(f"{self.path.name}.new")
        with new.open("wb") as file:
            file.writelines(_hash(_REMOVED + loc) for loc in removed)
        new.replace(self.path)


def _hash(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@attrs.define
class _Service:
    """A client of the service, with the URLs that wait for a request."""

    _session: aiohttp.ClientSession
    _fetcher: HttpFetcher
    _endpoint: str
    _key: str
    _result: SubmissionResult
    _journal: _Journal
    _preview: Callable[[list[str]], Awaitable[object]] | None
    _proxy: str | None
    accepted: int = 0  # URLs
    _key_files: dict[str, str] = attrs.field(factory=dict)
    _waiting: dict[str, list[tuple[str, str]]] = attrs.field(factory=dict)  # by their hosts
    _taken: int = 0  # batches of the walk
    _arrived: int = 0

    async def submit_removed(self, locs: Iterable[str]) -> int:
        """Submit removed URLs now; return how many the service has accepted."""
        before, rest = self.accepted, iter(locs)
        while chunk := list(islice(rest, MAX_URLS)):
            await self.add([(_REMOVED + loc, loc) for loc in chunk])
            await self._post_all()
        return self.accepted - before

    async def add(self, named: list[tuple[str, str]]) -> None:
        """Add URLs to the waiting ones; first submit these if one request is too small.

        The name of each says also what of it was submitted.
        """
        if sum(map(len, self._waiting.values())) + len(named) > MAX_URLS:
            await self.settle()
        for name, loc in named:
            url = _parse(loc)
            if url is None:
                self._result.unusable += 1
            elif not self._journal.has(name):
                host = await self.check_key_file(url)
                self._waiting.setdefault(host, []).append((name, str(url)))

    # -- the delivery of a walk (`Walk.deliver_through`)

    def note(self, taken: int) -> None:
        """Record how many batches of the walk have been taken."""
        self._taken = taken
        if not self._waiting:
            self._arrived = taken

    def arrived(self) -> int:
        """Return how many of them have been accepted."""
        return self._arrived

    async def settle(self) -> None:
        """Submit what waits, host by host."""
        self._journal.forget()
        await self._post_all()
        self._arrived = self._taken

    async def _post_all(self) -> None:
        for host, waiting in list(self._waiting.items()):
            urls = [url for _, url in waiting]
            if self._preview is None:
                await self._post(host, urls)
            else:
                await self._preview(urls)
            self._journal.add([name for name, _ in waiting])
            self.accepted += len(self._waiting.pop(host))

    # -- the network

    async def check_key_file(self, url: URL) -> str:
        """Return the host of a URL once its file has the key; raise KeyFileError."""
        host = url.host_port_subcomponent or ""
        if host in self._key_files:
            return host
        place = str(url.origin().with_path(f"/{self._key}.txt"))
        try:
            async with self._fetcher.open(place) as response:
                text = (await read_body(response, _MAX_KEY_FILE_BYTES)).decode(
                    "utf-8-sig", "replace"
                )
                found_at = URL(response.url).host_port_subcomponent
        except FetchError as error:
            said = f"{error.code} {error.detail}".rstrip()
            said = f"{place} cannot be fetched ({said})"
            status = error.http_status or 0
            if error.code in _UNREACHED or status == 429 or status >= 500:
                raise IndexNowError(host, said) from error
            raise KeyFileError(host, said) from error
        if found_at != host:
            raise KeyFileError(host, f"{place} leads to another host")
        if text.strip() != self._key:
            raise KeyFileError(host, f"{place} holds something else")
        self._key_files[host] = place
        return host

    async def _post(self, host: str, urls: list[str]) -> None:
        """Submit URLs of one host; try again where that can help."""
        wait = _FIRST_WAIT_SECONDS
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                await self._post_once(host, urls)
            except IndexNowError as error:
                pause = wait if error.retry_after_seconds is None else error.retry_after_seconds
                is_passing = error.status in (0, 429) or error.status >= 500
                if not is_passing or not tries_left or pause > MAX_WAIT_SECONDS:
                    raise
                await asyncio.sleep(pause)
                wait *= 2
            else:
                return

    async def _post_once(self, host: str, urls: list[str]) -> None:
        body = {
            "host": host,
            "key": self._key,
            "keyLocation": self._key_files[host],
            "urlList": urls,
        }
        try:
            async with self._session.post(
                self._endpoint, json=body, allow_redirects=False, proxy=self._proxy
            ) as response:
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, TimeoutError) as error:
            raise IndexNowError(host, f"no answer ({type(error).__name__})") from error
        self._result.requests[status] += 1
        if status not in _ACCEPTED:
            wait = _read_retry_after(headers.get("Retry-After", ""))
            raise IndexNowError(host, f"the service answered {status}", status, wait)


def _parse(loc: str) -> URL | None:
    """Return a URL escaped, without user and fragment; `None` if it is unusable."""
    try:
        url = URL(loc).with_user(None).with_fragment(None)
        is_usable = url.scheme in ("http", "https") and bool(url.host_port_subcomponent)
    except ValueError:
        return None
    return url if is_usable else None


def _read_retry_after(text: str) -> float | None:
    """Return the seconds of a Retry-After header, which has a number or a date."""
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
