"""What is left of the batch that the consumer is going through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sitemapreader.documents.context import Batch
    from sitemapreader.issues import Issue
    from sitemapreader.models import SitemapEntry, UrlEntry


@attrs.define(eq=False)
class Rest:
    """The rest of a batch, of one kind or the other; all loops over a walk share it.

    A loop that finds another `rest` than the one it has gone through was overtaken by another loop.
    """

    entries: Iterator[UrlEntry]
    others: Iterator[SitemapEntry | Issue]


def rest_of(batch: Batch | None) -> Rest:
    """Return a batch as one of which nothing has been taken."""
    if isinstance(batch, list):
        return Rest(iter(batch), iter(()))
    return Rest(iter(()), iter(batch or ()))
