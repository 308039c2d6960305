"""`discover` and `tree`: the sitemaps of sites."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.support import package
from tests.support.commands import run, serving

if TYPE_CHECKING:
    from pathlib import Path

SITE = package.ROOT / "testdata" / "site"


def test_discover_prints_sitemaps() -> None:
    """Each sitemap that a site names is a line, and nothing of them is read."""
    done = run("discover", str(SITE), "-v")
    assert done.returncode == 0
    assert done.stdout.split() == [
        "https://www.example.org/sitemap_index.xml",
        "https://www.example.org/shop/sitemap.xml",
    ]
    assert done.stderr.startswith("sitemapreader: 2 sitemaps; documents: ")


@pytest.mark.parametrize("name", ["sitemaps.jsonl", "sitemaps.ndjson"])
def test_discover_in_json(tmp_path: Path, name: str) -> None:
    """Each sitemap is an object that says how it was found, and on which site."""
    assert run("discover", str(SITE), "-o", name, cwd=tmp_path).returncode == 0
    rows = [
        json.loads(line) for line in (tmp_path / name).read_text("utf-8").splitlines()
    ]
    assert [row["via"] for row in rows] == ["robots", "robots"]
    assert {row["sitemap"] for row in rows} == {"https://www.example.org/robots.txt"}
    assert {row["site"] for row in rows} == {"https://www.example.org/"}


def test_tree() -> None:
    """Each document stands below the one that lists it, with counts, sizes and dates."""
    done = run("tree", str(SITE))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == str(SITE)
    drawn = [re.split(r"https://www\.example\.org/", line)[0] for line in lines[1:]]
    assert drawn[:3] == ["└── ", "    ├── ", "    └── "]
    assert drawn[3:] == ["        ├── "] * 4 + ["        └── "]
    birds = next(line for line in lines if "birds" in line)
    assert birds.endswith(
        "sitemap-birds.xml.gz  urlset, complete, 12 URLs, 352 B -> 2.1 KiB, "
        "lastmod 2026-02-28T00:00:00+00:00"
    )
    assert done.stderr == "sitemapreader: 43 URLs; documents: 8 complete\n"


def test_tree_in_ascii() -> None:
    """Where the output has no characters for lines, others stand for them."""
    done = run(
        "tree",
        str(SITE),
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert done.stdout.isascii()
    assert "\n`-- https" in done.stdout
    assert "\n    |-- https" in done.stdout


def test_tree_in_json(tmp_path: Path) -> None:
    """Each source is an object in a line, with the same tree in it."""
    copy, output = shutil.copytree(SITE, tmp_path / "copy"), tmp_path / "tree.json"
    assert run("tree", str(SITE), str(copy), "-o", str(output), "-q").returncode == 0
    first, second = map(json.loads, output.read_text("utf-8").splitlines())
    assert first["source"] == str(SITE)
    (robots,) = first["sitemaps"]
    assert robots["role"] == "robots"
    assert [child["entries"] for child in robots["sitemaps"][1]["sitemaps"]] == [
        5,
        5,
        12,
        6,
        10,
    ]
    assert json.dumps(second).count('"status": "complete"') == 8


@pytest.mark.parametrize("pages", [{"/": b"<!doctype html>"}, {}])
def test_the_tree_of_a_site_without_sitemaps_is_short(pages: dict[str, object]) -> None:
    """Paths that were only guessed are counted in one line."""
    with serving(pages) as (url,):
        done = run("tree", url, "-q")
    lines = done.stdout.splitlines()
    assert lines[0] == url
    assert re.fullmatch(r"└── \d+ well-known paths tried, and no sitemap", lines[-1])
    assert len(lines) == 4
    assert any(
        "robots.txt  robots, skipped (http-status 404)" in line for line in lines
    )
