"""The result of an audit, its files of hits, and the baseline of known ones."""

from __future__ import annotations

import json
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

import attrs

from sitemapreader.audit.database import read_queries
from sitemapreader.audit.models import SCHEMA, Row, make_plain, read_json
from sitemapreader.audit.report import find_audit_format, find_hits_suffix
from sitemapreader.audit.report.texts import format_audit
from sitemapreader.issues import Severity
from sitemapreader.output import open_output, write_file
from sitemapreader.output.columns import Column

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    import duckdb
    import pandas as pd

    from sitemapreader.audit.database import AuditDatabase
    from sitemapreader.audit.models import Finding
    from sitemapreader.report import Report

_ROWS_AT_ONCE = 20_000


def _text_at(place: int) -> Callable[[Any], Any]:
    get = itemgetter(place)
    return lambda row: get(row) or ""


COLUMNS = tuple(
    Column(
        name,
        str | None,
        always=True,
        is_url=name in {"url", "document"},
        is_repetitive=name != "url",
        get=_text_at(place),
    )
    for place, name in enumerate(("code", "url", "detail", "document"))
)


def write_hits(path: str | os.PathLike[str], database: AuditDatabase, codes: Iterable[str]) -> int:
    """Write all hits of rules, and return how many there are; raise OSError."""
    find_hits_suffix(path)
    number = 0
    with open_output(path, columns=COLUMNS) as output:
        for code in codes:
            rows = database.connection.execute(database.query_hits(code))
            for batch in _fetch(rows):
                output.write_records(batch)
                number += len(batch)
    return number


def _fetch(rows: duckdb.DuckDBPyConnection) -> Iterator[list[Any]]:
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        yield batch


_FINDINGS: dict[str, Callable[[Finding], object]] = {
    "code": lambda finding: finding.code,
    "category": lambda finding: str(finding.rule.category),
    "severity": lambda finding: finding.severity.name.lower(),
    "title": lambda finding: finding.rule.title,
    "count": lambda finding: finding.count,
    "of": lambda finding: finding.of,
    "unit": lambda finding: finding.rule.unit,
    "new": lambda finding: finding.new,
    "sitemaps": lambda finding: finding.places_total,
    "example": lambda finding: finding.examples[0].url if finding.examples else "",
}
"""Column -> its value in a row for a finding."""
_QUERIES = read_queries("runner")

# -- baselines

BASELINE_SCHEMA = 2
"""Of baselines; 1 was that of version 0.2, which had no URLs."""
_TOO_MANY = 2**53
MOST_NAMED = 1_000
"""Hits of a rule in a sitemap that a baseline names; of more it has the number besides."""


def write_baseline(path: str | os.PathLike[str], database: AuditDatabase) -> None:
    """Write the URLs of all hits, by rule and sitemap; raise OSError.

    A number behind them counts those that are not named.
    """
    content = {
        code: {
            row.document: row.urls + [row.more] * bool(row.more)
            for row in database.ask_rows(_QUERIES["known_hits"].format(code), most=MOST_NAMED)
        }
        for (code,) in database.ask("SELECT DISTINCT code FROM place ORDER BY code")
    }
    baseline = {"schema": BASELINE_SCHEMA, "hits": content}
    text = json.dumps(baseline, indent=1, ensure_ascii=False)
    write_file(path, f"{text}\n".encode())


@attrs.frozen
class Baseline:
    """The known hits, in a table of the database; `total` is how many there are."""

    database: AuditDatabase
    total: int

    def count_new(self, code: str) -> int:
        """Return how many hits of a rule are not known."""
        return int(self.database.ask(_QUERIES["new_hits"].format(code))[0][0])


def read_baseline(path: str | os.PathLike[str], database: AuditDatabase) -> Baseline:
    """Load a baseline into the database; raise AuditInputError for other files."""
    advice = "write a new one with `write_baseline`"
    rows = read_json(path, "not a baseline", advice, _list_hits, BASELINE_SCHEMA)
    database.insert_rows("baseline", rows)
    return Baseline(database, sum(more or 1 for *_, more in rows))


