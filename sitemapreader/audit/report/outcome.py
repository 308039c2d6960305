"""The outcome of an audit: its exit code, and the reason in one line."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import attrs

from sitemapreader._types.counts import count_units
from sitemapreader._types.issues import Severity, show_url
from sitemapreader._types.outcomes import ABSENT_STATUSES, NOTHING_LOST
from sitemapreader.audit.report import GRADES, is_failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sitemapreader.audit.values import DocumentFacts, Facts, Finding

_MOST_NAMED = 5
"""Names in a list that one line has."""


class ExitCode(IntEnum):
    """The exit code of an audit: see docs/exit-codes.md."""

    PASSED = 0
    EMPTY = 1
    PARTIAL = 3
    UNREAD = 4
    FAILED = 5


@attrs.frozen
class Outcome:
    """The outcome of an audit.

    Attributes:
        code: that the command exits with.
        reason: for it, and what was not read.
    """

    code: ExitCode
    reason: str

    @property
    def is_whole(self) -> bool:
        """True if everything was judged that should be; findings may have failed."""
        return self.code in (ExitCode.PASSED, ExitCode.FAILED)

    def __str__(self) -> str:
        """Return the line that ends a log."""
        return f"exit code {self.code:d}: {self.reason}"


def find_outcome(
    findings: Iterable[Finding], facts: Facts, fail_on: Severity | None
) -> Outcome:
    """Return the outcome, where findings of the severity `fail_on` and above fail."""
    least = None if fail_on is None else fail_on.name.lower()
    lost = list(_list_losses(facts))
    if not facts.answered:
        return Outcome(ExitCode.UNREAD, "; ".join(["nothing could be fetched", *lost]))
    failed = [each.rule.code for each in findings if is_failure(each, least)]
    which = _name_failures(facts, least)
    if failed:
        reason = f"{which}: {name_some(failed)}"
        return Outcome(ExitCode.FAILED, "; ".join([reason, *lost]))
    if not facts.urls:
        return Outcome(ExitCode.EMPTY, "; ".join(["no URL was found", *lost]))
    if lost:
        return Outcome(ExitCode.PARTIAL, "; ".join(lost))
    read = "everything was read"
    if facts.are_losses_known:
        read = f"what was not read is known: {name_some(facts.known_losses)}"
    return Outcome(ExitCode.PASSED, f"{read}, and there are no {which}")


def _name_failures(facts: Facts, least: str | None) -> str:
    """Return the noun of the findings that fail."""
    if least is None:
        return "findings that fail"
    grades = list(GRADES)
    counted = grades[: grades.index(least) + 1]
    names = " or ".join(f"{GRADES[each]}s" for each in counted)
    if facts.baseline is None:
        return names
    return f"{names} with new hits"


def _list_losses(facts: Facts) -> Iterator[str]:
    """Yield the losses: documents not read, pages not judged, rules not run."""
    is_allowed = facts.answered and facts.are_losses_known
    if not (facts.complete and facts.answered) and not is_allowed:
        yield from _list_unread(facts)
    for unit, tally in (("pages", facts.pages), ("old URLs", facts.old_pages)):
        if tally is not None and tally.listed and not tally.judged:
            reasons = ", ".join(f"{why} {n}" for why, n in tally.not_judged.items())
            yield f"none of {count_units(tally.listed, unit)} could be judged ({reasons})"
    if broken := [each.rule.code for each in facts.not_run if each.is_error]:
        yield f"broken rules: {name_some(broken)}"


def _list_unread(facts: Facts) -> Iterator[str]:
    """Yield the documents that were not read, and the ones that were read in part."""
    known = {each.partition(" ")[2] for each in facts.known_losses}
    unread = [
        each for each in facts.documents if _is_unread(each) and each.url not in known
    ]
    for word, is_partial in (("not read", False), ("read in part", True)):
        named = [
            f"{show_url(each.url)} ({_show_reason(each)})"
            for each in unread
            if (each.status == "partial") is is_partial
        ]
        if named:
            yield f"{word}: {name_some(named)}"
    if not unread and facts.sitemaps:
        yield "not everything was read"
    elif not unread:
        yield "no sitemap was found and read"


def _is_unread(document: DocumentFacts) -> bool:
    """Return whether a document was not read to its end, though something names it."""
    if document.role == "page" and document.http_status in ABSENT_STATUSES:
        return False
    if document.role == "robots" and document.reason.startswith("budget-"):
        return True
    if document.status == "skipped":
        is_named = bool(document.parent) and document.reason not in NOTHING_LOST
        is_refused = (document.http_status or 0) >= 400
        return is_named or (is_refused and document.http_status not in ABSENT_STATUSES)
    return document.status in ("partial", "failed")


def _show_reason(document: DocumentFacts) -> str:
    if (document.http_status or 0) >= 400:
        return f"{document.reason} {document.http_status}".strip()
    return document.reason or document.status


def name_some(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    shown = ", ".join(names[:_MOST_NAMED])
    if len(names) <= _MOST_NAMED:
        return shown
    return f"{shown} and {len(names) - _MOST_NAMED:,} more"
