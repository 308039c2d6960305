"""The recipe for crawl4ai, with a stand-in that has the interface of its documentation."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import package
import pages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

PAGE = package.ROOT / "docs" / "checkers.md"


def make_crawl4ai(asked: list[str]) -> ModuleType:
    """Make a module whose crawler notes what it is asked for; one page fails."""

    class AsyncWebCrawler:
        async def __aenter__(self) -> Self:
            return self

        async def __aexit__(self, *_: object) -> None:
            return

        async def arun_many(self, urls: list[str], config: Any = None) -> Any:
            assert isinstance(urls, list)
            assert config.stream
            return self._stream(urls)

        async def _stream(self, urls: list[str]) -> AsyncIterator[Any]:
            for url in urls:
                asked.append(url)
                is_read = not url.endswith("/camera")
                yield SimpleNamespace(url=url, success=is_read, error_message="it is closed")

    module = ModuleType("crawl4ai")
    vars(module).update(AsyncWebCrawler=AsyncWebCrawler, CrawlerRunConfig=SimpleNamespace)
    return module


def test_crawl4ai(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each URL of the site is crawled once, and a page that fails is named."""
    asked: list[str] = []
    monkeypatch.setitem(sys.modules, "crawl4ai", make_crawl4ai(asked))
    monkeypatch.chdir(package.ROOT)
    (block,) = [each for each in pages.blocks(PAGE, "python") if "crawl4ai" in each.code]
    exec(compile(block.code, str(PAGE), "exec"), {})  # noqa: S102 (the page is ours)
    assert len(asked) == len(set(asked)) == 43
    assert block.output == "43 pages; all sitemaps read: True\n"
    assert capsys.readouterr().out.splitlines() == [
        "https://www.example.org/camera it is closed",
        block.output.strip().replace("43", "42"),
    ]
