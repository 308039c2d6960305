"""Other projects' test cases, assertion by assertion, with our answer to each in their words."""

from __future__ import annotations

import ast
import re
from calendar import timegm
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import attrs
import corpus

from sitemapreader.dates import parse_lastmod
from sitemapreader.issues import IssueCode, Severity
from sitemapreader.models import Restriction, UrlEntry
from sitemapreader.options import Limits
from sitemapreader.readers import read
from sitemapreader.readers.records.vocabulary import parse_priority
from sitemapreader.urls import is_in_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from corpus import Case


CASES = {case.name: case for case in corpus.peer_cases()}
"""The cases of all projects by name; none where there is no corpus."""

CONDITIONS = frozenset({"follow", "rules", "limit_bytes", "filter_since", "note"})
"""Keys that assert nothing: they say under which conditions the others hold."""


@attrs.frozen
class Finding:
    """One assertion of a case and our answer; its name is the key, and the place below it."""

    name: str
    theirs: Any
    ours: Any


# -- their words


def moment(text: str | None) -> datetime | None:
    """Read a date as a case has it; one without a zone is UTC there as well."""
    try:
        value = datetime.fromisoformat(text or "")
    except ValueError:  # what they could not read, and pass on as it is
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def moments(texts: list[str | None]) -> list[datetime | None]:
    return [moment(text) for text in texts]


WORDS: dict[str, Callable[[Any], Any]] = {
    "child_set": sorted,
    "count_gt": lambda _: True,
    "count_lt": lambda _: True,
    "error": lambda _: True,
    "errors_count": bool,  # they count documents, we count faults
    "lastmods": moments,
    "loc_set": sorted,
    "loc_set_with_strategy_all": sorted,
    "loc_set_without_sitemap_url": sorted,
    "locs_with_strategy_all": sorted,
    "rule": lambda _: Limits().depth + 1,  # "a default depth"
    "sitemap_set_with_strategy_all": sorted,
    "type": lambda name: {"index": "sitemapindex"}.get(name, name),
}
"""What their side becomes before it is compared; all else is compared as it stands."""


# -- our answers: one assertion a key


def asked(theirs: Sequence[Any], ours: Sequence[Any]) -> list[Any]:
    """Leave out what is not asked for: a null in their list."""
    if len(theirs) != len(ours):
        return list(ours)
    return [mine if his is not None else None for his, mine in zip(theirs, ours, strict=True)]


def listed(case: Case) -> list[str]:
    match case.kind:
        case "robots":
            return case.listed()
        case "html":
            return case.hinted(feeds=False)
    return [entry.loc for entry in case.sitemaps]


def discovered(case: Case) -> list[str] | str:
    try:
        return case.discovered()
    except ValueError:
        return "ValueError"


def count_fetches_in_chain(case: Case) -> int:
    """Serve a chain of indexes, each naming the next."""
    pages = {
        case.url.replace("-0", f"-{n}"): case.data.replace(b"-1", f"-{n + 1}".encode())
        for n in range(20)
    }
    return sum(url in pages for url in case.walk(pages).requested)


def kept_since(case: Case) -> list[str]:
    """Write the case's table as a sitemap, and walk it."""
    records = "".join(
        f"<url><loc>{loc}</loc><lastmod>{lastmod or ''}</lastmod></url>"
        for loc, lastmod in case.rows
    )
    url = "https://example.com/sitemap.xml"
    pages = {url: f"<urlset>{records}</urlset>".encode()}
    return case.walk(pages, sitemaps=[url], since=moment(case.expect["filter_since"])).locs


def read_since_2009(case: Case) -> list[str]:
    events = read(case.data, since=datetime(2009, 1, 1, tzinfo=UTC))
    return [event.loc for event in events if isinstance(event, UrlEntry)]


MESSAGES = {
    IssueCode.EMPTY: "sitemap content is empty",
    IssueCode.HTTP_STATUS: "fetch {0.sitemap}: received HTTP status {0.value}",
}
"""Our codes in the words of go-sitemap-parser."""

