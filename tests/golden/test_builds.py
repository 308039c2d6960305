"""Builds of six generators, written by them and cut to what is judged: no finding is false."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import package
import pytest

from sitemapreader.audit import audit_sync
from sitemapreader.issues import Severity

if TYPE_CHECKING:
    from pathlib import Path

BUILDS = sorted((package.TESTS / "golden" / "builds").glob("*.txt"))
TRUE = {
    # the search has noindex, and the plugin lists it and the error page all the same
    "sphinx-furo": {"page-noindex": ["search.html"], "page-soft-404": ["404.html"]},
    # `Astro.url` has the suffix of the file, and the sitemap has not
    "astro-files": {
        "page-canonical-elsewhere": [
            *("about", "blog/index-1", "blog/index-2", "blog/one", "blog/three", "blog/two"),
            *("de", "de/about"),
        ]
    },
    # the sitemap lists /docs: its canonical has a slash, and it is not in the folder /docs/
    "astro-starlight": {"page-canonical-elsewhere": ["docs"], "out-of-scope": [""]},
    # each language has its sitemap, and nothing names the second one
    "docusaurus-languages": {"sitemap-unnamed": ["de/sitemap.xml"]},
}
"""Build -> its faults, each looked at: code -> paths."""


def unpack(build: Path, folder: Path) -> str:
    """Write the files of a build; return the URL of its folder."""
    head, *files = build.read_text(encoding="utf-8").split("#### ")
    for file in files:
        name, _, text = file.partition("\n")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return head.splitlines()[1]


@pytest.mark.parametrize("build", BUILDS, ids=[build.stem for build in BUILDS])
def test_no_build_is_accused(build: Path, tmp_path: Path) -> None:
    """Above a note there is what is wrong with the build, and nothing else."""
    base = unpack(build, tmp_path)
    with audit_sync(tmp_path, base_url=base) as result:
        found = {
            finding.code: sorted(
                hit.url.partition("//")[2].partition("/")[2] for hit in finding.examples
            )
            for finding in result.findings
            if finding.severity is not Severity.INFO
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
