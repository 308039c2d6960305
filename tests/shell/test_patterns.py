"""Patterns of URLs: globs are taken as globs, and what may be misread is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sitemapreader import walk_sync
from sitemapreader.fetch import MemoryFetcher
from tests.support.commands import run

if TYPE_CHECKING:
    from pathlib import Path

PATHS = "/blog /blog/ /blog/a /blogger/ /en/blog/b /a.pdf /find?q=blog".split()  # noqa: SIM905 (a line)
SITE = "https://example.org"
SITEMAP = "".join(f"<url><loc>{SITE}{path}</loc></url>" for path in PATHS)

MATCHES = {
    # globs
    "/blog/*": "/blog/ /blog/a",
    "/blog/**": "/blog/ /blog/a",
    "/blog/**/*": "/blog/ /blog/a",
    "/blog*": "/blog /blog/ /blog/a /blogger/",
    "*/blog/*": "/blog/ /blog/a /en/blog/b",
    "blog/*": "/blog/ /blog/a /en/blog/b",
    "*/b": "/en/blog/b",
    "*.pdf": "/a.pdf",
    "*.pdf$": "/a.pdf",
    "*.[a-p]df": "/a.pdf",
    "*": " ".join(PATHS),
    "/*/blog/*": "/en/blog/b",
    "/find?q=*": "/find?q=blog",
    "example.org/blog/*": "/blog/ /blog/a",
    "https://example.org/blog/*": "/blog/ /blog/a",
    "http://example.org/*": "",
    # regular expressions
    "/blog/": "/blog/ /blog/a /en/blog/b",
    "/blog/.*": "/blog/ /blog/a /en/blog/b",
    "/blog(ger)?/": "/blog/ /blog/a /blogger/ /en/blog/b",
    r"\.pdf$": "/a.pdf",
    "^https://example.org/blo+g/*a": "/blog/a",
    "blo*g/a": "/blog/a",
}
"""Pattern -> the paths that it matches."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sitemap.xml"
    path.write_text(f"<urlset>{SITEMAP}</urlset>", "utf-8")
    return path


@pytest.mark.cases(22)
@pytest.mark.parametrize(("pattern", "paths"), MATCHES.items())
def test_patterns(file: Path, pattern: str, paths: str) -> None:
    """Globs are for whole URLs or paths, expressions are searched for; nothing is said."""
    done = run("read", str(file), "--include", pattern)
    assert done.stdout.replace(SITE, "").split() == paths.split()
    assert "expression" not in done.stderr
    left = run("read", str(file), "-q", "--exclude", pattern)
    assert {*left.stdout.replace(SITE, "").split()} == {*PATHS} - {*paths.split()}


def test_patterns_in_python() -> None:
    """They mean the same as in the shell."""
    url = f"{SITE}/s.xml"
    fetcher = MemoryFetcher({url: f"<urlset>{SITEMAP}</urlset>".encode()})
    with walk_sync(sitemaps=[url], fetcher=fetcher, include="/blog/*") as entries:
        assert [entry.loc for entry in entries] == [f"{SITE}/blog/", f"{SITE}/blog/a"]
    with pytest.raises(ValueError, match=r"'\*/blog/\(' is not a glob"):
        walk_sync(SITE, include="*/blog/(")


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    "pattern", ["^https://example.org/blog/*", "/(blog|news)/*", r"\/blog\/*", "/x?/*"]
)
@pytest.mark.parametrize("option", ["--include", "--exclude"])
def test_an_expression_that_ends_as_a_glob(
    file: Path, option: str, pattern: str
) -> None:
    """It is used as it is, and what it means is said."""
    done = run("read", str(file), option, pattern)
    assert f"{option}: {pattern!r} is a regular expression, in which /*" in done.stderr
    assert "write /.* or leave it out" in done.stderr
    assert "expression" not in run("read", str(file), "-q", option, pattern).stderr


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("pattern", "said"),
    {
        "*/blog/(": "'*/blog/(' is not a glob, which cannot have (: leave that out",
        "*.{pdf,jpg}": "is not a glob, which cannot have { }: leave that out, write several",
        "*/a|*/b": "is not a glob, which cannot have |",
        "[": "'[' is not a regular expression (unterminated character set",
        "/(blog/*": "is not a regular expression (missing )",
    }.items(),
)
def test_what_is_no_pattern(file: Path, pattern: str, said: str) -> None:
    """It is refused with what to write."""
    for option in ("--include", "--exclude"):
        done = run("read", str(file), option, pattern)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    "command", ["read sitemap.xml -o", "tree . -o", "audit . -o", "audit . --hits"]
)
@pytest.mark.parametrize("name", ["out/", "folder", "folder/"])
def test_an_output_that_is_a_folder(
    file: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    """No file is made under the name of a folder."""
    monkeypatch.chdir(file.parent)
    (file.parent / "folder").mkdir(exist_ok=True)
    done = run(*command.split(), name)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{name}: that is a folder: name a file, such as" in done.stderr
    assert sorted(path.name for path in file.parent.iterdir()) == ["folder", file.name]
