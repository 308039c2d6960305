"""A report for people: a line, a tree, HTML for a notebook, and frames of pandas.

Whatever came from a site is cut and escaped here: for a terminal in text, once more in HTML.
"""

from __future__ import annotations

from datetime import datetime
from html import escape
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

from sitemapreader.document_tree import draw_tree
from sitemapreader.installation import advise_extra
from sitemapreader.issues import Issue, excerpt, show_url
from sitemapreader.report import Document, Report, Status
from sitemapreader.urls import origin_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

_NAMED_CODES = 5
"""Codes of Issues in one line; the others are counted."""
_SHOWN_ROWS = 50
"""Documents, and Issues, in a notebook."""
_GRAVE_FIRST = (Status.FAILED, Status.PARTIAL, Status.SKIPPED, Status.COMPLETE, Status.UNCHANGED)
_COUNTED = {"issues", "counts"}
"""Fields of a document that are lists and counters; a frame has one number for both."""
_DTYPES: dict[type, str] = {
    str: "string",
    int: "Int64",  # pandas' own, which has a place for what is absent
    float: "Float64",
    datetime: "datetime64[us, UTC]",
}
"""Types of fields, and what pandas calls them."""


def summarize(report: Report) -> str:
    """Say in one line what came, and what was wrong."""
    parts = [
        "complete" if report.complete else "not complete",
        f"{report.entries} URLs",
        f"documents: {_list_counts(report.statuses) or 'none'}",
    ]
    if report.removed is not None:
        parts.append(f"{report.removed} removed")
    if report.removals_unknown:
        parts.append(f"removals unknown of {report.removals_unknown} sitemaps")
    codes = sorted(report.counts.items(), key=lambda pair: (-pair[0].severity, -pair[1]))
    if codes:
        named = [f"{count} {code}" for code, count in codes[:_NAMED_CODES]]
        more = [f"{len(codes) - _NAMED_CODES} more kinds"] if codes[_NAMED_CODES:] else []
        parts.append(f"Issues: {', '.join(named + more)}")
    return "; ".join(parts)


def _list_counts(counts: Counter[Status]) -> str:
    return ", ".join(f"{counts[status]} {status}" for status in _GRAVE_FIRST if counts[status])


def write_tree(report: Report, *, in_ascii: bool = False) -> str:
    """Return the documents as lines of text, below the origin of the first one."""
    first = report.documents[0].url if report.documents else ""
    return "".join(draw_tree(origin_of(first) or first, report.documents, in_ascii=in_ascii))


# -- HTML


def write_html(report: Report) -> str:
    """Return a summary, and tables of the gravest documents and Issues."""
    documents = sorted(report.documents, key=lambda document: _GRAVE_FIRST.index(document.status))
    issues = sorted(report.issues, key=lambda issue: -issue.severity)
    return "".join(
        (
            f"<p><b>Report</b>: {escape(summarize(report))}</p>",
            _write_table("documents", _DOCUMENT_CELLS, documents, report.statuses.total()),
            _write_table("Issues", _ISSUE_CELLS, issues, report.counts.total()),
        )
    )


_DOCUMENT_CELLS: dict[str, Callable[[Document], object]] = {
    "document": lambda document: show_url(document.url),
    "status": lambda document: document.status,
    "reason": lambda document: document.reason,
    "HTTP": lambda document: document.http_status or "",
    "format": lambda document: document.format or document.role,
    "URLs": lambda document: document.entries,
    "sitemaps": lambda document: document.children,
    "bytes": lambda document: document.bytes_raw,
    "seconds": lambda document: f"{document.seconds:.2f}",
    "Issues": lambda document: document.counts.total(),
}
_ISSUE_CELLS: dict[str, Callable[[Issue], object]] = {
    "severity": lambda issue: issue.severity.name.lower(),
    "Issue": lambda issue: issue.code,
    "what": lambda issue: issue.message,
    "document": lambda issue: show_url(issue.sitemap),
    "line": lambda issue: issue.line or "",
    "about": lambda issue: show_url(issue.url or issue.value or ""),
}


def _write_table(
    name: str, cells: dict[str, Callable[[Any], object]], records: Sequence[object], total: int
) -> str:
    """Write the first records as a table that can be folded; `total` is how many there were."""
    if not total:
        return ""
    shown = records[:_SHOWN_ROWS]
    some = f", {len(shown)} shown" if len(shown) < total else ""
    rows = ["".join(f"<th>{escape(title)}</th>" for title in cells)]
    for record in shown:
        texts = (excerpt(str(read(record)), 300) for read in cells.values())
        rows.append("".join(f"<td>{escape(text)}</td>" for text in texts))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    summary = f"<summary>{total} {escape(name)}{some}</summary>"
    return f"<details open>{summary}<table>{body}</table></details>"


# -- pandas


def make_documents_frame(documents: Iterable[Document]) -> pd.DataFrame:
    """Return a frame of documents: a column for each field that is one value."""
    names = [
        field.name
        for field in attrs.fields(Document)
        if not field.name.startswith("_") and field.name not in _COUNTED
    ]
    types = get_type_hints(Document)
    columns = {name: types[name] for name in names} | {"issues": int}
    return _make_frame(
        columns,
        (
            [*(getattr(document, name) for name in names), document.counts.total()]
            for document in documents
        ),
    )


def make_issues_frame(issues: Iterable[Issue]) -> pd.DataFrame:
    """Return a frame of Issues: a column for each field, and their severity."""
    names = [field.name for field in attrs.fields(Issue)]
    types = get_type_hints(Issue)
    columns = {"severity": str} | {name: types[name] for name in names}
    return _make_frame(
        columns,
        (
            [issue.severity.name.lower(), *(getattr(issue, name) for name in names)]
            for issue in issues
        ),
    )


def _make_frame(types: dict[str, Any], rows: Iterable[list[Any]]) -> pd.DataFrame:
    """Make a frame with typed columns, whatever the rows hold; also of no rows."""
    try:
        import pandas as pd  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"DataFrames need pandas; {advise_extra('pandas')}", name=error.name
        ) from error

    columns = list(zip(*rows, strict=True)) or [()] * len(types)
    series = {
        name: pd.Series(list(map(_plain, values)), dtype=_find_dtype(kind))
        for (name, kind), values in zip(types.items(), columns, strict=True)
    }
    return pd.DataFrame(series)


def _find_dtype(annotation: Any) -> str:
    """Return pandas' name for the type of a field, which may be absent."""
    (kind,) = [each for each in get_args(annotation) or (annotation,) if each is not NoneType]
    return next(dtype for base, dtype in _DTYPES.items() if issubclass(kind, base))


def _plain(value: object) -> object:
    """Return a value as pandas takes it: no enum, and no lone surrogates, which UTF-8 lacks."""
    return (
        str(value).encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
    )
