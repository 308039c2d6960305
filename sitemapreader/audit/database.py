"""The database of an audit: DuckDB on disk, with bounded memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sitemapreader.installation import advise_extra

try:
    import duckdb
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"an audit needs duckdb; {advise_extra('audit')}", name=error.name
    ) from error

if TYPE_CHECKING:
    import os

MEMORY_LIMIT = "256MB"
"""What DuckDB may use; it spills to disk beyond that."""


class AuditDatabase:
    """A DuckDB file, which a walk fills and rules ask.

    Attributes:
        connection: the one connection.
        hit_queries: code of a rule that was run -> the query of all its hits, and its parameters.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="sitemapreader-audit-") if path is None else None
        file = Path(self._folder.name) / "audit.duckdb" if self._folder else Path(path or "")
        self.connection = duckdb.connect(str(file), config={"memory_limit": MEMORY_LIMIT})
        self.hit_queries: dict[str, tuple[str, dict[str, object]]] = {}

    def query(self, query: str, parameters: dict[str, object]) -> duckdb.DuckDBPyRelation:
        """Run a query and return its rows."""
        return self.connection.sql(query, params=parameters)

    def hits(self, code: str) -> duckdb.DuckDBPyRelation:
        """Return all hits of a rule that was run; raise ValueError for another one."""
        if code not in self.hit_queries:
            raise ValueError(
                f"the rule {code!r} was not run: choose one of {', '.join(self.hit_queries)}"
            )
        return self.query(*self.hit_queries[code])

    def close(self) -> None:
        """Close the database, and delete it if it is a temporary one."""
        self.connection.close()
        if self._folder is not None:
            self._folder.cleanup()
