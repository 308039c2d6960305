"""The result of an audit: findings, facts, and their database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from sitemapreader.audit.baseline import write_baseline
from sitemapreader.audit.formats import find_audit_format, format_audit
from sitemapreader.audit.hits import write_hits
from sitemapreader.output.sink import write_file

if TYPE_CHECKING:
    import os

    import duckdb
    import pandas as pd

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.models import Facts, Finding
    from sitemapreader.report import Report


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
        facts: Facts,
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
        return self._database.query(query, parameters or {})

    def hits(self, code: str) -> duckdb.DuckDBPyRelation:
        """Return all hits of a rule: rows of code, url, detail and document.

        Raises:
            ValueError: there is no such rule, or it was not run.
        """
        return self._database.hits(code)

    def to_dataframe(self) -> pd.DataFrame:
        """Return the findings as a pandas DataFrame, a row each; needs the extra `pandas`.

        Its columns: code, category, severity, title, count, of, unit, new, sitemaps, example.
        """
        import pandas as pd  # noqa: PLC0415 (only here)

        return pd.DataFrame(
            {
                "code": [finding.code for finding in self.findings],
                "category": [str(finding.rule.category) for finding in self.findings],
                "severity": [finding.severity.name.lower() for finding in self.findings],
                "title": [finding.rule.title for finding in self.findings],
                "count": [finding.count for finding in self.findings],
                "of": [finding.of for finding in self.findings],
                "unit": [finding.rule.unit for finding in self.findings],
                "new": pd.array([finding.new for finding in self.findings], dtype="Int64"),
                "sitemaps": [finding.places_total for finding in self.findings],
                "example": [
                    finding.examples[0].url if finding.examples else "" for finding in self.findings
                ],
            }
        )

    def format(self, name: str) -> str:
        """Return the audit as text in a format."""
        return format_audit(name, self.findings, self.facts)

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:  # noqa: A002 (as `open_output` calls it)
        """Write the audit into a file, which appears when it is complete.

        The format is that of its suffix, if none is given.

        Raises:
            ValueError: the suffix names no format.
            OSError: the file cannot be written.
        """
        text = self.format(format or find_audit_format(str(path)))
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
        """Write the hits as a baseline for later audits; raise OSError."""
        with self._database.map_disk_errors():
            write_baseline(path, self._database, self.findings)
