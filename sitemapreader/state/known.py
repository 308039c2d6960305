"""What is known of a document: how its last reading went, and how far one came that was stopped."""

from __future__ import annotations

import attrs

from sitemapreader.models import Format
from sitemapreader.visits.past import Body


@attrs.frozen
class Known:
    """What is known of a document: see the table `document`."""

    id: int
    status: str
    reason: str
    http_status: int | None
    seen_run: int | None
    read_run: int | None
    complete: bool
    final_url: str
    format: Format | None = attrs.field(converter=attrs.converters.optional(Format))
    etag: str | None
    last_modified: str | None
    lastmod: str | None
    size: int | None
    digest: bytes | None
    entries: int
    children: int
    read_at: float | None
    listed_run: int | None

    @property
    def body(self) -> Body | None:
        """The bytes of the last reading."""
        return None if self.digest is None or self.size is None else Body(self.size, self.digest)

    @property
    def is_listed(self) -> bool:
        """Tell whether the state has the URLs of the last reading."""
        return self.read_run is not None and self.listed_run == self.read_run


@attrs.frozen
class Progress:
    """How far a document came: so many entries, out of so many bytes."""

    entries: int
    final_url: str
    start: Body
