"""IndexNow: tell search engines which URLs of your site have changed.

```python
done = await submit_changes("https://www.example.org/", state="site.db", key="2f5c...")
print(done.counts, done.report)
```
It is the engine of `sitemapreader submit`. The protocol: https://www.indexnow.org/documentation.
One service passes URLs on to all others. The key lies in a file of your site: `/2f5c....txt`.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import aiohttp
import attrs

from sitemapreader import FetchError, FetchOptions, HttpFetcher, SitemapReaderError, State, walk
from sitemapreader.fetch import read_body
from sitemapreader.urls import origin_of, trim, url_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader import Report, UrlEntry

ENDPOINT = "https://api.indexnow.org/indexnow"
MAX_URLS = 10_000
"""URLs in one request, all of one host."""
WORDS = {
    200: "accepted",
    202: "accepted; the service still checks the key, and drops the URLs if it does not find it",
    400: "check the endpoint and the key",
    403: "let the service fetch the key file: check robots.txt, firewall and bot protection",
    422: "check that the site answers under the host that its sitemaps name",
    429: "wait an hour, and run it again: these URLs come again",
}
"""What a status of the service means, or what to do about it."""
_PUT = "put a file there that holds the key and nothing else, and run it again"
_ORIGIN = re.compile(r"\s*https?://[^/?#]*", re.IGNORECASE)
_URL_CHARACTERS = "!$%&'()*+,/:;=?@"
"""What is submitted as it is listed; other characters are escaped."""
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class IndexNowError(SitemapReaderError):
    """URLs were not accepted; what was accepted before is remembered.

    Attributes:
        host: the host of these URLs.
        status: status of the answer: the service's, or the site's for its key; 0 without one.
        advice: what to do about it.
    """

    def __init__(self, host: str, said: str, status: int = 0, advice: str = "") -> None:
        self.host, self.status = host, status
        self.advice = advice or WORDS.get(status, "run it again later: these URLs come again")
        super().__init__(f"{host}: {said}: {self.advice}")


@attrs.define
class Submission:
    """The URLs of a walk on their way to the service, and what became of them.

    Attributes:
        report: report of the walk; what it could not read was not compared.
        counts: URLs that were submitted, as "new", "changed" and "gone"; "recorded" by the
            first call; "unusable", which cannot be put into a request.
        requests: number of requests by status: 200, or 202 while the key is validated.
    """

    report: Report
    _session: aiohttp.ClientSession
    _fetcher: HttpFetcher
    _endpoint: str
    _key: str
    _dry_run: Callable[[list[str]], object] | None
    counts: Counter[str] = attrs.field(factory=Counter)
    requests: Counter[int] = attrs.field(factory=Counter)
    _waiting: dict[str, list[tuple[str, str]]] = attrs.field(factory=dict)  # by their origins

    def add(self, batch: list[UrlEntry]) -> None:
        """Let URLs wait, escaped, without users and fragments."""
        for entry in batch:
            if origin := origin_of(entry.loc):
                target = _ORIGIN.sub("", entry.loc.partition("#")[0])
                url = f"{origin}{quote(target, safe=_URL_CHARACTERS) or '/'}"
                self._waiting.setdefault(origin, []).append((url, str(entry.change)))
            else:
                self.counts["unusable"] += 1

    def has_room(self, batch: list[UrlEntry]) -> bool:
        """Return whether URLs fit into one request together with those that wait."""
        return sum(map(len, self._waiting.values())) + len(batch) <= MAX_URLS

    async def submit(self) -> None:
        """Submit what waits; raise IndexNowError if it is not accepted."""
        for origin in self._waiting:
            await self.check_key_file(origin)
        for origin in [*self._waiting]:
            await self._post(origin, [url for url, _ in self._waiting[origin]])
            self.counts.update(change for _, change in self._waiting.pop(origin))

    # -- the network

    async def check_key_file(self, origin: str) -> None:
        """Raise IndexNowError if the key file of an origin is not there, or not right."""
        host, place = origin.partition("://")[2], f"{origin}/{self._key}.txt"
        status, said = 0, ""
        try:
            async with self._fetcher.open(place) as response:
                body, status = await read_body(response, 4_096), response.status
        except FetchError as error:
            said = f"cannot be fetched ({f'{error.code} {error.detail}'.rstrip()})"
            status = error.http_status or 0
        else:
            if not origin_of(response.url).endswith(f"//{host}"):
                said = "leads to another host"
            elif trim(body.decode("utf-8", "replace")) != self._key:
                said = "holds something else"
        if said:
            raise IndexNowError(host, f"{place} {said}", status, _PUT)

    async def _post(self, origin: str, urls: list[str]) -> None:
        if self._dry_run is not None:
            self._dry_run(urls)
            return
        host, place = origin.partition("://")[2], f"{origin}/{self._key}.txt"
        body = {"host": host, "key": self._key, "keyLocation": place, "urlList": urls}
        sent = self._session.post(self._endpoint, json=body, allow_redirects=False)
        try:
            async with sent as response:
                self.requests[response.status] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            raise IndexNowError(host, f"no answer ({type(error).__name__})") from error
        if response.status not in (200, 202):
            said = f"the service answered {response.status}"
            raise IndexNowError(host, said, response.status)


async def submit_changes(
    site: str,
    *,
    state: str | Path,
    key: str,
    endpoint: str = ENDPOINT,
    submit_all: bool = False,
    dry_run: Callable[[list[str]], object] | None = None,
    options: FetchOptions = FetchOptions(),  # noqa: B008 (a frozen value)
    **arguments: Any,
) -> Submission:
    """Walk a site with a state, and submit its new, changed and gone URLs.

    The first call only records what there is, because the protocol is for changes.

    Args:
        site: its URL.
        state: the file that remembers the site.
        key: the site's key. Other hosts in its sitemaps need a file with it as well.
        endpoint: URL of the service.
        submit_all: whether the first call submits all URLs.
        dry_run: gets the URLs of each request in place of the service; nothing is remembered.
        options: how the site is fetched.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Raises:
        IndexNowError: the service did not accept URLs, or a host has no file with the key.
        ValueError: the key is none.
        StateError: the state cannot be used.
    """
    if not _KEY.fullmatch(key):
        raise ValueError("that is no key: it has 8 to 128 letters, digits and dashes, nothing else")
    timeout, agent = aiohttp.ClientTimeout(total=60), {"User-Agent": options.user_agent}
    with TemporaryDirectory(prefix="sitemapreader-") as folder:
        path = Path(state) if dry_run is None else _copy_state(Path(state), Path(folder))
        submits = submit_all or _is_known(path, site)
        async with (
            HttpFetcher(options) as fetcher,
            aiohttp.ClientSession(timeout=timeout, headers=agent, proxy=options.proxy) as session,
        ):
            fetcher.trust(site)
            arguments |= {"state": path, "changes": True, "gone": MAX_URLS}
            async with walk(site, fetcher=fetcher, **arguments) as entries:
                done = Submission(entries.report, session, fetcher, endpoint, key, dry_run)
                if submits:
                    await done.check_key_file(origin_of(url_key(site)))
                    await entries.hold_state()
                async for batch in entries.batches():
                    if not submits:
                        done.counts["recorded"] += len(batch)
                        continue
                    if not done.has_room(batch):  # all before it is acknowledged
                        await done.submit()
                        await entries.commit_state(holds=True)
                    done.add(batch)
                if submits:
                    await done.submit()
                    await entries.commit_state()
    return done


def _is_known(path: Path, site: str) -> bool:
    """Return whether a walk over the site has read URLs, or was stopped."""
    known = State(path).sites() if path.exists() else []
    return any(each.name == url_key(site) and (each.urls or not each.finished) for each in known)


def _copy_state(path: Path, folder: Path) -> Path:
    for suffix in ("", "-wal"):
        if (part := path.with_name(path.name + suffix)).exists():
            shutil.copy(part, folder)
    return folder / path.name
