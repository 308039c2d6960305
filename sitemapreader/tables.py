"""The URLs of a site as a table of pandas or Arrow.

The functions import the extras when they are called, so the module can be imported without them.
"""

# ruff: noqa: PLC0415 (see above)
from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from inspect import signature
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from sitemapreader._api import walk_sync
from sitemapreader._columns import COLUMNS, SITE_COLUMNS
from sitemapreader._many import SiteRun, Watch
from sitemapreader._types.errors import name_extra
from sitemapreader._types.fields import NESTED_ARGUMENTS
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.issues import Issue, Severity, show_url
from sitemapreader._types.models import Event, SitemapEntry, UrlEntry, Via
from sitemapreader._types.outcomes import Document, SiteOutcome, SiteStatus, Status
from sitemapreader._types.rows import BATCH_ROWS, SiteRows
from sitemapreader._types.urls import has_web_scheme, path_of
from sitemapreader._walk.report import Report
from sitemapreader._walk.walks import Walk

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "IncompleteWarning",
    "WalkSummary",
    "read_batches",
    "to_dataframe",
]

SitePlace: TypeAlias = "str | Path"
"""URL of a site, sitemap or page, or the path of a folder or a file."""
Source: TypeAlias = (
    "SitePlace | Walk | SiteRun | Iterable[SitePlace | Walk] | Iterable[Event]"
)
"""A site, a walk, several of these, a run over many sites, or the events of `read`."""


def _write_walks(argument: str) -> str:
    """Write the sources by which a walk, or several ones, get an argument."""
    source = f"walk_sync(site, {argument})"
    return f"the walk as the source: {source}; for several sites [{source} for site in sites]"


_WALK_ARGUMENTS = {
    name: _write_walks(NESTED_ARGUMENTS.get(name, f"{name}=..."))
    for name in (*signature(walk_sync).parameters, *NESTED_ARGUMENTS)
}
"""Arguments of a walk, which a table takes as its source."""
_EVENTS = (UrlEntry, SitemapEntry, Issue)
_USAGE = (
    "pass the URL of a site, the path of a folder or a file, walk_sync(...), a list of these such "
    "as [walk_sync(site, ...) for site in sites], walk_many_sync(sites, ...), or the entries of "
    "read(...)"
)
_Batches: TypeAlias = "Generator[pa.RecordBatch, None, None]"
_MAX_LISTED = 100
"""Issues and documents in a `WalkSummary`, which is written into files."""
_MAX_WARNED = 3
"""Documents and kinds of Issues that a warning names."""
_SHOWN_FIELDS = ("url", "status", "reason", "http_status")
_NOT_WHOLE = (Status.FAILED, Status.PARTIAL)


@answer_keywords(_WALK_ARGUMENTS)
def to_dataframe(source: Source) -> pd.DataFrame:
    """Return all URLs of a site as a DataFrame; in notebooks, too.

    ```python
    frame = to_dataframe("https://example.org/")
    frame = to_dataframe(walk_sync("https://example.org/", since=timedelta(days=7)))
    frame = to_dataframe(read(data))
    ```

    Args:
        source: one of these.

            - URL of a site, or of a sitemap, page or robots.txt. If it is a page, or missing, the
              search begins below it.
            - Path of a folder or a file, as in `walk`.
            - A walk made by `walk_sync`, with its arguments: entered here, or by you.
            - A list, a column or another iterable of these, which are walked one after the other.
              The first column is then `site`, as it was given.
            - A run made by `walk_many_sync`, which walks over many sites at once. The column `site`
              comes first, too.
            - Entries, or all events, as `read` yields them. Children of an index are counted, not
              fetched.

    Raises TypeError for anything else, and the errors of `walk`.

    One row a URL, columns as in docs/columns.md: `lastmod` is aware (UTC); `images`, `videos`,
    `alternates` and `extras` hold lists of dicts and `news` a dict, or `None` where the record has
    none (`frame.images.str.len()`, `frame.news.str["title"]`).

    `frame.attrs["walk"]` is a `WalkSummary`; its `report` has the outcome of each sitemap. An
    IncompleteWarning is given if something was lost. Needs the extra `pandas`.

    In Parquet, pandas gives a column without a value no type. Name the types:
    `frame.to_parquet("urls.parquet", schema=frame.attrs["walk"].schema)`.
    """
    with name_extra("DataFrames need", "pandas"):
        import pandas as pd
        import pyarrow as pa
    rows = RowSource(source)
    table = rows.open_reader().read_all()
    # Lists and structs become plain objects: a column of pandas' own Arrow type for these could be
    # written, and not be read again.
    fields = [field.with_nullable(True) for field in table.schema]
    schema = pa.schema(fields, table.schema.metadata)
    names = table.column_names
    nested = [field.name for field in table.schema if field.type.num_fields]
    objects = {name: _to_objects(table[name]) for name in nested}
    table = table.drop_columns(nested)
    frame = table.to_pandas(split_blocks=True, self_destruct=True)
    for name, column in objects.items():
        frame.insert(
            names.index(name), name, pd.Series(column, frame.index, dtype=object)
        )
    rows.summary.schema = schema
    frame.attrs["walk"] = rows.summary
    rows.summary.warn("see frame.attrs['walk']")
    return frame


