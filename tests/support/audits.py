"""Audits made by hand: findings and facts of a shop, without a walk."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import attrs

from sitemapreader.audit import AuditRule, Example, Finding, NotRun, Place, Row
from sitemapreader.audit.models import Category, make_plain
from sitemapreader.audit.report.texts import format_audit
from sitemapreader.issues import Severity

NOW = datetime(2026, 11, 22, 4, 30, tzinfo=UTC)
SITE = "https://www.shop.example"
_TITLES = (
    ("missing-sitemap", "Sitemaps could not be read", "sitemaps", Category.READING, 3),
    ("scheme-http", "http URLs on an https site", "URLs", Category.HOSTS, 3),
    ("news-too-old", "Old articles in a news sitemap", "articles", Category.MEDIA, 3),
    ("robots-blocked-url", "URLs that robots.txt disallows", "URLs", Category.ROBOTS, 3),
    ("hreflang-no-return-link", "Languages that do not link back", "URLs", Category.HREFLANG, 3),
    ("lastmod-future", "lastmod lies in the future", "URLs", Category.FRESHNESS, 3),
    ("lastmod-all-equal", "One lastmod for all URLs", "sitemaps", Category.FRESHNESS, 2),
    ("duplicate-across-sitemaps", "URL in several sitemaps", "URLs", Category.DUPLICATES, 2),
    ("url-tracking-parameter", "URLs with tracking parameters", "URLs", Category.URLS, 2),
    ("host-other", "URLs of another host", "hosts", Category.HOSTS, 2),
    ("url-uppercase", "Upper case in the path", "URLs", Category.URLS, 1),
    ("response-no-validator", "No ETag, no Last-Modified", "sitemaps", Category.RESPONSE, 1),
)
"""Code, title, unit, category and severity of the rules that hit."""
_FOLDERS = {
    "/products/": ("boots", "jackets", "stoves", "tents", "maps", "lamps", "ropes"),
    "/blog/": ("2024", "2025", "2026"),
    "/guides/": (),
    "/stores/": (),
    "/en/": ("help", "legal"),
    "/": (),
}


def make_rule(code: str = "url-fragment", **changes: Any) -> AuditRule:
    """Make a rule; all but its code has a default."""
    rule = AuditRule(
        code=code,
        category=Category.URLS,
        severity=Severity.WARNING,
        title=f"What {code} finds",
        unit="URLs",
        detects="the condition, with its threshold of 20",
        meaning="Search engines drop what comes after the mark, so the URL is listed twice.",
        advice="List the URL without it.",
        sources=("https://www.sitemaps.org/protocol.html",),
    )
    return attrs.evolve(rule, **changes)


def make_finding(code: str = "url-fragment", count: int = 3, **changes: Any) -> Finding:
    """Make a finding with three examples in one sitemap."""
    document = f"{SITE}/sitemap-0.xml"
    rule = make_rule(code)
    finding = Finding(
        rule=rule,
        severity=rule.severity,
        count=count,
        places=(Place(document, count),),
        places_total=1,
        examples=tuple(Example(f"{SITE}/p/{n}#x", "x", document) for n in range(min(count, 3))),
    )
    return attrs.evolve(finding, **changes)


_COUNTS = (
    *("seconds", "urls", "distinct", "dated", "images", "videos", "news", "alternates"),
    *("sitemaps", "sitemaps_not_read", "sections_others", "hosts_others", "languages_others"),
    "documents_total",
)
_LISTS = (
    *("months", "sections", "hosts", "languages", "documents", "passed", "not_run"),
    "old_folders",
)
_NOTHING = ("pages", "old_pages", "known_urls", "compared_pages", "baseline")


def make_facts(**changes: Any) -> Row:
    """Make the facts of a site without URLs."""
    facts = Row(source=SITE, begun=NOW, version="1.0", complete=True, statuses={}, files={})
    facts |= {"old_complete": True, **dict.fromkeys(_COUNTS, 0), **dict.fromkeys(_NOTHING)}
    return Row({**facts, **{name: [] for name in _LISTS}, **changes})


def render(name: str, findings: Any, facts: Row, *args: Any, **more: Any) -> str:
    """Return an audit in a format, made of its JSON."""
    return format_audit(name, describe(findings, facts), *args, **more)


def describe(findings: Any, facts: Row) -> Row:
    """Return the JSON of an audit."""
    return Row(schema=1, findings=make_plain(findings), facts=make_plain(facts))


def make_document(url: str, parent: str = "", **more: Any) -> Row:
    """Make a document of the facts."""
    counts = ("urls", "children", "bytes_raw", "bytes_inflated", "dated", "findings", "depth")
    texts = {"role": "sitemap", "format": "", "status": "complete", "reason": ""}
    nothing = dict.fromkeys(("http_status", "newest", "lastmod"))
    return Row(
        {"url": url, "parent": parent, **texts, **nothing, **dict.fromkeys(counts, 0), **more}
    )


def make_month(month: str, urls: int, alike: int = 0, future: int = 0) -> Row:
    """Make a month of the facts."""
    return Row(month=f"{month}-01", urls=urls, alike=alike, future=future)


def make_pair(page: str, target: str, pages: int, links: int, returned: int) -> Row:
    """Make a pair of languages of the facts."""
    return Row(page=page, target=target, pages=pages, links=links, returned=returned)


def make_tally(listed: int, visited: int, judged: int, **more: Any) -> Row:
    """Make what the facts say of visited pages."""
    fields = {"not_judged": {}, "exact": judged == listed, "bound": None, **more}
    return Row(listed=listed, visited=visited, judged=judged, **fields)


def make_shop(sitemaps: int = 30, urls_each: int = 100) -> tuple[tuple[Finding, ...], Row]:
    """Make the audit of a shop with some of every chart; each time the same."""
    chance = random.Random(19)
    urls = sitemaps * urls_each
    documents = _make_documents(sitemaps, urls_each)
    places = [document.url for document in documents if document.urls]
    findings = []
    for number, (code, title, unit, category, value) in enumerate(_TITLES):
        severity = Severity(value)
        count = max(1, urls // 2 ** (number + 2)) if unit == "URLs" else number + 1
        where = places[: min(len(places), 1 + number * 3, count)]
        if category is Category.READING:
            where = [each.url for each in documents if each.status == "failed"]
        findings.append(
            Finding(
                rule=make_rule(code, title=title, unit=unit, category=category, severity=severity),
                severity=severity,
                count=count,
                of=urls if unit == "URLs" else 0,
                places=tuple(Place(url, max(1, count // (at + 2))) for at, url in enumerate(where)),
                places_total=len(where),
                examples=tuple(
                    Example(
                        f"{SITE}/products/boots/{code}-{chance.randrange(10**6):06}",
                        "" if number % 3 else f"{NOW.date()} and 2025-01-{n + 1:02}",
                        where[n % len(where)],
                    )
                    for n in range(min(count, 20))
                ),
                urls=count if unit == "URLs" else urls,
            )
        )
    rules = [make_rule(f"rule-{n}", title=f"What rule {n} looks for") for n in range(24)]
    facts = make_facts(
        seconds=3.21,
        complete=False,
        urls=urls,
        distinct=urls - urls // 50,
        dated=urls * 9 // 10,
        images=urls * 2,
        alternates=urls,
        statuses={"complete": sitemaps, "failed": 1, "partial": 1},
        sitemaps_not_read=2,
        months=_make_months(urls * 9 // 10),
        sections=_make_sections(urls),
        sections_others=urls // 40,
        hosts=(
            Row(origin=SITE, urls=urls - 40),
            Row(origin="http://shop.example", urls=40),
        ),
        languages=_make_languages(urls),
        documents=documents,
        documents_total=len(documents),
        passed=tuple(rules[:20]),
        not_run=tuple(
            NotRun(rule, "no list of known URLs: give one with --urls") for rule in rules[20:]
        ),
    )
    return tuple(findings), facts


def _make_documents(sitemaps: int, urls_each: int) -> tuple[Row, ...]:
    robots = make_document(f"{SITE}/robots.txt", role="robots", children=1, bytes_raw=199)
    index = make_document(
        f"{SITE}/sitemap_index.xml",
        robots.url,
        format="sitemapindex",
        children=sitemaps + 2,
        bytes_raw=1_900,
    )
    read = [
        make_document(
            f"{SITE}/sitemaps/products-{number:05}.xml.gz",
            index.url,
            format="urlset",
            urls=urls_each,
            bytes_raw=11 * urls_each,
            bytes_inflated=120 * urls_each,
            dated=urls_each * (number % 5 != 0),
            newest=NOW,
            findings=number % 7,
        )
        for number in range(sitemaps)
    ]
    gone = make_document(
        f"{SITE}/sitemaps/old.xml",
        index.url,
        status="failed",
        reason="http-status",
        http_status=404,
    )
    cut = make_document(
        f"{SITE}/sitemaps/cut.xml.gz",
        index.url,
        format="urlset",
        status="partial",
        reason="xml-malformed",
        urls=7,
    )
    return (robots, index, *read, gone, cut)


def _make_months(dated: int) -> tuple[Row, ...]:
    counts = [make_month("2019-05", dated // 100 + 1)]
    for number in range(60):
        month = f"{2021 + (number + 11) // 12}-{(number + 11) % 12 + 1:02}"
        counts.append(make_month(month, dated * (number + 1) ** 2 // 100_000))
    counts.append(make_month("2026-12", dated // 50 + 1, future=dated // 50 + 1))
    rest = max(dated - sum(month.urls for month in counts), 2)
    last = Row(counts[-2], urls=counts[-2].urls + rest, alike=rest // 2)
    return (*counts[:-2], last, counts[-1])


def _make_sections(urls: int) -> tuple[Row, ...]:
    sections = []
    for number, (folder, subfolders) in enumerate(_FOLDERS.items()):
        part = urls // 2 ** (number + 1)
        names = [f"{folder}{name}/" for name in subfolders] or [folder]
        sections += [
            Row(
                host="www.shop.example",
                path=name,
                urls=max(1, part * (len(names) - at) * 2 // len(names) ** 2),
            )
            for at, name in enumerate(names)
        ]
    return tuple(sorted(sections, key=lambda section: -section.urls))


def _make_languages(urls: int) -> tuple[Row, ...]:
    languages = ("en", "de", "fr", "es-mx", "ja", "pt-br")
    pages = urls // 10
    return tuple(
        make_pair(page, target, pages, pages, pages - lost)
        for row, page in enumerate(languages)
        for column, target in enumerate((*languages, "x-default"))
        for lost in [
            pages // 40 if (row + column) % 5 == 4 else pages * 2 // 3 * (row + column == 3)
        ]
        if (row, column) != (1, 4)
    )
