"""The result of an audit, its files of hits, and the baseline of known ones."""

from __future__ import annotations

import json
import os
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import Severity
from sitemapreader.audit.database import AuditDatabase, fill_values, read_queries
from sitemapreader.audit.models import (
    LINK_UNITS,
    MAX_HITS,
    PAGE_UNITS,
    AuditInputError,
    move_urls,
    read_json,
)
from sitemapreader.audit.report import (
    find_audit_format,
    find_hits_suffix,
    is_workbook,
)
from sitemapreader.audit.values import AuditReport, Finding, Hit, Rule
from sitemapreader.output import Column, make_columns, open_output, write_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import duckdb

    from sitemapreader import Report
    from sitemapreader._types.arguments import FilePath

_RESULTS_AT_ONCE = 20_000
_MOST_MARKED = 2**31


HIT_COLUMNS = make_columns(
    dict.fromkeys(("code", "url", "detail", "document"), str),
    urls={"url", "document"},
    repetitive={"code", "detail", "document"},
)
PAGE_COLUMNS = make_columns(
    {
        "url": str,
        "status": int | None,
        "final_url": str,
        "ms": int | None,
        "title": str | None,
        "noindex": bool | None,
        "canonical": str,
        "redirects": str,
        "list": str,
        "findings": str,
        "not_judged": str,
        "first_status": int | None,
        "noindex_by": str,
        "planned": str,
    },
    urls={"url", "final_url", "canonical", "planned"},
    repetitive={"list", "findings", "not_judged"},
)
"""Columns of a file of visited pages."""
_NEW_COLUMN = Column(
    "new", str, always=True, is_repetitive=True, get=itemgetter(len(HIT_COLUMNS))
)
"""Column of a file of hits beside a baseline: "new", or nothing."""
_FINDING_COLUMNS = tuple(
    Column(name, str, always=True, is_repetitive=True, get=itemgetter(place))
    for place, name in ((-2, "severity"), (-1, "title"))
)
"""Columns of a finding, which a workbook has first; in a row, their values come last."""
_RESULT_QUERIES = read_queries("runner")
_QUERIES_OF_PAGES = read_queries("pages")

# -- baselines

BASELINE_SCHEMA = 3
"""Version of baselines; 1 had no URLs, and 2 had sitemaps with them."""
_TOO_MANY = 2**53


@attrs.frozen
class Baseline:
    """The known hits of a baseline.

    Attributes:
        subjects: rows of code and subject, of hits that have a name.
        counts: rows of code, sitemap and number, of sitemaps with hits that have none.
        losses: what was not read to its end, each as a reason and a URL.
    """

    subjects: list[tuple[str, str]]
    counts: list[tuple[str, str, int]]
    losses: list[str] = attrs.field(factory=list)

    def move(self, moves: Mapping[str, str]) -> Baseline:
        """Return the same hits, at the new URLs of pages and sitemaps that have moved."""
        return Baseline(
            [(code, move_urls(subject, moves)) for code, subject in self.subjects],
            [(code, move_urls(url, moves), hits) for code, url, hits in self.counts],
            self.losses,
        )

    def __len__(self) -> int:
        """Return how many hits are known."""
        return len(self.subjects) + sum(number for *_, number in self.counts)


def read_baseline(path: FilePath) -> Baseline:
    """Return the known hits of a baseline; raise AuditInputError for other files."""
    advice = (
        "write a new one with `write_baseline`; to compare two reports, give both to "
        "the command compare"
    )
    try:
        return read_json(path, "hits", advice, _parse_baseline, BASELINE_SCHEMA)
    except AuditInputError as error:
        raise AuditInputError(f"`baseline`: {error}") from None


