"""Entries as files and streams: URLs, JSON lines, CSV, TSV, Parquet.

Importing this costs nothing; what a format needs is imported when it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from sitemapreader.models import UrlEntry

__all__ = ["FORMATS", "Output", "open_output"]

FORMATS = ("urls", "jsonl", "csv", "tsv")
"""Names of the formats."""
_MAY_END_WITH_NUL = ("urls", "jsonl")


class Output(Protocol):
    """Where entries are written to, in one format; made by `open_output`, entered with `with`.

    A file is whole once it is there: it is written under a temporary name beside its own, renamed
    when the context is left, and removed if it is left with an exception. Pipes and devices are
    written to directly.

    Attributes:
        name: what to call it in a message.
        is_writing: whether a write is under way, which may wait for a reader as long as that likes.
    """

    name: str

    @property
    def is_writing(self) -> bool:
        """Whether a write is under way."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

    def write(self, entries: list[UrlEntry]) -> None:
        """Write entries. Raises OSError."""
        ...


def open_output(
    path: str | None,
    format: str,  # noqa: A002 (what it is called on the command line)
    *,
    fields: Sequence[str] | None = None,
    zero: bool = False,
) -> Output:
    """Return an output, to be entered, in one of `FORMATS`.

    ```python
    with open_output("urls.csv", "csv") as output, walk_sync(site) as entries:
        for batch in entries.batches():
            output.write(batch)
    ```

    Args:
        path: of the file; `None` is standard output.
        format: "urls": a loc a line; "jsonl": an object a line; "csv" and "tsv": a row a line;
            "parquet": needs the extra `arrow`.
        fields: names of the columns that are written, in their order; all without it.
        zero: end records with NUL instead of a newline; for "urls" and "jsonl".

    Memory does not grow with what is written. Raises ValueError for arguments that cannot be meant;
    entering, writing and leaving raise OSError.
    """
    if format not in FORMATS:
        raise ValueError(f"there is no format {format!r}: choose from {', '.join(FORMATS)}")
    if zero and format not in _MAY_END_WITH_NUL:
        raise ValueError(f"records of {format} cannot end with NUL: write urls or jsonl")
    if format == "urls" and fields is not None and list(fields) != ["loc"]:
        raise ValueError("urls has no field but loc: write jsonl, csv or tsv")
    from sitemapreader.output.schema import choose_columns  # noqa: PLC0415 (a cheap import)
    from sitemapreader.output.text import open_text  # noqa: PLC0415 (the same)

    return open_text(path, format, choose_columns(fields), "\0" if zero else "\n")
