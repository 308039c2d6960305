"""The benchmarks: each command runs, on little, and measures what it says."""

from __future__ import annotations

import json
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import pytest

from tests.support import package
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARKS = package.ROOT / "benchmarks"
sys.path.append(str(BENCHMARKS))

import generator_sites  # noqa: E402 (it is found only now)
import generators  # noqa: E402 (the same)
import startup  # noqa: E402 (the same)
import targets  # noqa: E402 (the same)
import walk  # noqa: E402 (the same)
from corpora import CORPORA  # noqa: E402 (the same)
from parts import make_urlset  # noqa: E402 (the same)

from sitemapreader import IssueCode, SitemapReader  # noqa: E402 (the same)
from sitemapreader.audit.rules import load_rules  # noqa: E402 (the same)


class Run(Protocol):
    """Takes the command's name, its arguments, and tables by their names."""

    def __call__(
        self, command: str, *arguments: str, **less: Any
    ) -> dict[str, Any]: ...


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, with less in its tables; return the JSON that it wrote."""

    def run(command: str, *arguments: str, **less: Any) -> dict[str, Any]:
        path, module = tmp_path / "figures.json", import_module(command)
        monkeypatch.setattr(sys, "argv", [command, *arguments, "--json", str(path)])
        for name, table in less.items():
            monkeypatch.setattr(module, name, table)
        module.main()
        figures: dict[str, Any] = json.loads(path.read_text())
        return figures

    return run


def test_reading(run: Run) -> None:
    """Every library has its row: with figures, or with why there are none."""
    corpora = {"urlset.xml": lambda: make_urlset(200, 1)}
    figures = run(
        "read", "--corpus", "urlset.xml", "--rounds", "1", CORPORA=CORPORA | corpora
    )
    rows = {row["library"]: row for row in figures["results"]}
    assert {"kept", "streaming", "scrapy", "usp", "ET.fromstring"} <= rows.keys()
    for row in rows.values():
        assert (row["median"] is None) == (row["fault"] == "not installed"), row
    assert rows["kept"]["median"] > 0


def test_a_walk(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our clients find every URL of a site; one that finds fewer is shown as wrong, not as fast."""
    figures = run(
        *(
            "walk",
            "--children",
            "3",
            "--urls",
            "40",
            "--rounds",
            "1",
            "--only",
            "batches",
        )
    )
    counts = {(row["children"], row["walks"][0]["urls"]) for row in figures["results"]}
    assert counts == {(1, 40), (3, 120)}
    walked = walk.Walked(5, *[1.0] * 4)
    monkeypatch.setattr(walk, "run_client", lambda *_: (walked, ""))
    (result,) = walk.run_rounds("", ["batches"], 6, rounds=2)
    assert result.fault == "wrong: 5 of 6 URLs"


def test_starts(run: Run) -> None:
    """Processes are started with nothing to do and with one file; what others import is there."""
    for option, code, *_ in startup.COMMANDS.values():
        if option == "-c":
            exec(code)  # noqa: S102 (an import; as a process it takes longer)
    some = {name: startup.COMMANDS[name] for name in ("python -c pass", "one file")}
    figures = run("startup", "--rounds", "1", COMMANDS=some)
    assert figures["milliseconds"].keys() == some.keys()


@pytest.mark.parametrize(
    ("command", "options", "less"),
    [
        ("memory", ["--records", "200"], {"SIZES": (2,)}),
        ("latency", ["--corpus", "news.xml", "rss-500.xml"], {}),
        ("audit", ["--urls", "100", "--rounds", "1"], {}),
    ],
)
def test_other_commands(
    command: str, options: list[str], less: dict[str, Any], run: Run
) -> None:
    """A command runs to its end, and writes figures."""
    assert len(run(command, *options, **less)) > 0


def test_odd_documents_are_read_as_they_are_meant(run: Run) -> None:
    """Over HTTP, ours reads all of them right but the two whose DOCTYPE it refuses."""
    figures = run("odd", "--only", "sitemapreader", "usp")
    ours = [row for row in figures["results"] if row["library"] == "sitemapreader"]
    refused = [row for row in ours if row["found"] < row["meant"] or row["invented"]]
    assert {row["about"] for row in refused} == {"DOCTYPE with a subset"}
    assert len(refused) == 2
    assert len(ours) >= 54


