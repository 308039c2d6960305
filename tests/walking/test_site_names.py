"""What names a site: one spelling of a URL, or a path as people paste it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader import State, walk, walk_many
from sitemapreader.audit import audit_sync
from sitemapreader.fetch.local import MemoryFetcher
from sitemapreader.tables import to_dataframe
from tests.support.commands import run
from tests.support.walking import ROBOTS, SITE, urlset

if TYPE_CHECKING:
    from pathlib import Path

TOP = "https://example.org/top.xml"
PAGES = {ROBOTS: f"Sitemap: {TOP}".encode(), TOP: urlset("https://example.org/a")}
SPELLINGS = [
    "https://example.org",
    "https://example.org./",
    "https://example.org//",
    "https://example.org.:443///",
    "HTTPS://EXAMPLE.org#top",
]


async def test_spellings_of_a_site_are_one_site(tmp_path: Path) -> None:
    """A final dot of the host, slashes alone and a fragment make no site of their own."""
    db = tmp_path / "s.db"
    for number, site in enumerate([SITE, *SPELLINGS]):
        async with walk(site, state=db, fetcher=MemoryFetcher(PAGES)) as entries:
            assert len([entry async for entry in entries]) == (number == 0), site
    assert [each.name for each in State(db).sites()] == [SITE]
    async with walk_many(
        ["example.org.", *SPELLINGS], fetcher=MemoryFetcher(PAGES)
    ) as run:
        assert [(site, len(found)) async for site, found in run.batches()] == [
            ("example.org.", 1)
        ]
    assert run.repeated == len(SPELLINGS)


@pytest.mark.parametrize("host", ["", "localhost"])
def test_a_file_uri_is_a_path(tmp_path: Path, host: str) -> None:
    """A folder or file may be named by the URI that browsers show: in each place for a path."""
    folder = tmp_path / "my site"
    folder.mkdir()
    (folder / "sitemap.xml").write_bytes(PAGES[TOP])
    uri = folder.as_uri().replace("file://", f"file://{host}")
    assert list(to_dataframe(uri)["loc"]) == ["https://example.org/a"]
    with audit_sync(uri) as found:
        assert found.report.entries == 1
    for words in ([uri], [f"{uri}/sitemap.xml"], ["read", f"{uri}/sitemap.xml"]):
        assert run(*words, "-q").stdout == "https://example.org/a\n"