def _list_hits(content: Any) -> list[tuple[str, str, str | None, int | None]]:
    """Return rows of known hits; raise what a file raises that is no baseline."""
    rows: list[tuple[str, str, str | None, int | None]] = []
    for code, documents in content["hits"].items():
        for document, hits in documents.items():
            for hit in hits:
                if isinstance(hit, str):
                    rows.append((code, document, hit, None))
                elif type(hit) is int and 0 <= hit < _TOO_MANY:
                    rows.append((code, document, None, hit))
                else:
                    raise TypeError(hit)
    return rows


# -- the result


class Audit:
    """The result of an audit; a context manager that closes its database.

    ```python
    with audit_sync("https://example.org/") as result:
        for finding in result.findings:
            print(finding.code, finding.severity.name, finding.count)
        result.write("report.html")
    ```

    Findings and facts can be used, and written, when the database is closed.

    Attributes:
        findings: one for each rule that hit, the gravest first.
        facts: what was audited, in numbers; rules that passed, and rules that were not run.
        report: of the walk.
    """

    def __init__(
        self,
        findings: tuple[Finding, ...],
        facts: Row,
        database: AuditDatabase,
        report: Report,
    ) -> None:
        self.findings = findings
        self.facts = facts
        self.report = report
        self._database = database

    def __repr__(self) -> str:
        rules = f"{len(self.findings)} rules hit, {len(self.facts.passed)} passed"
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
        return self._database.connection.sql(query, params=parameters or None)

    def hits(self, code: str) -> duckdb.DuckDBPyRelation:
        """Return all hits of a rule: rows of code, url, detail and document.

        Raises:
            ValueError: there is no such rule, or it was not run.
        """
        return self._database.connection.sql(self._database.query_hits(code))

    def to_dataframe(self) -> pd.DataFrame:
        """Return the findings as a pandas DataFrame, a row each; needs the extra `pandas`.

        Its columns: code, category, severity, title, count, of, unit, new, sitemaps, example.
        """
        import pandas as pd  # noqa: PLC0415 (only here)

        frame = pd.DataFrame(
            [[get(each) for get in _FINDINGS.values()] for each in self.findings],
            columns=list(_FINDINGS),
        )
        return frame.astype({"new": "Int64"})

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
        return format_audit(name, self.describe(), fail_on, title=title)

    def describe(self) -> Row:
        """Return the audit as its JSON has it, of which all formats are made."""
        return Row(schema=SCHEMA, findings=make_plain(self.findings), facts=make_plain(self.facts))

    def write(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002 (as `open_output` calls it)
        fail_on: Severity | None = Severity.ERROR,
        *,
        title: str = "",
    ) -> None:
        """Write the audit into a file, which appears when it is complete.

        The format is that of its suffix, if none is given; the others are those of `format`.

        Raises:
            ValueError: the suffix names no format.
            OSError: the file cannot be written.
        """
        name = format or find_audit_format(str(path))
        text = self.format(name, fail_on, title=title)
        # The name of an audited folder may not be UTF-8.
        write_file(path, text.encode("utf-8", "backslashreplace"))

    def write_hits(self, path: str | os.PathLike[str]) -> int:
        """Write all hits into a file, and return how many there are.

        Its suffix names the format: .parquet, .csv or .jsonl, the latter with .gz behind it if
        they are to be compressed. Of Issues there are the first ten of a code for each document.

        Raises:
            ValueError: the suffix names no format.
            OSError: the file cannot be written.
        """
        with self._database.map_disk_errors():
            return write_hits(path, self._database, [finding.code for finding in self.findings])

    def write_baseline(self, path: str | os.PathLike[str]) -> None:
        """Write the hits as a baseline, which people can edit; raise OSError."""
        with self._database.map_disk_errors():
            write_baseline(path, self._database)
