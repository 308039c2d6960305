"""Documents and Issues as trees of text, HTML tables, and DataFrames.

Texts that came from a site are cut and escaped: for a terminal, and once more for HTML.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import attrs

from sitemapreader.errors import name_extra
from sitemapreader.issues import Issue, excerpt, show_url
from sitemapreader.models import Via
from sitemapreader.outcomes import Document, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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

_FORKS = ("├── ", "│   ", "└── ", "    ")
"""What stands before a document and below it; then the same for the last child of a parent."""
_ASCII_FORKS = ("|-- ", "|   ", "`-- ", "    ")

# -- pandas

_SHOWN = {
    "documents": (
        *("url", "status", "reason", "http_status", "format", "entries", "children"),
        *("bytes_raw", "seconds", "issues"),
    ),
    "Issues": ("severity", "code", "message", "sitemap", "line", "url", "value"),
}
"""The columns that a notebook shows."""


def make_documents_frame(documents: Iterable[Document]) -> pd.DataFrame:
    """Make a DataFrame of documents, with a column for each field that is one value."""
    hints = get_type_hints(Document) | {"issues": int}
    types = {name: hints[name] for name in Document("").to_dict()}
    rows = [
        document.to_dict() | {"lastmod": document.lastmod, "issues": document.counts.total()}
        for document in documents
    ]
    return _make_frame(types, rows)


def make_issues_frame(issues: Iterable[Issue]) -> pd.DataFrame:
    """Make a DataFrame of Issues, with a column for each field and the severity."""
    types = {"severity": str} | get_type_hints(Issue)
    return _make_frame(types, [issue.to_dict() for issue in issues])


def show_table(name: str, records: Sequence[Document | Issue], total: int) -> str:
    """Write "documents" or "Issues", of `total`, as an HTML table; needs pandas."""
    if not total:
        return ""
    pd, rows = import_pandas(), [record.to_dict() for record in records[:_MAX_ROWS]]
    cells = {column: [_show(row[column]) for row in rows] for column in _SHOWN[name]}
    with pd.option_context("display.max_colwidth", None):
        table = pd.DataFrame(cells).to_html(index=False, border=0)
    some = f", {len(rows)} shown" if len(rows) < total else ""
    return f"<p>{total} {name}{some}</p>{table}"


def _show(value: object) -> object:
    """Return what a notebook may show: cut, without passwords and control characters."""
    if isinstance(value, dict):  # the Issues of a document
        return sum(value.values())
    return excerpt(show_url(value or ""), 300) if isinstance(value, str | None) else value


def import_pandas() -> Any:
    """Import pandas; raise ModuleNotFoundError that says how to get it."""
    with name_extra("DataFrames need", "pandas"):
        import pandas as pd  # noqa: PLC0415 (an extra)
    return pd


def _make_frame(types: dict[str, Any], rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Make a DataFrame whose column types do not depend on its rows."""
    pd = import_pandas()
    series = {
        name: pd.Series([_plain(row[name]) for row in rows], dtype=_find_dtype(kind))
        for name, kind in types.items()
    }
    return pd.DataFrame(series)


def _find_dtype(annotation: Any) -> str:
    """Return pandas' name for the type of a field, which may be optional."""
    (kind,) = [each for each in get_args(annotation) or (annotation,) if each is not NoneType]
    return next(dtype for base, dtype in _DTYPES.items() if issubclass(kind, base))


def _plain(value: object) -> object:
    """Return a value that pandas can store: no lone surrogates."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


# -- the tree


@attrs.define(eq=False)
class DocumentNode:
    """A document and the documents that it lists."""

    document: Document
    children: list[DocumentNode] = attrs.field(factory=list)
    parent: DocumentNode | None = None

    def is_below(self, other: DocumentNode) -> bool:
        """Return whether it is another node, or stands below it."""
        node: DocumentNode | None = self
        while node is not None and node is not other:
            node = node.parent
        return node is other


def build_tree(documents: Iterable[Document]) -> list[DocumentNode]:
    """Put documents below those that list them, by URL; return the roots.

    Probed paths without a sitemap, and a robots.txt fetched only for its rules, are left out.
    """
    shown = [each for each in documents if each.via is not None and not _is_missed(each)]
    nodes = [DocumentNode(each) for each in sorted(shown, key=lambda document: document.url)]
    places: dict[str, DocumentNode] = {}
    for node in nodes:
        for url in (node.document.final_url, node.document.url):
            if url and (url not in places or node.document.children):
                places[url] = node
    roots = []
    for node in nodes:
        parent = places.get(node.document.parent)
        if parent is None or parent.is_below(node):  # they list each other
            roots.append(node)
        else:
            node.parent = parent
            parent.children.append(node)
    return roots


def _is_missed(document: Document) -> bool:
    """Return whether a probe found nothing, or a page instead of a sitemap."""
    is_skipped = document.status is Status.SKIPPED and document.format is None
    return is_skipped and (bool(document.via and document.via.is_guess) or bool(document.final_url))


def draw_tree(
    label: str, documents: Sequence[Document], *, in_ascii: bool = False
) -> Iterator[str]:
    """Yield the lines of a tree; failed probes are counted where no sitemap was found."""
    forks, roots = _ASCII_FORKS if in_ascii else _FORKS, build_tree(documents)
    items: deque[tuple[object, list[DocumentNode]]] = deque((e.document, e.children) for e in roots)
    probes = sum(each.via is Via.WELL_KNOWN and _is_missed(each) for each in documents)
    if probes and not any(e.document.format is not None or e.children for e in roots):
        noun = "path" if probes == 1 else "paths"
        items.append((f"{probes} well-known {noun} tried, and no sitemap", []))
    yield f"{show_url(label)}\n"
    # A stack, not recursion: indexes may be nested as deep as the caller's limit allows.
    levels = [("", items)]
    while levels:
        indent, items = levels[-1]
        if not items:
            levels.pop()
            continue
        shown, children = items.popleft()
        fork, below = forks[:2] if items else forks[2:]
        yield f"{indent}{fork}{shown}\n"
        levels.append((indent + below, deque((e.document, e.children) for e in children)))