ANSWERS: dict[str, Callable[[Case, Any], Any]] = {
    # the document
    "type": lambda case, _: case.reading.format,
    "processed": lambda case, _: case.reading.format is not None,
    "plausible_sitemap": lambda case, _: case.reading.format is not None,
    "plausible_sitemap_url": lambda case, url: url if case.read(case.data, url).format else None,
    "sitemap_body": lambda case, _: case.data.decode() if case.reading.format else None,
    "error": lambda case, _: any(issue.severity is Severity.ERROR for issue in case.issues),
    "errors": lambda case, _: [MESSAGES[issue.code].format(issue) for issue in case.issues],
    "errors_count": lambda case, _: bool(case.issues),
    # its records
    "count": lambda case, _: len(case.locs),
    "urls": lambda case, _: len(case.locs),
    "items": lambda case, _: len(case.locs),
    "count_gt": lambda case, least: len(case.locs) > least,
    "count_lt": lambda case, most: len(case.locs) < most,
    "urls_not_empty": lambda case, _: bool(case.locs),
    "locs": lambda case, _: case.locs,
    "loc_set": lambda case, _: sorted(set(case.locs)),
    "child_set": lambda case, _: sorted(set(case.locs)),
    "loc_set_without_sitemap_url": lambda case, _: sorted(set(case.read(case.data, "").locs)),
    "contains": lambda case, wanted: [loc for loc in wanted if loc in case.locs],
    "rule_english": lambda case, _: [loc for loc in case.locs if "english" in loc],
    "rule_nonexistent": lambda case, _: [loc for loc in case.locs if "nonexistent" in loc],
    "lastmods": lambda case, _: case.lastmods,
    "lastmods_present": lambda case, wanted: asked(wanted, [bool(each) for each in case.lastmods]),
    "lastmods_month": lambda case, _: [each.month for each in case.lastmods],
    "first_lastmod_month": lambda case, _: case.lastmods[0].month,
    "lastmod_of": lambda case, wanted: {
        record.loc: record.lastmod for record in case.records if record.loc in wanted
    },
    "changefreqs": lambda case, wanted: asked(wanted, [e.changefreq for e in case.entries]),
    "first_changefreq": lambda case, _: case.entries[0].changefreq,
    "priorities": lambda case, wanted: asked(wanted, [e.priority for e in case.entries]),
    "has_column": lambda case, name: name if any(getattr(e, name) for e in case.entries) else None,
    "locs_with_alternate_links": lambda case, _: [
        url for e in case.entries for url in (e.loc, *(link.href for link in e.alternates))
    ],
    "urls_for_lang_de": lambda case, _: [
        link.href for e in case.entries for link in e.alternates if link.hreflang == "de"
    ],
    "filtered_lastmod_year_gt_2008": lambda case, _: read_since_2009(case),
    "kept": lambda case, _: kept_since(case),
    # robots.txt and pages
    "sitemaps": lambda case, _: listed(case),
    "sitemap_set_with_strategy_all": lambda case, _: sorted(listed(case)),
    "sitemaps_count": lambda case, _: len(listed(case)),
    "no_CR_in_values": lambda case, _: not any("\r" in url for url in listed(case)),
    "third_not_lowercased": lambda case, _: listed(case)[-1].endswith("/MixedCased-sitemap.xml"),
    "feeds": lambda case, _: case.hinted(feeds=True),
    "feeds_count": lambda case, _: len(case.hinted(feeds=True)),
    # walks
    "discovered": lambda case, _: discovered(case),
    "attempts": lambda case, _: case.walked.requested.count(case.url),
    "sitemap_locations": lambda case, _: case.walked.sitemaps,
    "robots_sitemaps": lambda case, _: case.walked.sitemaps,
    "walk_count_equals_url_count": lambda case, _: case.walk().locs == case.locs,
    "locs_with_strategy_all": lambda case, _: sorted(case.walk(hosts="any").locs),
    "loc_set_with_strategy_all": lambda case, _: sorted(set(case.walk(hosts="any").locs)),
    "nestedSitemapFilter_not_child_2_items": lambda case, _: len(
        case.walk(follow=lambda entry: "child_2" not in entry.loc).locs
    ),
    "fetches_of_child": lambda case, _: case.walk().requested.count(case.locs[0]),
    "rule": lambda case, _: count_fetches_in_chain(case),
}
"""Key -> what we answer; it is given what they expect as well, for questions such as `contains`."""


