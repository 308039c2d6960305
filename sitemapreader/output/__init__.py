"""Entries as lines of text: what the command line prints, one format a row of `WRITERS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader.output.lines import json_line, url_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from sitemapreader.models import UrlEntry

__all__ = ["WRITERS"]

WRITERS: dict[str, Callable[[UrlEntry], str]] = {"urls": url_line, "jsonl": json_line}
"""Name of a format -> what makes a line, with its end, of an entry."""