def _parse_baseline(content: Any) -> Baseline:
    """Return the known hits; raise an error for a file that is not a baseline."""
    subjects = []
    for code, found in content["hits"].items():
        if not (
            isinstance(found, list) and all(isinstance(each, str) for each in found)
        ):
            raise TypeError(found)
        subjects += [(code, each) for each in found]
    counts = []
    for code, found in content["counts"].items():
        for document, number in found.items():
            if type(number) is not int or not 0 <= number < _TOO_MANY:
                raise TypeError(number)
            counts.append((code, document, number))
    losses = content.get("losses", [])  # one of an earlier version has none
    if not isinstance(losses, list):
        raise TypeError(losses)
    return Baseline(subjects, counts, losses)


def list_losses(report: Report) -> list[str]:
    """Return the losses of a walk: the reason and the URL of each document, or a reason alone."""
    lost = [each for each in report.documents if each.is_lost]
    named = {f"{each.reason or each.status} {each.url}" for each in lost}
    others = report.losses - {each.reason for each in lost}
    return sorted(named | others)


def _fill_query(name: str, rule: Rule) -> str:
    """Return a query about the hits of a rule."""
    return _RESULT_QUERIES[name].format(rule.code, rule.unit in LINK_UNITS)


def mark_new(
    database: AuditDatabase,
    finding: Finding,
    examples: int,
) -> None:
    """Mark the hits that the baseline does not know, and put them first."""
    rule = finding.rule
    database.show_rules(rule.code)
    known = dict(database.ask(_fill_query("list_counts", rule)))
    counted = {
        row["document"]: max(0, row["count"] - known.get(row["document"], row["known"]))
        for row in database.ask_rows(_fill_query("count_places", rule))
    }
    finding.new = sum(counted.values())
    for place in finding.places:
        place.new = counted.get(place.document, 0)
    fresh = []
    if finding.new:
        most = min(finding.new, MAX_HITS)
        query = _fill_query("new_hits", rule)
        fresh = [Hit(**row, new=True) for row in database.ask_rows(query, most=most)]
    marked = {(hit.document, hit.url, hit.detail) for hit in fresh}
    old = [
        hit for hit in finding.hits if (hit.document, hit.url, hit.detail) not in marked
    ]
    for hit in old:
        hit.new = False
    finding.hits = [*fresh, *old][:MAX_HITS]
    finding.examples = finding.hits[:examples]


def find_mended(
    database: AuditDatabase,
    findings: Iterable[Finding],
    passed: Iterable[Rule],
    pages: Mapping[str, Any],
    *,
    is_complete: bool,
) -> dict[str, list[str]]:
    """Return the named hits of the baseline that are gone, by rule.

    These are hits of rules that have judged everything, and that name all their hits. If not
    everything was read, the URLs that were read are known, and no others.
    """
    tally = pages.get("pages")
    is_exact = tally is None or tally.exact
    found = {each.rule.code: each.rule for each in findings}
    mended = {}
    for rule in (*found.values(), *passed):
        if not is_exact and rule.unit in PAGE_UNITS:
            continue
        if rule.code not in found:
            query = "FROM baseline WHERE code = $code ORDER BY subject"
            gone = database.ask_column(f"SELECT subject {query}", code=rule.code)
        elif _count_unnamed(database, rule):
            continue
        else:
            gone = database.ask_column(_fill_query("list_mended", rule))
        if not is_complete:
            gone = database.ask_column(_RESULT_QUERIES["list_read"], subjects=gone)
        if gone:
            mended[rule.code] = gone
    return mended


def _count_unnamed(database: AuditDatabase, rule: Rule) -> dict[str, int]:
    """Return the hits of sitemaps in which not all have a name, by sitemap.

    The reader keeps ten Issues of a code in a sitemap, and an Issue need not have a URL.
    """
    return {
        row["document"]: row["count"]
        for row in database.ask_rows(_fill_query("count_places", rule))
        if row["count"] > row["named"]
    }


# -- the result


