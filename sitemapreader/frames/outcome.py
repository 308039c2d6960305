"""What became of a walk, as plain data that travels with a table."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from sitemapreader.report import Status

if TYPE_CHECKING:
    from sitemapreader.report import Report

_MAX_LISTED = 100
"""Issues and documents in an `Outcome`; it is copied with each table and written into files."""
_NOT_WHOLE = (Status.FAILED, Status.PARTIAL)


class IncompleteWarning(UserWarning):
    """Not all was read that is in the sitemaps; the table's `Outcome` has the details."""


class Outcome(dict[str, Any]):
    """What became of a walk: a dict of JSON's types, which pandas can write into a file.

    Its keys: "complete", "entries", "children" (listed, but never to be read: see `to_dataframe`),
    "statuses" and "counts" (of documents, of Issues), "documents" (failed or partial) and "issues";
    of these two the first hundred. Copies of a table share it.

    Attributes:
        report: all that the walk reported.
    """

    def __init__(self, report: Report, children: int = 0) -> None:
        super().__init__(
            complete=report.complete and not children,
            entries=report.entries,
            children=children,
            statuses={str(status): count for status, count in report.statuses.items()},
            counts={str(code): count for code, count in report.counts.items()},
            documents=[
                {
                    "url": document.url,
                    "status": str(document.status),
                    "reason": document.reason,
                    "http_status": document.http_status,
                }
                for document in report.documents
                if document.status in _NOT_WHOLE
            ][:_MAX_LISTED],
            issues=[
                {
                    "code": str(issue.code),
                    "severity": issue.severity.name.lower(),
                    "message": issue.message,
                    "sitemap": issue.sitemap,
                    "line": issue.line,
                    "url": issue.url,
                    "value": issue.value,
                }
                for issue in report.issues[:_MAX_LISTED]
            ],
        )
        self.report = report

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self  # pandas copies attrs with every operation

    def warn(self, hint: str) -> None:
        """Warn if something was lost; `hint` says where the details are."""
        if self["complete"]:
            return
        documents = [f"{self['statuses'][s]} {s}" for s in _NOT_WHOLE if s in self["statuses"]]
        issues = [f"{count} {code}" for code, count in self["counts"].items()]
        children = [f"{self['children']} sitemaps listed and not fetched"] * bool(self["children"])
        said = ", ".join(documents + children) + "; " * bool(issues) + ", ".join(issues)
        warnings.warn(f"not all was read ({said}): {hint}", IncompleteWarning, stacklevel=3)
