"""IndexNow: tell search engines which URLs of your site are new, changed or gone.

```python
done = await submit_changes("https://www.example.org/", state="site.db", key="2f5c...")
print(done.submitted, done.removed, done.report)
```
The protocol: https://www.indexnow.org/documentation. One service passes URLs on to all others. The
key, 8 to 128 characters of `a-z A-Z 0-9 -`, lies in a file of your site: `/2f5c....txt`.

Nothing is lost: what the service has not accepted comes again with the next call, and after a kill
at most one request is sent twice.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import attrs
from yarl import URL

from sitemapreader import FetchError, FetchOptions, HttpFetcher, SitemapReaderError, State, walk
from sitemapreader.fetch import read_body

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class IndexNowError(SitemapReaderError):
    """The service has not accepted URLs; all that it accepted before is remembered.

    Attributes:
        host: the host of these URLs.
        status: status of the service's answer; 0 where there was none.
        retry_after_seconds: the wait that the service asks for, if it does.
    """

    advice = "try again later: these URLs come again"

    def __init__(
        self, host: str, said: str, status: int = 0, retry_after_seconds: float | None = None
    ) -> None:
        self.host = host
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        super().__init__(f"{host}: {said}: {self.advice}")


class KeyFileError(IndexNowError):
    """The file with the key is missing or holds something else; nothing was sent."""

    advice = "put a file there that holds the key and nothing else"


class InvalidRequestError(IndexNowError):
    """400: the service cannot read the request."""

    advice = "check the endpoint and the key"


class KeyRejectedError(IndexNowError):
    """403: the service has not found the key, or found another one."""

    advice = "let the service fetch the key file: check robots.txt, firewall and bot protection"


class UrlsRejectedError(IndexNowError):
    """422: URLs of another host, or a key that the protocol does not allow."""

    advice = "check that the site answers under the host that its sitemaps name"


class TooManyRequestsError(IndexNowError):
    """429: too much was submitted."""

    advice = "wait, and submit only what has changed: these URLs come again"


class ServiceError(IndexNowError):
    """The service failed, moved or could not be reached."""


_ACCEPTED = frozenset({200, 202})
_ERRORS: dict[int, type[IndexNowError]] = {
    400: InvalidRequestError,
    403: KeyRejectedError,
    422: UrlsRejectedError,
    429: TooManyRequestsError,
}


@attrs.define
class SubmissionResult:
    """What was submitted.

    Attributes:
        report: report of the walk; what it could not read was not compared.
        submitted: URLs that are new or changed.
        removed: URLs that no sitemap lists any more.
        requests: number of requests by status: 200, or 202 while the key is validated.
        unusable: URLs that cannot be put into a request.
    """

    report: Report
    submitted: int = 0
    removed: int = 0
    requests: Counter[int] = attrs.field(factory=Counter)
    unusable: int = 0


async def submit_changes(
    site: str,
    *,
    state: str | Path,
    key: str,
    endpoint: str = ENDPOINT,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
    **arguments: Any,
) -> SubmissionResult:
    """Walk a site with a state, and submit its new, changed and removed URLs.

    Removed URLs are submitted again when the next call begins, because this call may be stopped
    before they are. The first walk finds everything new: call `walk_sync(site, state=state,
    changes=True)` once before, and read it to its end, if old URLs are not to be submitted.

    Args:
        site: its URL.
        state: the file that remembers what was accepted.
        key: the site's key. Other hosts in its sitemaps need a file with it as well.
        endpoint: URL of the service.
        options: how the site is fetched.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Raises:
        IndexNowError: the service did not accept URLs, or a key file is wrong; see its subclasses.
        ValueError: the key or the endpoint is not valid.
    """
    if not _KEY.fullmatch(key):
        raise ValueError("a key has 8 to 128 characters of a-z, A-Z, 0-9 and -")
    if URL(endpoint).scheme not in ("http", "https") or not URL(endpoint).host:
        raise ValueError(f"the endpoint must be an http(s) URL like {ENDPOINT}, not {endpoint!r}")
    async with (
        HttpFetcher(options) as fetcher,
        aiohttp.ClientSession(
            timeout=_TIMEOUT, headers={"User-Agent": options.user_agent}
        ) as session,
    ):
        entries = walk(site, state=state, changes=True, fetcher=fetcher, **arguments)
        result = SubmissionResult(entries.report)
        service = _Service(session, fetcher, endpoint, key, result)
        fetcher.trust(site)
        await service.check_key_file(URL(site))
        await service.submit(_list_removed(state, site))
        async with entries:
            entries.deliver_through(service)  # the state has a URL once it is accepted
            async for batch in entries.batches():
                await service.add([entry.loc for entry in batch])
            result.submitted = service.accepted
            if result.report.removed:
                result.removed = await service.submit(entries.removed())
    return result


@attrs.define
class _Service:
    """A client of the service, with the URLs that wait for a request."""

    _session: aiohttp.ClientSession
    _fetcher: HttpFetcher
    _endpoint: str
    _key: str
    _result: SubmissionResult
    accepted: int = 0  # URLs
    _key_files: dict[str, str] = attrs.field(factory=dict)
    _waiting: dict[str, list[str]] = attrs.field(factory=dict)  # by their hosts
    _taken: int = 0  # batches of the walk
    _arrived: int = 0

    async def submit(self, locs: Iterator[str]) -> int:
        """Submit URLs now; return how many the service has accepted."""
        before = self.accepted
        while chunk := list(islice(locs, MAX_URLS)):
            await self.add(chunk)
            await self.settle()
        return self.accepted - before

    async def add(self, locs: list[str]) -> None:
        """Add URLs to the waiting ones; first submit these if one request is too small."""
        if sum(map(len, self._waiting.values())) + len(locs) > MAX_URLS:
            await self.settle()
        for loc in locs:
            url = _parse(loc)
            if url is None:
                self._result.unusable += 1
                continue
            host = await self.check_key_file(url)
            self._waiting.setdefault(host, []).append(str(url))

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
        for host in list(self._waiting):
            await self._post(host, self._waiting[host])
            self.accepted += len(self._waiting.pop(host))
        self._arrived = self._taken

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
            raise KeyFileError(host, f"{place} cannot be fetched ({said})") from error
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
                self._endpoint, json=body, allow_redirects=False
            ) as response:
                status, headers = response.status, response.headers
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServiceError(host, f"no answer ({type(error).__name__})") from error
        self._result.requests[status] += 1
        if status not in _ACCEPTED:
            kind = _ERRORS.get(status, ServiceError)
            wait = _read_retry_after(headers.get("Retry-After", ""))
            raise kind(host, f"the service answered {status}", status, wait)


def _list_removed(state: str | Path, site: str) -> Iterator[str]:
    """Return the URLs that the last walk found removed."""
    return State(state).removed(site) if Path(state).exists() else iter(())


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