@attrs.define(repr=False, eq=False)
class Audit(AuditReport):
    """The result of an audit; a context manager that closes its database.

    ```python
    with audit_sync("https://example.org/") as result:
        for finding in result.findings:
            print(finding.rule.code, finding.severity, finding.count)
        result.write("report.html")
    ```

    Findings and facts can be used, and written, when the database is closed.

    Attributes:
        findings: one for each rule that hit, the gravest first.
        facts: what was audited, in numbers; rules that passed, and rules that were not run.
        report: of the walk.
    """

    _database: AuditDatabase
    report: Report

    def __repr__(self) -> str:
        rules = f"{count_units(len(self.findings), 'rules')} hit, {len(self.facts.passed)} passed"
        return f"<Audit of {self.facts.source}: {rules}, {len(self.facts.not_run)} not run>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, and delete it if it is a temporary one."""
        self._database.close()

    def sql(
        self, query: str, parameters: dict[str, object] | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Run a query on the database of the audit; docs/audit.md lists its tables.

        `fetchall()`, `df()` or `arrow()` of what is returned give the rows.

        Args:
            query: a statement in DuckDB's SQL.
            parameters: values of its `$names`.
        """
        self._database.show_rules()
        return self._database.connection.sql(query, params=parameters or None)

    def hits(self, code: str) -> duckdb.DuckDBPyRelation:
        """Return all hits of a rule: rows of code, url, detail and document.

        Raises:
            ValueError: there is no such rule, or it was not run.
        """
        return self._database.connection.sql(self._database.query_hits(code))

    def format(
        self,
        name: str,
        fail_on: Severity | None = Severity.ERROR,
        *,
        title: str = "",
    ) -> str:
        """Return the audit as text in a format.

        Args:
            name: "text", "json", "sarif", "html", "markdown" or "junit".
            fail_on: the severity from which on a finding is a failure of JUnit's; `None`: none is.
            title: above a report in HTML or Markdown, in place of the source.

        Raises:
            ValueError: there is no such format.
        """
        from sitemapreader.audit.report.templates import format_audit  # noqa: PLC0415 (Jinja)

        return format_audit(name, self, fail_on, title=title)

    def write(
        self,
        path: FilePath,
        format: str | None = None,  # noqa: A002 (as `open_output` calls it)
        fail_on: Severity | None = Severity.ERROR,
        *,
        title: str = "",
    ) -> None:
        """Write the audit into a file, which appears when it is complete.

        The format is that of its suffix, if none is given; the others are those of `format`. A
        workbook, `report.xlsx`, has a sheet of all hits, and one of the visited pages; it needs the
        extra `xlsx`.

        Raises:
            ValueError: the suffix names no format.
            OSError: the file cannot be written.
        """
        if format is None and is_workbook(path):
            self._write_workbook(path)
            return
        name = format or find_audit_format(str(path))
        text = self.format(name, fail_on, title=title)
        # The name of an audited folder may not be UTF-8.
        write_file(path, text.encode("utf-8", "backslashreplace"))

    def write_hits(self, path: FilePath) -> int:
        """Write the hits into a file, and return how many these are.

        Its suffix names the format: .parquet, .csv or .jsonl, the latter with .gz after it if
        they are to be compressed. Each hit has the severity and the title of its finding at its
        end. Beside a baseline, new hits come first, and a column says "new".
        Of Issues there are the first ten of a code for each document.

        Raises:
            ValueError: the suffix names no format.
            OSError: the file cannot be written.
        """
        find_hits_suffix(path)
        columns = (*self._list_columns(), *_FINDING_COLUMNS)
        number = 0
        with (
            self._database.map_disk_errors(),
            open_output(path, columns=columns) as output,
        ):
            for batch in self._list_hits():
                output.write_records(batch)
                number += len(batch)
        return number

    def _list_hits(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of all hits, some at a time, each with severity and title at its end."""
        for finding in self.findings:
            about = (finding.severity, finding.rule.title)
            for batch in self._list_rows(self._query_hits(finding.rule)):
                yield [(*row, *about) for row in batch]

    def _write_workbook(self, path: FilePath) -> None:
        """Write a workbook: a sheet of all hits, and one of the visited pages."""
        columns = (*_FINDING_COLUMNS, *self._list_columns())
        with self._database.map_disk_errors(), open_output(path) as output:
            output.begin_sheet("findings", columns)
            for batch in self._list_hits():
                output.write_records(batch)
            if self._has_pages:
                output.begin_sheet("pages", PAGE_COLUMNS)
                for batch in self._list_rows(self._query_pages()):
                    output.write_records(batch)

    @property
    def _has_pages(self) -> bool:
        return self.facts.pages is not None or self.facts.old_pages is not None

    def _list_columns(self) -> tuple[Column, ...]:
        """Return the columns of hits, with one for new ones beside a baseline."""
        if self.facts.baseline is None:
            return HIT_COLUMNS
        return (*HIT_COLUMNS, _NEW_COLUMN)

    def _list_rows(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a query, some at a time."""
        yield from self._database.ask_batches(query, _RESULTS_AT_ONCE)

    def _query_pages(self) -> str:
        """Return the query of the visited pages, each with the rules that hit it."""
        hits = self._database.query_page_hits(each.rule.code for each in self.findings)
        return _QUERIES_OF_PAGES["rows"].format(hits)

    def write_pages(self, path: FilePath) -> int:
        """Write a row for each page that was to be visited, and return how many there are.

        The columns are the URL, the status and the URL at the end of all redirects, milliseconds to
        the first byte, title, noindex, the canonical URL, and each redirect with its target; then
        whether the page is listed or old, all rules that hit it, why it was not judged, its first
        status, whether a header or a meta element has the noindex, and where an old URL is to lead.
        The suffix names the format, as for `write_hits`.

        Raises:
            ValueError: the suffix names no format, or no page was to be visited.
            OSError: the file cannot be written.
        """
        find_hits_suffix(path)
        if not self._has_pages:
            raise AuditInputError(
                f"there is no page for {os.fspath(path)}: visit pages with `pages` or `was`"
            )
        number = 0
        with (
            self._database.map_disk_errors(),
            open_output(path, columns=PAGE_COLUMNS) as output,
        ):
            for batch in self._list_rows(self._query_pages()):
                output.write_records(batch)
                number += len(batch)
        return number

    def _query_hits(self, rule: Rule) -> str:
        """Return the query of all hits of a rule, marked if there is a baseline."""
        query = self._database.query_hits(rule.code)
        if self.facts.baseline is None:
            return query
        new = fill_values(_fill_query("new_hits", rule), {"most": _MOST_MARKED})
        return _RESULT_QUERIES["mark_hits"].format(rule.code, new)

    def write_baseline(self, path: FilePath) -> int:
        """Write the hits as a baseline, which people can edit, and return how many there are.

        It has the URL of each hit, by rule; of a link, an image or a video also its detail. Of a
        sitemap with hits that have no names, it has their number. It names what was not read, too.

        Raises:
            OSError: the file cannot be written.
        """
        hits = {}
        counts = {}
        with self._database.map_disk_errors():
            for rule in sorted(
                (each.rule for each in self.findings), key=attrgetter("code")
            ):
                self._database.show_rules(rule.code)
                unnamed = _count_unnamed(self._database, rule)
                query = _fill_query("list_subjects", rule)
                if named := self._database.ask_column(query, counted=[*unnamed]):
                    hits[rule.code] = named
                if unnamed:
                    counts[rule.code] = unnamed
        content = {
            "schema": BASELINE_SCHEMA,
            "hits": hits,
            "counts": counts,
            "losses": self.facts.losses,
        }
        text = json.dumps(content, indent=1, ensure_ascii=False)
        write_file(path, f"{text}\n".encode())
        return len(_parse_baseline(content))
