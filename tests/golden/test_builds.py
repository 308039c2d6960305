"""Builds of six generators, written by them and cut to what is judged: no finding is false."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader.audit import audit_sync
from tests.support.builds import BUILDS, unpack

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

TRUE = {
    # the search has noindex, and the plugin lists it and the error page all the same
    "sphinx-furo": {"page-noindex": ["search.html"], "page-soft-404": ["404.html"]},
    # `Astro.url` has the suffix of the file, and the sitemap has not
    "astro-files": {
        "page-canonical-elsewhere": [
            *(
                "about",
                "blog/index-1",
                "blog/index-2",
                "blog/one",
                "blog/three",
                "blog/two",
            ),
            *("de", "de/about"),
        ]
    },
    # the sitemap lists /docs: its canonical has a slash, and it is not in the folder /docs/; the
    # German start page links to /docs/
    "astro-starlight": {
        "page-canonical-variant": ["docs"],
        "out-of-scope": [""],
        "hreflang-target-not-listed": ["docs/de/"],
    },
    # each language has its sitemap, and nothing names the second one, whose pages the first links
    "docusaurus-languages": {
        "sitemap-unnamed": ["de/sitemap.xml"],
        "hreflang-target-not-listed": [
            *(
                "",
                "about",
                "blog",
                "blog/2026/01/01/p1",
                "blog/2026/02/01/p2",
                "blog/archive",
            ),
            *("blog/tags", "blog/tags/gear", "docs/guide/", "docs/guide/stoves"),
            *("docs/guide/tents", "docs/intro", "docs/tags", "docs/tags/gear"),
        ],
    },
}
"""Build -> its faults, each looked at: code -> paths."""


@pytest.mark.parametrize("build", BUILDS, ids=[build.stem for build in BUILDS])
def test_no_build_is_accused(build: Path, tmp_path: Path) -> None:
    """Above a note there is what is wrong with the build, and nothing else."""
    base = unpack(build, tmp_path)
    with audit_sync(tmp_path, base_url=base) as result:
        found = {
            finding.rule.code: sorted(
                hit.url.partition("//")[2].partition("/")[2] for hit in finding.examples
            )
            for finding in result.findings
            if finding.severity != "info"
        }
        assert found == TRUE.get(build.stem, {})
        tally = result.facts.pages
        assert tally is not None
        assert tally.exact
        assert tally.judged >= 4


def test_each_generator_has_builds() -> None:
    """Ten builds at least, of six generators, so that the table above is not void."""
    assert len(BUILDS) >= 10
    assert {build.stem.split("-")[0] for build in BUILDS} == {
        *("astro", "docusaurus", "eleventy", "mkdocs", "sphinx", "vitepress")
    }
    assert TRUE.keys() <= {build.stem for build in BUILDS}
