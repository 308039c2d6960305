"""The order in which sitemaps arrive makes no difference to an audit, nor to its baseline."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import AuditOptions, audit
from sitemapreader.fetch import MemoryFetcher
from tests.support.auditing import HOST, NOW, link, page, urlset
from tests.support.scale import SCALE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from sitemapreader.audit import Audit
    from sitemapreader.fetch import StoredResponse

SITEMAPS = tuple(f"{HOST}/{name}.xml" for name in "abc")
HOSTS = (
    HOST,
    HOST.replace("https", "http"),
    HOST.replace("://", "://www."),
    HOST.upper(),
)
FOLDERS = ("", "a", "A", "a/b", "%61", "ü", "a/./b")
ENDS = ("", "/", "//", "?sid=1", "?utm_source=x", "/?utm_medium=y", "#f")


class OrderedFetcher(MemoryFetcher):
    """A web whose sitemaps are answered one after another, in an order of the test's choice."""

    def __init__(self, pages: Mapping[str, bytes], order: Sequence[str]) -> None:
        super().__init__(pages)
        self._read = {url: asyncio.Event() for url in order}
        self._before = dict(zip(order[1:], order, strict=False))

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StoredResponse]:
        """Wait until the sitemap before this one was read."""
        if url in self._before:
            await self._read[self._before[url]].wait()
        async with super().open(url, headers=headers) as response:
            yield response
        if url in self._read:
            self._read[url].set()


def make_pages(seed: int) -> dict[str, bytes]:
    """Return a site that lists many spellings of few pages, in several sitemaps."""
    choose = random.Random(seed).choice

    def make_url() -> str:
        return f"{choose(HOSTS)}/{choose(FOLDERS)}{choose(ENDS)}"

    def make_record() -> str:
        day = f"2026-10-0{choose(range(1, 4))}"
        links = "".join(
            link(code, make_url()) for code in choose([(), (), ("de", "en"), ("de",)])
        )
        return page(make_url(), day, links)

    robots = "".join(f"Sitemap: {url}\n" for url in SITEMAPS)
    pages = {f"{HOST}/robots.txt": f"{robots}User-agent: *\nDisallow: /a/".encode()}
    for url in SITEMAPS:
        pages[url] = urlset("".join(make_record() for _ in range(30)))
    return pages


async def audit_in_order(
    seed: int, order: Sequence[str], baseline: Path | None
) -> Audit:
    return await audit(
        f"{HOST}/",
        fetcher=OrderedFetcher(make_pages(seed), order),
        figures=AuditOptions(now=NOW, examples=1_000),
        urls=[f"{HOST}/known"],
        baseline=baseline,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SCALE))
async def test_sitemaps_that_arrive_in_another_order(tmp_path: Path, seed: int) -> None:
    """Findings have the same examples, and none is new."""
    baseline = tmp_path / "baseline.json"
    with await audit_in_order(seed, SITEMAPS, None) as first:
        first.write_baseline(baseline)
    with await audit_in_order(seed, SITEMAPS[::-1], baseline) as second:
        assert {each.rule.code: each.new for each in second.findings if each.new} == {}
    assert len(first.findings) > 12
    for one, other in zip(first.findings, second.findings, strict=True):
        assert (one.rule.code, one.count) == (other.rule.code, other.count)
        for name in ("places", "examples"):
            for each in getattr(one, name):
                each.new = type(each.new or getattr(other, name)[0].new)()
            assert getattr(one, name) == getattr(other, name)
