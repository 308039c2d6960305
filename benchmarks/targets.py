"""The targets, which the commands print beside their measurements.

All but a few are ratios within one run, for the figures themselves depend on the machine. Those
were set from measurements of prototypes; what is possible at best, they know from the bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tables import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Target(NamedTuple):
    """A limit for a figure, or for the ratio of two figures.

    `figure` and `base` are keys of what a command has measured; a ratio is `figure / base`.
    """

    command: str
    figure: str
    base: str = ""
    least: float | None = None
    most: float | None = None


TARGETS = (
    # CPU time of reading from memory: `corpus/contestant`
    Target("read", "urlset.xml/scrapy", "urlset.xml/kept", least=3.1),
    Target("read", "urlset.xml/streaming", "urlset.xml/expat, no handlers", most=2.8),
    Target("read", "urlset.xml/kept", "urlset.xml/expat, tokens only", most=1.45),
    Target("read", "urlset.xml/ET.XMLPullParser", "urlset.xml/kept", least=3.3),
    Target("read", "urlset.xml/ET.fromstring", "urlset.xml/kept", least=3.3),
    Target("read", "urlset.xml/usp", "urlset.xml/kept", least=8.5),
    Target("read", "urlset.xml/crawlee", "urlset.xml/kept", least=4),
    Target("read", "urlset.xml/advertools", "urlset.xml/kept", least=5),
    Target("read", "image.xml/usp", "image.xml/kept", least=7),
    Target("read", "rss-500.xml/feedparser", "rss-500.xml/kept", least=12),
    Target("read", "atom-500.xml/feedparser", "atom-500.xml/kept", least=11),
    # what feeds, odd records and low limits cost: the tree, for one that the pattern reads
    Target("read", "optional.xml/tree", "optional.xml/kept", most=3.2),
    Target("read", "systematic.xml/scrapy", "systematic.xml/kept", least=0.8),
    # with `--against` a checkout of commit 4b79d741
    Target("read", "optional.xml/tree, before", "optional.xml/tree", least=2.4),
    Target("read", "systematic.xml/kept, before", "systematic.xml/kept", least=2.5),
    Target("read", "urlset.xml/kept, before", "urlset.xml/kept", least=0.8),
    Target("read", "text.txt/usp", "text.txt/kept", least=15),
    *(
        Target("read", f"{name}.xml/scrapy", f"{name}.xml/kept", least=least)
        for name, least in (
            ("loc-only", 1.8),
            ("index", 2.5),
            ("image", 1.3),
            ("hreflang", 1),
            ("video", 1.2),
            ("news", 1.4),
            ("image-varied", 1.4),
            ("video-varied", 1.4),
            ("optional", 1.8),
            ("hreflang-varied", 1.1),
            ("comments", 1.6),
            ("unknown", 1.2),
            ("odd", 1.2),
            ("ampersand", 1.4),
        )
    ),
    *(
        Target("read", f"{name}.xml/fastfeedparser", f"{name}.xml/kept", least=least)
        for name, least in (
            ("rss", 0.45),
            ("rss-500", 0.3),
            ("rss-varied-500", 0.3),
            ("atom", 0.45),
            ("atom-500", 0.34),
        )
    ),
    # scrapy's CPU time by ours: sets of documents, `set, which figure/contestant`
    Target("read", "2 records, all/scrapy", least=0.5),
    Target("read", "20 records, all/scrapy", least=1.25),
    Target("read", "real sitemaps, all/scrapy", least=1.9),
    Target("read", "real sitemaps, median file/scrapy", least=0.8),
    Target("read", "real sitemaps, worst large file/scrapy", least=0.8),
    Target("read", "real sitemaps below 1 KB, all/scrapy", least=0.38),
    Target("read", "real sitemaps below 1 KB, median file/scrapy", least=0.45),
    Target("read", "real feeds, all/fastfeedparser", least=0.24),
    # a whole site over HTTP: wall seconds, milliseconds to the first URL, MB at the most, CPU
    Target("walk", "seconds/scrapy", "seconds/batches", least=3.5),
    Target("walk", "seconds/crawlee", "seconds/batches", least=5.5),
    Target("walk", "seconds/usp", "seconds/batches", least=10),
    Target("walk", "seconds/sitemapper", "seconds/batches", least=8),
    Target("walk", "first/crawlee", "first/batches", least=8),
    Target("walk", "first/scrapy", "first/batches", least=40),
    Target("walk", "peak/batches", "peak/scrapy", most=1),
    Target("walk", "peak/batches", "peak/crawlee", most=1),
    Target("walk", "peak/batches", "peak/usp", most=1),
    Target("walk", "peak/batches", "peak/advertools", most=1),
    Target("walk", "peak/batches", "peak of a tenth/batches", most=1.05),
    Target(
        "walk",
        "cpu/bytes in memory: batches",
        "cpu/bytes in memory: SitemapReader",
        most=1.15,
    ),
    Target(
        "walk",
        "cpu/bytes in memory: async for",
        "cpu/bytes in memory: SitemapReader",
        most=1.15,
    ),
    # MB over what the imports take; bytes an entry
    Target("memory", "streaming x1", most=1),
    Target("memory", "streaming x100", most=1),
    Target("memory", "walk x100", "walk x10", most=1.05),
    Target("memory", "bytes a kept entry", most=320),
    # CPU of a site of five documents, one of a hundred poison: `many.py --sites 400 --rounds 5`
    Target("many", "cpu/walk_many", "cpu/bare aiohttp", most=4.5),
    Target("many", "cpu/walk_many", "cpu/a loop over walk", most=1.1),
    # CPU of a walk with `changes` over documents of 10,000 URLs that have one more each
    Target("state", "one URL more each", "the same, no state", most=2.5),
    # milliseconds in which nothing else has its turn
    Target("latency", "worst", most=50),
    Target("latency", "99 of 100", most=10),
    # a million URLs of a folder: wall seconds on two cores, MB over the walk
    Target("audit", "audit/seconds", "walk/seconds", most=2),
    Target("audit", "audit/cpu", "walk/cpu", most=2.3),
    Target("audit", "audit/megabytes over the walk", most=350),
    Target("audit", "report/report_bytes", most=1_500_000),
    Target("audit", "report/report_seconds", most=2),
    # CPU milliseconds of a fresh process
    Target("startup", "import sitemapreader", most=60),
    Target("startup", "--help", most=100),
    Target("startup", "one file", "--help", most=3),
)


class Verdict(NamedTuple):
    """A target, its measurement, and whether it is met; `None` if not measured."""

    target: Target
    measured: float | None
    met: bool | None


def judge(command: str, figures: Mapping[str, float]) -> list[Verdict]:
    """Compare the figures of a command with its targets."""
    return [_judge(target, figures) for target in TARGETS if target.command == command]


def _judge(target: Target, figures: Mapping[str, float]) -> Verdict:
    figure = figures.get(target.figure)
    base = figures.get(target.base) if target.base else 1.0
    if figure is None or not base:
        return Verdict(target, None, None)
    measured = figure / base
    met = (target.least is None or measured >= target.least) and (
        target.most is None or measured <= target.most
    )
    return Verdict(target, measured, met)


def print_verdicts(verdicts: Iterable[Verdict]) -> None:
    """Print target beside measured."""
    words = {True: "met", False: "MISSED", None: "not measured"}
    rows = [
        (
            f"{target.figure} : {target.base}" if target.base else target.figure,
            f">= {target.least:g}"
            if target.least is not None
            else f"<= {target.most:g}",
            measured,
            words[met],
        )
        for target, measured, met in verdicts
    ]
    print_table("Targets", ("what", "target", "measured", ""), rows)


def as_json(verdicts: Iterable[Verdict]) -> list[dict[str, object]]:
    """Give the verdicts as JSON has them."""
    return [
        {**verdict.target._asdict(), "measured": verdict.measured, "met": verdict.met}
        for verdict in verdicts
    ]
