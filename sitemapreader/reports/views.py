"""Documents and Issues as HTML tables for a notebook, and as DataFrames of pandas.

Texts that came from a site are cut and escaped: for a terminal, and once more for HTML.
"""

from __future__ import annotations

from datetime import datetime
from html import escape
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

from sitemapreader.installation import advise_extra
from sitemapreader.issues import Issue, excerpt, show_url
from sitemapreader.outcomes import Document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

_MAX_ROWS = 50
"""Documents, and Issues, that a notebook shows."""
_DTYPES: dict[type, str] = {
    str: "string",
    int: "Int64",  # pandas' own, which can be absent
    float: "Float64",
    datetime: "datetime64[us, UTC]",
}
"""Type of a field -> pandas' name for it."""

# -- HTML

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


_CELLS: dict[str, dict[str, Callable[[Any], object]]] = {
    "documents": _DOCUMENT_CELLS,
    "Issues": _ISSUE_CELLS,
}


def write_table(name: str, records: Sequence[Document | Issue], total: int) -> str:
    """Write the first documents or Issues as an HTML table that can be folded.

    Args:
        name: "documents" or "Issues".
        records: those that were kept, the worst first.
        total: how many there were.
    """
    if not total:
        return ""
    cells, shown = _CELLS[name], records[:_MAX_ROWS]
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
    """Make a DataFrame of documents, with a column for each field that is one value."""
    names = [
        field.name
        for field in attrs.fields(Document)
        if not field.name.startswith("_") and field.name != "issues"
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
    """Make a DataFrame of Issues, with a column for each field and the severity."""
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
    """Make a DataFrame whose column types do not depend on its rows."""
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
    """Return pandas' name for the type of a field, which may be optional."""
    (kind,) = [each for each in get_args(annotation) or (annotation,) if each is not NoneType]
    return next(dtype for base, dtype in _DTYPES.items() if issubclass(kind, base))


def _plain(value: object) -> object:
    """Return a value that pandas can store: no enum, no lone surrogates."""
    return (
        str(value).encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
    )