# -- our answers: several assertions a key


def compare_date(row: list[Any]) -> tuple[Any, Any]:
    *_, text, theirs = row
    ours = parse_lastmod(text)
    to_the_second = ours.replace(microsecond=0) if ours and "." not in (theirs or "") else ours
    return moment(theirs), to_the_second


def compare_url(row: list[Any]) -> tuple[Any, Any]:
    _, loc, theirs = row
    page = f"<urlset><url><loc>{escape(loc)}</loc></url></urlset>".encode()
    found = [
        e.loc
        for e in read(page, "https://example.com/sitemaps/index.xml")
        if isinstance(e, UrlEntry)
    ]
    return {"ok": [loc], "error": []}.get(theirs, [theirs]), found


ROWS: dict[str, Callable[[list[Any]], tuple[Any, Any]]] = {
    "dates": compare_date,
    "location": lambda row: (row[2], is_in_scope(row[1], row[0])),
    "urls": compare_url,
    "values": lambda row: (row[1], parse_priority(row[0]) if row[0] else None),
}
"""Kind of a case that is a table -> their answer and ours to one row."""


def check_table(case: Case, table: list[list[Any]]) -> Iterator[Finding]:
    for number, row in enumerate(table):
        strict = " strict" if row[0] == "strict" else ""
        yield Finding(f"table[{number}]{strict}", *ROWS[case.kind](row))


LOC, TEXT, MOMENT = "loc", "lastmod_text", "lastmod"
FIELDS = {
    "loc": LOC,
    "link": LOC,
    "pubDate": TEXT,
    "published": TEXT,
    "updated": TEXT,
    "lastmod": MOMENT,
    "pubDateParsed": MOMENT,
    "published_iso": MOMENT,
    "published_parsed": MOMENT,
    "publishedParsed": MOMENT,
    "updated_iso": MOMENT,
    "updated_parsed": MOMENT,
    "updatedParsed": MOMENT,
    "changefreq": "changefreq",
    "priority": "priority",
}
"""What others call the fields of an entry -> what we call them."""


def field_of(case: Case, number: int, name: str) -> Any:
    """Return what we have for a field of theirs."""
    field = FIELDS[name]
    in_feed = case.kind in {"atom", "rss"} and field != LOC
    records: Sequence[Any] = case.dates if in_feed else case.records
    return getattr(records[number], field) if number < len(records) else None


def as_field(name: str, value: Any) -> Any:
    """Return what a case says of a field, as a value of ours."""
    if FIELDS[name] == MOMENT:
        return (
            moment(value) if isinstance(value, str) else datetime.fromtimestamp(timegm(value), UTC)
        )
    return float(value) if name == "priority" else value or None


def check_records(case: Case, wanted: Any) -> Iterator[Finding]:
    """Check records field by field; they stand in a list, or with their number in a dict."""
    if isinstance(wanted, list) and case.kind not in {"atom", "rss"}:
        yield Finding("entries.length", len(wanted), len(case.locs))
    numbered = enumerate(wanted) if isinstance(wanted, list) else wanted.items()
    for number, fields in numbered:
        for name, value in fields.items():
            yield check_field(case, int(number), name, value)


def check_field(case: Case, number: int, name: str, value: Any) -> Finding:
    called = f"entries[{number}].{name}"
    if name == "links":
        link = page_of(value)
        return Finding(
            called if link else f"{called} {value}", link, field_of(case, number, "link")
        )
    if name not in FIELDS:
        return Finding(called, value, None)
    return Finding(called, as_field(name, value), field_of(case, number, name))


