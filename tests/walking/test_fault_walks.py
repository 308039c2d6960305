"""Walks over every fault of a server: each has its outcome, and costs nothing that arrived."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from sitemapreader import (
    FetchError,
    FetchOptions,
    Issue,
    IssueCode,
    Limits,
    Severity,
    walk,
)
from sitemapreader.fetch import StoredResponse
from tests.support.faults import ANSWERS, PIECES, ROUTES, FaultServer
from tests.support.grouping import grouped
from tests.support.walking import index, urlset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sitemapreader import Report

PATIENT = FetchOptions(max_attempts=2, retry_wait_seconds=0.01, failures_in_row=1_000)
QUICK = attrs.evolve(
    PATIENT, headers_seconds=0.3, idle_seconds=0.4, slow_grace_seconds=0.8
)
WAITED_FOR = {"stalled", "too-slow", "timeout"}
"""Reasons that come of waiting; a busy machine would give them to other faults as well."""
SMALL = Limits(raw_bytes=1_000_000)
FAULTS = {
    # whole in the end, after a repair, a redirect or another attempt
    "": """chunked until-close early-hints gzipped coding-unknown ok stale
        length-again length-list
        slow versioned continue?times=20 flaky?times=1&with=reset flaky?times=1&with=503 hops/5
        packed?layers=2&coding=gzip packed?layers=0&coding=gzip redirect-with-endless-body""",
    "body-cut": """length-short length-huge chunk-cut chunks-without-end chunk-bad chunk-bad-late
        chunk-end-missing-late chunk-size-huge-late trailer-bad-late reset-mid reset-until-close
        bursts?end=cut bursts?end=reset bursts?end=bad-chunk""",
    "stalled": "half-then-silence headers-then-silence",
    "too-slow": "drip",
    "too-large": "endless",
    "truncated": "length-small length-small-late",
    "compression-truncated": "gzip-cut",
    "empty": "empty",
    "not-a-sitemap": "links chunks-of-one",
    "timeout": "silence headers-drip continue-for-ever",
    "connect": "close reset",
    "bad-http": """length-negative length-twice length-and-chunks garbage http-0.9
        headers-many header-long status-long header-nul continue?times=2000""",
    "http-status": """no-content-with-body upgrade no-location status/000 status/101 status/203
        status/206 status/300 status/304 status/403 status/404 status/429 status/500 status/999""",
    "login-required": "status/401",
    "retry-later": "later?status=503&after=99999",
    "too-many-redirects": "hops/6",
    "redirect-loop": "circle/a",
    "blocked-port": "to?url=http://127.0.0.1:22/",
    "blocked-address": "to?url=http://169.254.169.254/",
    "invalid-url": "to?url=file:///etc/hostname to?url=javascript:alert(1) to?url=http://127.1/",
}
"""Reason of the outcome -> what is asked for."""
REASONS = {path: reason for reason, paths in FAULTS.items() for path in paths.split()}
HALVES = {
    *("length-short", "length-small", "length-small-late"),
    *("chunk-cut", "reset-mid", "reset-until-close", "half-then-silence"),
}
WHOLE = {
    path for path, reason in REASONS.items() if reason in {"", "body-cut"}
} - HALVES
LOCS = [f"http://site.example/{number}" for number in range(200)]


async def read(*urls: str, **arguments: Any) -> tuple[list[str], Report]:
    """Walk over documents; return the URLs that they list, and the report."""
    async with walk(
        sitemaps=urls,
        follow=lambda _: False,
        **grouped({"respect_robots": False, **arguments}),
    ) as entries:
        events = [event async for event in entries.events()]
    listed = [
        event for event in events if not isinstance(event, Issue) and event.sitemap
    ]
    return [event.loc for event in listed], entries.report


async def test_every_fault_has_its_outcome_and_loses_nothing() -> None:
    """The outcome has the code of the fault, with one Issue; what arrived before it is read."""
    assert {path.partition("?")[0].split("/")[0] for path in REASONS} == set(ROUTES)
    assert set(ANSWERS) | set(PIECES) <= REASONS.keys()
    results: dict[str, tuple[list[str], Report]] = {}
    async with FaultServer() as server:
        for options in (PATIENT, QUICK):
            paths = [
                p
                for p, why in REASONS.items()
                if (why in WAITED_FOR) is (options is QUICK)
            ]
            walks = (
                read(server.url(path), options=options, limits=SMALL) for path in paths
            )
            results |= zip(paths, await asyncio.gather(*walks), strict=True)
    for path, (locs, report) in results.items():
        reason = REASONS[path]
        (document,) = report.documents
        errors = {str(i.code) for i in document.issues if i.severity is Severity.ERROR}
        assert document.reason == reason, path
        assert errors == {reason} - {"", "empty"}, path
        if path in WHOLE | HALVES:
            assert locs == LOCS[: 100 if path in HALVES else 200], path


async def test_a_fault_costs_its_siblings_nothing() -> None:
    """Among documents with one of each fault, all sound ones are read whole."""
    bad = [
        paths.split()[0]
        for reason, paths in FAULTS.items()
        if reason not in {"", "too-large"}
    ]
    async with FaultServer() as server:
        paths = [
            path for number, each in enumerate(bad) for path in (f"ok/{number}", each)
        ]
        patient = attrs.evolve(
            PATIENT, max_attempts=1, headers_seconds=2, idle_seconds=2
        )
        options = attrs.evolve(patient, slow_grace_seconds=2)
        _, report = await read(*map(server.url, paths), options=options)
    listed = {each.url: (each.reason, each.listed) for each in report.documents}
    assert len(listed) == len(paths)
    for number, path in enumerate(bad):
        assert listed[server.url(f"ok/{number}")] == ("", 200)
        assert listed[server.url(path)][0] == REASONS[path]


# -- a fault at any place of any format

PAGES = [f"https://site.example/{number}" for number in range(40)]
_FEED = "".join(f"<item><title>One</title><link>{loc}</link></item>\n" for loc in PAGES)
_ATOM = "".join(
    f'<entry><title>One</title><link href="{loc}"/></entry>\n' for loc in PAGES
)
FORMATS = {
    "url": urlset(*PAGES),
    "sitemap": index(*PAGES),
    "item": f'<rss version="2.0"><channel>{_FEED}</channel></rss>'.encode(),
    "entry": f'<feed xmlns="http://www.w3.org/2005/Atom">{_ATOM}</feed>'.encode(),
    "": "".join(f"{loc}\n" for loc in PAGES).encode(),
}
"""Name of a record -> a document of them; lines have none."""


@attrs.frozen
class BrokenFetcher:
    """Serves one body, and fails where it ends."""

    body: bytes

    @asynccontextmanager
    async def open(self, url: str, **_: object) -> AsyncIterator[StoredResponse]:
        """Open it."""
        yield BrokenResponse(url, self.body)


class BrokenResponse(StoredResponse):
    """A response that is cut off."""

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what arrived, and raise FetchError."""
        yield self.body
        raise FetchError(IssueCode.BODY_CUT, self.url, "as the test wants it")


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("record", FORMATS)
async def test_what_is_complete_at_a_cut_is_delivered(
    record: str, *, is_packed: bool
) -> None:
    """Wherever a body is cut: all records whose end arrived, and no other, but for its fields."""
    body = gzip.compress(FORMATS[record], mtime=0) if is_packed else FORMATS[record]
    mark = f"</{record}>".encode() if record else b"\n"
    for at in range(1, len(body), len(body) // 20):
        arrived = body[:at]
        seen = zlib.decompressobj(31).decompress(arrived) if is_packed else arrived
        locs, report = await read(
            "https://site.example/s", fetcher=BrokenFetcher(arrived)
        )
        assert report.documents[0].reason == "body-cut", at
        complete = seen.count(mark)
        # a record that is cut behind its URL is delivered as well
        assert complete <= len(locs) <= complete + bool(record), at
        assert locs == PAGES[: len(locs)], at