@answer_keywords(_WALK_ARGUMENTS)
def read_batches(source: Source) -> pa.RecordBatchReader:
    """Return the URLs of a site as a stream: a `pyarrow.RecordBatchReader`.

    ```python
    with walk_sync("https://example.org/") as entries:
        reader = read_batches(entries)
        duckdb.sql("SELECT sitemap, count(*) FROM reader GROUP BY sitemap").show()
    print(entries.report.counts)
    ```

    Polars, DuckDB and other tools that read Arrow accept it, and memory does not grow; its
    `read_all()` gives a `pyarrow.Table`. The arguments are those of `to_dataframe`. Pass a walk of
    your own to get its report; otherwise an IncompleteWarning at the end reports a loss.
    Needs the extra `arrow`.
    """
    return RowSource(source).open_reader("pass walk_sync(...) to have its report")


class IncompleteWarning(UserWarning):
    """A warning that sitemaps were not read; `WalkSummary` has the details."""


class WalkSummary(dict[str, Any]):
    """The summary of a walk: a dict of JSON's types, which pandas can write to a file.

    Its keys: "complete", "entries", "children" (listed, but never to be read: see `to_dataframe`),
    "statuses" and "counts" (of documents, of Issues), "documents" (failed or partial) and "issues";
    of these two the first hundred. Copies of a table share it.

    Attributes:
        report: all that was reported. Of a run over many sites, a document for each site that is
            not complete.
        schema: the types of the columns of a DataFrame, for its `to_parquet`; else `None`.
    """

    schema: pa.Schema | None = None

    def __init__(self, report: Report, children: int = 0) -> None:
        lost = [
            document for document in report.documents if document.status in _NOT_WHOLE
        ]
        documents = [document.to_dict() for document in lost[:_MAX_LISTED]]
        super().__init__(
            report.count(),
            complete=report.complete and not children,
            children=children,
            documents=[
                {name: fields[name] for name in _SHOWN_FIELDS} for fields in documents
            ],
            issues=[issue.to_dict() for issue in report.issues[:_MAX_LISTED]],
        )
        self.report = report

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self  # pandas copies attrs with every operation

    def warn(self, hint: str) -> None:
        """Warn if data was lost; `hint` says where the details are."""
        if self["complete"]:
            return
        documents = [
            f"{show_url(document['url'])} {document['status']}"
            for document in self["documents"]
        ]
        documents.sort()  # because their order is random
        # Only the Issues of the highest severity: the others lost less.
        counts = self.report.counts
        worst = max((code.severity for code in counts), default=Severity.ERROR)
        codes = [
            f"{count} {code}"
            for code, count in counts.items()
            if code.severity is worst
        ]
        losses = []
        if documents:
            losses.append(f"documents: {_write_names(documents)}")
        if codes:
            losses.append(f"Issues: {_write_names(codes)}")
        if self["children"]:
            losses.append(f"{self['children']} listed and not fetched")
        text = f"not everything was read ({'; '.join(losses)}): {hint}"
        warnings.warn(text, IncompleteWarning, stacklevel=4)


def _write_names(names: list[str]) -> str:
    """Write the first names, with an ellipsis for the others."""
    shown = names[:_MAX_WARNED]
    if len(shown) < len(names):
        shown.append("...")
    return ", ".join(shown)


