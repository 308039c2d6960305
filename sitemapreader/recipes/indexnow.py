"""IndexNow: tell search engines which URLs of your site have changed.

```python
done = await submit_changes("https://www.example.org/", state="site.db", key="2f5c...")
print(done.counts, done.report)
```
It is the engine of `sitemapreader submit`. The protocol: https://www.indexnow.org/documentation.
One service passes URLs on to all others. The key lies in a file of your site: `/2f5c....txt`.
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
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import aiohttp
import attrs

from sitemapreader import (
    FetchError,
    FetchOptions,
    HttpFetcher,
    SitemapReaderError,
    State,
    walk,
)
from sitemapreader.fetch import read_body
from sitemapreader.urls import host_of, origin_of, site_of, url_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sitemapreader import Report, UrlEntry

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
_OF_THE_SERVICE = frozenset({429, *range(500, 600)})
"""Statuses that say nothing about a host: another one would get the same answer."""
_PUT = "put a file there that contains only the key, then run it again"
_URL_ORIGIN = re.compile(r"\A\s*+https?://[^/?#]*", re.IGNORECASE)
_UNESCAPED = "!$%&'()*+,/:;=?@"
"""Characters that are submitted as listed; others are escaped."""
_KEY_FORM = re.compile(r"[A-Za-z0-9-]{8,128}")


class IndexNowError(SitemapReaderError):
    """URLs of a host were not accepted; they wait for the next run.

    Attributes:
        host: the host of these URLs.
        status: status of the answer: the service's, or the site's for its key; 0 without one.
        advice: what to do about it.
        submission: what became of all URLs, those of other hosts too, at the end of a run.
    """

    submission: Submission

    def __init__(self, host: str, said: str, status: int = 0, advice: str = "") -> None:
        self.host = host
        self.status = status
        self.advice = advice or WORDS.get(
            status, "run it again later: these URLs are submitted again"
        )
        super().__init__(f"{host}: {said}: {self.advice}")


class Outbox:
    """URLs that were not accepted, in a folder beside the state: a file for each origin.

    A line of a file is a JSON array of a URL and its change.
    """

    def __init__(self, state: Path) -> None:
        self.folder = state.with_name(f"{state.name}-waiting")

    def list_origins(self) -> list[str]:
        """Return the origins with URLs that wait."""
        return sorted(unquote(path.stem) for path in self.folder.glob("*.jsonl"))

    def read(self, origin: str) -> dict[str, str]:
        """Return the waiting URLs, and their last change."""
        found: dict[str, str] = {}
        for line in self._find_file(origin).read_text("utf-8").splitlines():
            # a line that was cut; the state still has its URL
            with suppress(ValueError):
                url, change = json.loads(line)
                found[url] = change
        return found

    def append(self, origin: str, changes: Iterable[tuple[str, str]]) -> None:
        """Let URLs wait; they are on the disk when this returns."""
        self.folder.mkdir(exist_ok=True)
        with self._find_file(origin).open("a", encoding="utf-8") as file:
            file.write("\n")  # behind a line that was cut
            file.writelines(f"{json.dumps(pair)}\n" for pair in changes)
            file.flush()
            os.fsync(file.fileno())

    def replace(self, origin: str, changes: dict[str, str]) -> None:
        """Write the URLs that still wait, all at once or not at all."""
        file = self._find_file(origin)
        if not changes:
            file.unlink()
            with suppress(OSError):  # other origins wait
                self.folder.rmdir()
            return
        part = file.with_suffix(".part")
        part.write_text(
            "".join(f"{json.dumps(pair)}\n" for pair in changes.items()), "utf-8"
        )
        part.replace(file)

    def _find_file(self, origin: str) -> Path:
        return self.folder / f"{quote(origin, safe='')}.jsonl"


@attrs.define
class Submission:
    """The URLs of a walk on their way to the service, and their results.

    Attributes:
        report: report of the walk; what it could not read was not compared.
        counts: URLs that were submitted, as "new", "changed" and "gone"; "recorded" by the
            first call; "unusable", which cannot be put into a request; "foreign", of hosts that
            are not the site's.
        requests: number of requests by status: 200, or 202 while the key is validated.
        errors: origins whose URLs were not accepted, and why.
    """

    report: Report
    _site: str
    _hosts: str
    _session: aiohttp.ClientSession
    _fetcher: HttpFetcher
    _endpoint: str
    _key: str
    _outbox: Outbox
    _dry_run: Callable[[list[str]], object] | None
    counts: Counter[str] = attrs.field(factory=Counter)
    requests: Counter[int] = attrs.field(factory=Counter)
    errors: dict[str, IndexNowError] = attrs.field(factory=dict)
    _waiting: dict[str, list[tuple[str, str]]] = attrs.field(factory=dict)
    """Origin -> URLs of the next request, and their changes."""
    _owned: dict[str, bool] = attrs.field(factory=dict)
    """Origin -> whether it is the site's, as far as seen."""
    _checked: set[str] = attrs.field(factory=set)
    """Origins whose key file is right."""
    _refusal: tuple[str, int] | None = None
    """Refusal of the service for all hosts: it is down, or sets a Retry-After."""

    def add(self, batch: list[UrlEntry]) -> None:
        """Let URLs wait, escaped, without users and fragments."""
        for entry in batch:
            origin = origin_of(entry.loc)
            if not origin:
                self.counts["unusable"] += 1
            elif not self._owns(origin):
                self.counts["foreign"] += 1
            else:
                target = _URL_ORIGIN.sub("", entry.loc.partition("#")[0])
                url = f"{origin}{quote(target, safe=_UNESCAPED) or '/'}"
                self._waiting.setdefault(origin, []).append((url, str(entry.change)))

    def has_room(self, batch: list[UrlEntry]) -> bool:
        """Return whether URLs fit into one request together with the waiting ones."""
        return sum(map(len, self._waiting.values())) + len(batch) <= MAX_URLS

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
        for origin in filter(self._owns, self._outbox.list_origins()):
            changes = self._outbox.read(origin)
            while changes:
                part = [*islice(changes.items(), MAX_URLS)]
                if not await self._submit(origin, part):
                    break
                self.counts.update(change for _, change in part)
                for url, _ in part:
                    del changes[url]
                self._outbox.replace(origin, changes)

    async def _submit(self, origin: str, changes: Sequence[tuple[str, str]]) -> bool:
        """Return whether URLs of an origin were accepted; once it is refused, nothing is sent."""
        try:
            if origin in self.errors:
                return False
            if origin not in self._checked:
                await self._check_key_file(origin)
                self._checked.add(origin)
            await self._post(origin, [url for url, _ in changes])
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
        if origin not in self._owned:
            ours = host_of(self._site)
            host = host_of(origin)
            is_same = ours == host or (
                self._hosts == "site" and site_of(ours) == site_of(host)
            )
            self._owned[origin] = is_same or self._hosts == "any"
        return self._owned[origin]

    # -- the network

    async def _check_key_file(self, origin: str) -> None:
        """Raise IndexNowError if the key file of an origin is not there, or not right."""
        host = origin.partition("://")[2]
        place = f"{origin}/{self._key}.txt"
        status = 0
        said = ""
        try:
            async with self._fetcher.open(place) as response:
                body = await read_body(response, 4_096)
                status = response.status
        except FetchError as error:
            said = f"cannot be fetched ({f'{error.code} {error.detail}'.rstrip()})"
            status = error.http_status or 0
        else:
            if not origin_of(response.url).endswith(f"//{host}"):
                said = "redirects to another host"
            elif body.decode("utf-8-sig", "replace").strip() != self._key:
                said = "has other content"
        if said:
            raise IndexNowError(host, f"{place} {said}", status, _PUT)

    async def _post(self, origin: str, urls: list[str]) -> None:
        if self._dry_run is not None:
            self._dry_run(urls)
            return
        host = origin.partition("://")[2]
        place = f"{origin}/{self._key}.txt"
        if self._refusal is not None:
            raise IndexNowError(host, *self._refusal)
        body = {"host": host, "key": self._key, "keyLocation": place, "urlList": urls}
        sent = self._session.post(self._endpoint, json=body, allow_redirects=False)
        try:
            async with sent as response:
                self.requests[response.status] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            self._refusal = f"no response ({type(error).__name__})", 0
            raise IndexNowError(host, *self._refusal) from error
        status, said = response.status, f"the service returned {response.status}"
        if status in _OF_THE_SERVICE:
            self._refusal = said, status
        if status not in (200, 202):
            raise IndexNowError(host, said, status)


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

    The first call only records what there is, because the protocol is for changes. Hosts are
    independent: URLs of one that refuses wait beside the state, those of the others are submitted.

    Args:
        site: its URL.
        state: the file that remembers the site.
        key: the site's key. Other hosts in its sitemaps need a file with it as well. URLs of
            another site are not submitted, unless `hosts` is "any".
        endpoint: URL of the service.
        submit_all: whether the first call submits all URLs.
        dry_run: gets the URLs of each request in place of the service; nothing is remembered.
        options: how the site is fetched.
        arguments: arguments of `walk` that choose URLs, such as `include` and `exclude`.

    Raises:
        IndexNowError: the service did not accept URLs, or a host has no file with the key; raised
            at the end, when the other hosts are done.
        ValueError: the key is none.
        StateError: the state cannot be used.
    """
    if not _KEY_FORM.fullmatch(key):
        raise ValueError(
            "the key must have 8 to 128 letters, digits and dashes, and no other characters"
        )
    timeout = aiohttp.ClientTimeout(total=60)
    agent = {"User-Agent": options.user_agent}
    hosts = arguments.get("hosts", "site")
    if hosts == "site":
        # loads a list, which takes 0.1 s
        await asyncio.to_thread(site_of, host_of(site))
    with TemporaryDirectory(prefix="sitemapreader-") as folder:
        if dry_run is None:
            path = Path(state)
        else:
            path = _copy_state(Path(state), Path(folder))
        submits = submit_all or _is_accepted(path, site)
        async with (
            HttpFetcher(options) as fetcher,
            aiohttp.ClientSession(
                timeout=timeout, headers=agent, proxy=options.proxy
            ) as session,
        ):
            fetcher.trust(site)
            arguments |= {"state": path, "changes": True, "gone": MAX_URLS}
            async with walk(site, fetcher=fetcher, **arguments) as entries:
                whose = entries.report, site, hosts
                done = Submission(
                    *whose, session, fetcher, endpoint, key, Outbox(path), dry_run
                )
                if submits:
                    await done.submit_again()
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
    done.finish()
    return done


def _is_accepted(path: Path, site: str) -> bool:
    """Return whether a walk over the site has read URLs, or was stopped."""
    known = State(path).sites() if path.exists() else []
    return any(
        each.name == url_key(site) and (each.urls or not each.finished)
        for each in known
    )


def _copy_state(path: Path, folder: Path) -> Path:
    for suffix in ("", "-wal"):
        if (part := path.with_name(path.name + suffix)).exists():
            shutil.copy(part, folder)
    copy = folder / path.name
    if (outbox := Outbox(path).folder).exists():
        shutil.copytree(outbox, Outbox(copy).folder)
    return copy
