"""Audits of odd sites: pages that change, files of every name, and many of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.audit.page_audits import (
    build,
    finding_of,
    hits,
    judge,
    list_pages,
    page,
    publish,
)
from tests.support.serving import serve_pages
from tests.support.there import known

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # each test audits a site

BASE = "https://example.org/"
NAMES = (
    *(
        "plain",
        "two words",
        "caf\u00e9",
        "cafe\u0301",
        "\u96ea",
        "\U0001f98a",
        "a&b=c;d",
        "x+y",
    ),
    *(
        "100%",
        "%41",
        "what?",
        "no#1",
        "a:b",
        "@",
        "~tilde",
        "'single'",
        '"double"',
        "<b>",
        "-dash",
    ),
    *(
        "back\\slash",
        "line\nbreak",
        "tab\there",
        "\x1b[31mred",
        "\u202eabc",
        "UPPER",
        "a" * 200,
    ),
    *("trailing .", os.fsdecode(b"\xff\xfe")),
)


async def test_names_of_every_kind(tmp_path: Path) -> None:
    """A file of any name is found by its URL, and every format shows what is said of it."""
    texts = {f"{name}.html": page() for name in NAMES}
    texts |= {f"in {name}/index.html": page() for name in NAMES}
    quoted = [quote(os.fsencode(name)) for name in NAMES]
    listed = [
        *(f"{name}.html" for name in quoted),
        *(f"in%20{name}/" for name in quoted),
    ]
    site = build(tmp_path, **texts, **{"sitemap.xml": list_pages(BASE, *listed)})
    with await judge(site, None) as result:
        assert hits(result) == {}
        assert known(result.facts.pages).judged == 2 * len(NAMES)
    build(site, **{"sitemap.xml": list_pages(BASE, "plain.html")})
    with await judge(site, None) as result:
        finding = finding_of(result, "page-unlisted")
        assert finding.count == 2 * len(NAMES) - 1
        for suffix in ("html", "json", "sarif", "md", "xml", "txt"):
            result.write(tmp_path / f"report.{suffix}")


async def test_a_site_of_one_page() -> None:
    """A sample that is larger than the site is the site, and its numbers are exact."""
    async with serve_pages() as server:
        publish(server, "none")
        for pages in (1, 10**12):
            with await judge(server.base, pages) as result:
                assert hits(result) == {"page-not-found": [("none", "404")]}
                assert finding_of(result, "page-not-found").rate is None
                assert known(result.facts.pages).exact