def page_of(links: Any) -> str | None:
    """Return which of an entry's links leads to its page, if the case tells that."""
    if not isinstance(links, list):
        return None
    pages = [link for link in links if isinstance(link, str)]
    pages += [
        link["href"]
        for link in links
        if isinstance(link, dict) and link["rel"] == "alternate" and "href" in link
    ]
    return pages[0] if pages else None


def check_expression(case: Case, expression: str) -> Iterator[Finding]:
    """Check what feedparser's tests write in Python, one part between two `and` after the other."""
    tree = ast.parse(expression, mode="eval").body
    for part in tree.values if isinstance(tree, ast.BoolOp) else [tree]:
        told = ast.unparse(part)
        asked_for = fields_in(part)
        if not asked_for:
            yield Finding(f"feedparser_expr: {told}", True, None)
        for number, name, value in asked_for:
            finding = check_field(case, number, name, value)
            yield attrs.evolve(finding, name=f"expression {finding.name}")


def fields_in(part: ast.expr) -> list[tuple[int, str, Any]]:
    """Return (number, field, value) of `entries[0].link == entries[1]['link'] == 'x'`."""
    if not isinstance(part, ast.Compare) or not all(isinstance(op, ast.Eq) for op in part.ops):
        return []
    *terms, last = [part.left, *part.comparators]
    found = [(number, name) for term in terms for number, name in field_in(term)]
    if len(found) < len(terms) or not isinstance(last, ast.Constant | ast.Tuple):
        return []
    return [(number, name, ast.literal_eval(last)) for number, name in found]


def field_in(term: ast.expr) -> list[tuple[int, str]]:
    match re.fullmatch(r"entries\[(\d+)\](?:\.|\[')(\w+)(?:'\])?", ast.unparse(term)):
        case re.Match() as match if match[2] in FIELDS:
            return [(int(match[1]), match[2])]
    return []


def check_extensions(case: Case, wanted: dict[str, Any]) -> Iterator[Finding]:
    """Check images, videos and alternates: their number in each entry, or their fields."""
    slots = {"hreflang": "alternates", "image": "images", "video": "videos"}
    for name, value in wanted.items():
        kind, _, is_count = name.partition("_")
        found = {entry.loc: getattr(entry, slots[kind]) for entry in case.entries}
        if is_count:
            yield Finding(f"extensions.{name}", value, [len(each) for each in found.values()])
            continue
        by_entry = value.values() if isinstance(value, dict) else [value]
        if isinstance(value, dict):
            yield Finding(f"extensions.{name}.keys", [*value], [*found])
        for number, (theirs, ours) in enumerate(zip(by_entry, found.values(), strict=True)):
            yield Finding(f"extensions.{name}[{number}]", theirs, [as_told(each) for each in ours])


def as_told(value: Any) -> dict[str, Any]:
    """Return an image or a video in the words of go-sitemap-parser, without what is absent."""
    fields = attrs.asdict(value, recurse=False, filter=lambda _, each: each not in (None, ()))
    told = {name: TOLD.get(type(each), lambda same: same)(each) for name, each in fields.items()}
    if "uploader_info" in told:
        told["uploader"] = [told["uploader"], told.pop("uploader_info")]
    return told


TOLD: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: "yes" if value else "no",
    tuple: list,
    Restriction: lambda value: [value.relationship, " ".join(value.values)],
}


MANY: dict[str, Callable[[Case, Any], Iterator[Finding]]] = {
    "entries": check_records,
    "extensions": check_extensions,
    "feedparser_expr": check_expression,
    "first": lambda case, wanted: check_records(case, {0: wanted}),
    "pages": check_records,
    "table": check_table,
}


@cache
def findings(name: str) -> list[Finding]:
    """Make every check that a case asks for."""
    case = CASES[name]
    found: list[Finding] = []
    for key in case.expect.keys() - CONDITIONS:
        theirs = case.expect[key]
        if key in MANY:
            found += MANY[key](case, theirs)
        elif key in ANSWERS:
            words = WORDS.get(key)
            found.append(
                Finding(key, words(theirs) if words else theirs, ANSWERS[key](case, theirs))
            )
        else:
            found.append(Finding(key, theirs, None))
    return found