class RowSource:
    """The rows of a source, some thousands at once; iterated once, then closed."""

    def __init__(self, source: Source) -> None:
        self.summary: WalkSummary
        """Summary of the walk, once the iteration is over."""
        self._columns = COLUMNS
        self._batches = self._open(source)

    def open_reader(self, hint: str = "") -> pa.RecordBatchReader:
        """Return the rows as a stream; with a hint, a loss is warned of at its end."""
        from sitemapreader._columns.arrow import make_schema

        import pyarrow as pa  # isort: skip (the line above names the extra)

        return pa.RecordBatchReader.from_batches(
            make_schema(self._columns), self._stream(hint)
        )

    def _stream(self, hint: str) -> _Batches:
        with closing(self._batches):
            yield from self._batches
        if hint:
            self.summary.warn(hint)

    def _open(self, source: object) -> _Batches:
        if isinstance(source, str | Path):
            return self._read_site(_plan_walk(source))
        if isinstance(source, Walk):
            if source.is_entered:
                return self._follow(source)
            return self._read_site(source)
        if isinstance(source, SiteRun) and not isinstance(source, Watch):
            self._columns = SITE_COLUMNS
            return self._read_run(source)
        if not isinstance(source, Iterable) or isinstance(
            source, Mapping | bytes | bytearray | SiteRun
        ):
            raise _mistaken(source)
        events = iter(source)
        first = list(islice(events, 1))
        if first and isinstance(_read_scalar(first[0]), str | Path | Walk):
            self._columns = SITE_COLUMNS
            return self._read_sites(_plan_walks([*first, *events]))
        if first and not isinstance(first[0], _EVENTS):
            raise _mistaken(first[0], " in the list")
        return self._sort(chain(first, events))

    def _read_site(self, walking: Walk) -> _Batches:
        with walking:
            yield from self._follow(walking)

    def _read_sites(self, walks: list[tuple[str, Walk]]) -> _Batches:
        from sitemapreader._columns.arrow import make_batches

        report = Report(0)
        for site, walking in walks:
            with walking:
                for rows in walking.rows():
                    yield from make_batches([SiteRows([(site, rows)])], SITE_COLUMNS)
            report.add(walking.report)
            self.summary = WalkSummary(report)

    def _read_run(self, run: SiteRun) -> _Batches:
        with nullcontext() if run.is_entered else run:
            yield from run.record_batches()
        report = _sum_outcomes(run.outcomes)
        if run.is_cut:
            report.note_fault()
        self.summary = WalkSummary(report)

    def _follow(self, walking: Walk) -> _Batches:
        yield from walking.record_batches()
        self.summary = WalkSummary(walking.report)

    def _sort(self, events: Iterator[object]) -> _Batches:
        from sitemapreader._columns.arrow import make_batch

        report = Report(0)
        children = 0
        while chunk := list(islice(events, BATCH_ROWS)):
            batch = []
            for event in chunk:
                if isinstance(event, UrlEntry):
                    batch.append(event)
                elif isinstance(event, Issue):
                    report.add_issue(event)
                elif isinstance(event, SitemapEntry):
                    children += 1
                else:
                    raise _mistaken(event, " among entries")
            report.entries += len(batch)
            if batch:
                yield make_batch(batch)
        self.summary = WalkSummary(report, children)


def _sum_outcomes(outcomes: Iterable[SiteOutcome]) -> Report:
    """Return a report with a document for each site that is not complete."""
    report = Report(0)
    for outcome in outcomes:
        report.entries += outcome.entries
        if not outcome.status.is_whole:
            document = Document(
                outcome.site, via=Via.GIVEN, http_status=outcome.http_status
            )
            is_partial = outcome.status is SiteStatus.PARTIAL
            status = Status.PARTIAL if is_partial else Status.FAILED
            report.end_document(document, status, outcome.reason)
    return report


def _plan_walk(source: SitePlace) -> Walk:
    if isinstance(source, str) and source and not has_web_scheme(source):
        path = Path(path_of(source))
        if not path.exists():
            raise ValueError(
                f"there is no file or folder {source!r}, and a site must be a full URL such as "
                "'https://example.org/'"
            )
        source = path
    return walk_sync(source)


def _plan_walks(sources: list[object]) -> list[tuple[str, Walk]]:
    """Return the walks over several sites, not yet entered, with their names."""
    walks = []
    for source in map(_read_scalar, sources):
        if isinstance(source, Walk):
            walks.append((source.name, source))
        elif isinstance(source, str | Path):
            walks.append((str(source), _plan_walk(source)))
        else:
            raise _mistaken(source, " among sites")
    return walks


def _read_scalar(value: Any) -> Any:
    """Return a text of a column of Arrow as a string; anything else as it is."""
    if hasattr(value, "as_py"):
        return value.as_py()
    return value


def _mistaken(source: object, location: str = "") -> TypeError:
    return TypeError(
        f"{type(source).__name__}{location} is not a source of rows: {_USAGE}"
    )


def _to_objects(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_list = pa.types.is_list(column.type)
    if is_list:
        present = pc.greater(pc.list_value_length(column), 0)
    else:
        present = pc.is_valid(column)
    objects = iter(column.filter(present).to_pylist())
    return [next(objects) if is_present else None for is_present in present.to_pylist()]
