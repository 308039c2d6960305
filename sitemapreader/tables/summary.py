"""The summary of a walk, as plain data that travels with a table."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from sitemapreader.issues import Severity, excerpt, show_url
from sitemapreader.outcomes import Status
from sitemapreader.report import Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MAX_LISTED = 100
"""Issues and documents in an `WalkSummary`; it is copied with each table and written into files."""
_NAMED = 3
"""Sites that a warning names; the rest is counted."""
_DOCUMENT_FIELDS = ("url", "status", "reason", "http_status")
_NOT_WHOLE = (Status.FAILED, Status.PARTIAL)


class IncompleteWarning(UserWarning):
    """A warning that sitemaps were not read; `WalkSummary` has the details."""


class WalkSummary(dict[str, Any]):
    """The summary of a walk: a dict of JSON's types, which pandas can write to a file.

    Its keys: "complete", "entries", "children" (listed, but never to be read: see `to_dataframe`),
    "statuses" and "counts" (of documents, of Issues), "documents" (failed or partial) and "issues";
    of these two the first hundred. For several sites "sites" has "complete" and "entries" of each.
    Copies of a table share it.

    Attributes:
        report: all that was reported, of all sites together.
        reports: the reports of several sites, under the sites as they were given.
    """

    def __init__(self, report: Report, children: int = 0) -> None:
        row = report.to_dict()
        super().__init__(
            {name: row[name] for name in ("complete", "entries", "statuses", "counts")},
            children=children,
            documents=[
                {name: document[name] for name in _DOCUMENT_FIELDS}
                for document in row["documents"]
                if document["status"] in _NOT_WHOLE
            ][:_MAX_LISTED],
            issues=row["issues"][:_MAX_LISTED],
        )
        self["complete"] &= not children
        self.report = report
        self.reports: dict[str, Report] = {}

    @classmethod
    def of_sites(cls, reports: Mapping[str, Report]) -> Self:
        """Return the summary of the walks of several sites."""
        everything = Report(0)
        for report in reports.values():
            everything.merge(report)
        outcome = cls(everything)
        outcome.reports = dict(reports)
        outcome["sites"] = {
            site: {"complete": report.complete, "entries": report.entries}
            for site, report in reports.items()
        }
        return outcome

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self  # pandas copies attrs with every operation

    def warn(self, hint: str, stacklevel: int = 4) -> None:
        """Warn if something was lost; `hint` says where the details are."""
        if self["complete"]:
            return
        said = "; ".join(part for part in map(", ".join, self._describe_losses()) if part)
        text = f"not everything was read ({said}): {hint}"
        warnings.warn(text, IncompleteWarning, stacklevel=stacklevel)

    def _describe_losses(self) -> Iterator[list[str]]:
        """Yield descriptions of lost sites, documents and Issues; some lists are empty."""
        lost = [site for site, how in self.get("sites", {}).items() if not how["complete"]]
        if lost:
            more = [f"{len(lost) - _NAMED} more"] if len(lost) > _NAMED else []
            shown = [excerpt(site) for site in lost[:_NAMED]] + more
            yield [f"{len(lost)} of {len(self['sites'])} sites: {', '.join(shown)}"]
        statuses = self["statuses"]
        yield [
            f"{statuses[status]} {_plural('document', statuses[status])} {status}"
            f" ({self._name_documents(status)})"
            for status in _NOT_WHOLE
            if status in statuses
        ]
        if children := self["children"]:
            yield [f"{children} {_plural('sitemap', children)} listed and not fetched"]
        # only Issues that cost something; of a walk that has none such, all
        codes = self.report.counts
        worst = max((code.severity for code in codes), default=Severity.ERROR)
        yield [f"{count} {code}" for code, count in codes.items() if code.severity is worst]

    def _name_documents(self, status: str) -> str:
        """Name the first document with this status, and count the others."""
        urls = [each["url"] for each in self["documents"] if each["status"] == status]
        more = self["statuses"][status] - 1
        return " ".join(map(show_url, urls[:1])) + (f" and {more} more" if more else "")

    def warn_empty(self, said: str) -> None:
        """Warn that there was nothing to read."""
        warnings.warn(said, IncompleteWarning, stacklevel=6)


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
