"""The baseline: the hits that are known, so that CI fails only for new ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader.audit.models import AuditInputError
from sitemapreader.output.sink import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from sitemapreader.audit.database.connection import AuditDatabase
    from sitemapreader.audit.models import Finding

MAX_FINGERPRINTS = 1_000
"""Hits of a rule in a sitemap that a baseline names; of more it has the number alone."""
_SCHEMA = 1
_FINGERPRINT = "left(md5(coalesce(hit.url, '')), 16)"
_GATHER = f"""
SELECT coalesce(hit.document, ''), count(*), min({_FINGERPRINT}, {MAX_FINGERPRINTS})
FROM ({{query}}) AS hit GROUP BY coalesce(hit.document, '')
"""
_COMPARE = f"""
SELECT coalesce(hit.document, ''), count(*), count(*) FILTER (baseline.code IS NULL)
FROM ({{query}}) AS hit LEFT JOIN baseline
  ON baseline.code = $rule_code AND baseline.document = coalesce(hit.document, '')
 AND baseline.fingerprint = {_FINGERPRINT}
GROUP BY coalesce(hit.document, '')
"""


def write_baseline(
    path: str | os.PathLike[str], database: AuditDatabase, findings: Iterable[Finding]
) -> None:
    """Write the hits of findings as a baseline; raise OSError."""
    content: dict[str, dict[str, Any]] = {}
    for finding in findings:
        query, passed = database.hit_queries[finding.code]
        rows = database.ask(_GATHER.format(query=query), **passed)
        # Issues are counted beyond those that are kept
        counts = {place.document: place.count for place in finding.places}
        content[finding.code] = {
            document: {"count": max(count, counts.get(document, 0)), "hits": sorted(hits)}
            for document, count, hits in sorted(rows)
        }
    text = json.dumps({"schema": _SCHEMA, "findings": content}, indent=1, ensure_ascii=False)
    write_file(path, f"{text}\n".encode())


@attrs.frozen
class Baseline:
    """The known hits.

    Attributes:
        counts: code and URL of a sitemap -> number of hits.
    """

    counts: dict[tuple[str, str], int]

    @property
    def total(self) -> int:
        """The number of known hits."""
        return sum(self.counts.values())

    def mark(self, finding: Finding, database: AuditDatabase) -> Finding:
        """Return the finding with the number of hits that are new."""
        query, passed = database.hit_queries[finding.code]
        named = {place.document: place.count for place in finding.places}
        new = 0
        for document, count, unknown in database.ask(_COMPARE.format(query=query), **passed):
            before = self.counts.get((finding.code, document), 0)
            counted = max(count, named.get(document, 0))
            is_named = before <= MAX_FINGERPRINTS and counted == count
            new += unknown if is_named else max(0, counted - before)
        return attrs.evolve(finding, new=new)


def read_baseline(path: str | os.PathLike[str], database: AuditDatabase) -> Baseline:
    """Load a baseline into the database; raise AuditInputError for other files."""
    try:
        content = json.loads(Path(path).read_text("utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # no lone surrogates, as DuckDB has none
        if content["schema"] == _SCHEMA:
            counts, rows = _list_hits(content["findings"])
    except OSError as error:
        raise AuditInputError(f"the baseline {path} cannot be read: {error.strerror}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise AuditInputError(
            f"{path} is not a baseline: write one with `write_baseline`"
        ) from None
    if content["schema"] != _SCHEMA:
        raise AuditInputError(f"{path} was written by another version: write it again")
    database.insert_rows("baseline", rows)
    return Baseline(counts)


def _list_hits(findings: Any) -> tuple[dict[tuple[str, str], int], list[dict[str, str]]]:
    """Return the number of hits by code and sitemap, and rows of fingerprints."""
    counts, rows = {}, []
    for code, documents in findings.items():
        for document, hits in documents.items():
            counts[code, document] = int(hits["count"])
            rows += [
                {"code": code, "document": document, "fingerprint": str(fingerprint)}
                for fingerprint in hits["hits"]
            ]
    return counts, rows