@pytest.mark.parametrize(
    "name", ["optional.xml", "comments.xml", "unknown.xml", "odd.xml"]
)
def test_varied_corpora_have_the_records_they_claim(name: str) -> None:
    """Our reader finds as many records as a corpus says it has, however odd they are."""
    corpus = CORPORA[name]()
    reader = SitemapReader("https://www.example.com/s.xml")
    reader.feed(corpus.data)
    reader.close()
    assert (reader.stats.delivered, reader.stats.dropped) == (corpus.records, 0)


def test_each_target_has_one_bound_and_a_command() -> None:
    """The table says at least or at most, never both, and names commands that exist."""
    for target in targets.TARGETS:
        assert (target.least is None) != (target.most is None), target
        assert (BENCHMARKS / f"{target.command}.py").exists(), target


# -- publishing software, without any


COPIED = generator_sites.Generator(
    name="copy",
    title="cp",
    registry="none",
    packages=["cp==1"],
    build=["cp -r pages out"],
    output="out",
    base="https://coast.example.org/handbook/",
    pages=["", "tides"],
    files={
        "pages/index.html": "<!doctype html><title>Coast</title><body><p>A handbook.",
        "pages/tides.html": "<!doctype html><title>Tides</title><body><p>Twice a day.",
        "pages/sitemap.txt": "https://coast.example.org/handbook/\n"
        "https://coast.example.org/handbook/tides\n",
        "pages/sitemap.xml": urlset(
            "https://coast.example.org/handbook/",
            "https://coast.example.org/handbook/tides",
        ).decode(),
    },
    later={
        "pages/tides.html": "",
        "pages/herons.html": "<!doctype html><title>Herons</title><body><p>They wait.",
        "pages/sitemap.xml": urlset(
            ("https://coast.example.org/handbook/", "2026-06-01"),
            "https://coast.example.org/handbook/herons",
        ).decode(),
    },
    added=["herons"],
    changed=[""],
    removed=["tides"],
)
RECIPE = {
    "heading": "cp",
    "kind": "python",
    "build": "cp -r pages out",
}
MISTAKE = {
    "finds": "page-missing",
    "means": "the base is missing",
    "file": "pages/sitemap.xml",
    "right": "/handbook/tides",
    "wrong": "/tides",
}


def make_recipe(**changes: str) -> dict[str, Any]:
    """Return a recipe with the mistake, or with a changed one."""
    return {"recipe": RECIPE | {"mistakes": [MISTAKE | changes]}}


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"pages": frozenset({"", "tides", "geese"})}, {"found"}),
        ({"changed": frozenset()}, {"changes"}),
        (
            {"files": {**COPIED.files, "pages/geese.html": "<title>Geese</title>"}},
            {"folder"},
        ),
        (
            {"build": ("rm -r pages/tides.html", "cp -r pages out")},
            {"folder", "server"},
        ),
        (make_recipe(), set()),
        (make_recipe(wrong="/handbook/tides"), {"recipe"}),
        (make_recipe(finds="page-noindex"), {"recipe"}),
        ({"build": ("false",)}, None),
    ],
)
def test_checks_of_generators(
    changes: dict[str, Any],
    wrong: set[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A correct site is right by each check, and a fault is seen by the check that it concerns."""

    def install(
        generator: generator_sites.Generator, cache: Path
    ) -> generator_sites.Workshop:
        site = cache / generator.name
        site.mkdir()
        return generator_sites.Workshop(site, (), os.defpath)

    monkeypatch.setattr(generators, "install", install)
    result = generators.check(attrs.evolve(COPIED, **changes), tmp_path)
    if wrong is None:
        assert result.faults[0].startswith("not built: ")
        assert result.checks == {}
        return
    assert {check for check, is_right in result.checks.items() if not is_right} >= wrong
    assert (result.faults == []) == (not wrong)


def test_the_table_of_generators_is_consistent() -> None:
    """Each site removes a page that it has, adds one that it has not, and names versions.

    A mistake of its recipe is made at one place, and a rule finds it.
    """
    codes = {rule.code for rule, _ in load_rules()} | {*map(str, IssueCode)}
    for generator in generator_sites.load_generators().values():
        assert generator.removed < generator.pages
        assert generator.added
        assert not generator.added & generator.pages
        assert generator.changed < generator.pages - generator.removed
        for mistake in generator.recipe.mistakes if generator.recipe else ():
            assert generator.files[mistake.file].count(mistake.right) == 1
            assert mistake.finds in codes
        assert all(re.search(r"[@=]\d", package) for package in generator.packages)
