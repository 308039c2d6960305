"""The keyword arguments of `walk`, as a type that its relatives share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from sitemapreader.discovery import Probe
    from sitemapreader.fetch import Fetcher
    from sitemapreader.options import FetchOptions, Limits
    from sitemapreader.readers.formats import ExtraFormats
    from sitemapreader.state import State
    from sitemapreader.urls import Hosts
    from sitemapreader.walker.config import Follow, OnDocument, Patterns, Scope, Sitemaps, Undated
    from sitemapreader.walker.order import Order


class WalkArguments(TypedDict, total=False):
    """What `walk_sync`, `to_dataframe` and others take and pass on to `walk`, which explains it.

    A test compares names and types with the signature of `walk`.
    """

    sitemaps: Sitemaps
    since: datetime | None
    undated: Undated
    prune: bool
    follow: Follow | None
    order: Order
    include: Patterns
    exclude: Patterns
    unique: bool
    hosts: Hosts
    scope: Scope
    probe: Probe
    extra_paths: Iterable[str]
    feeds: bool
    respect_robots: bool
    extra_formats: ExtraFormats
    state: str | Path | State | None
    changes: bool
    on_document: OnDocument | None
    fetcher: Fetcher | None
    limits: Limits
    options: FetchOptions
