"""The memory of a partition: its hosts, their status rows and their state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import attrs

from sitemapreader.distributed.commits import load_commit
from sitemapreader.distributed.layout import OutputError
from sitemapreader.distributed.packing import UnusableStateError, unpack_state
from sitemapreader.distributed.planning import read_partition_hosts
from sitemapreader.distributed.status_rows import Row, is_due, load_rows, now_utc

if TYPE_CHECKING:
    from pathlib import Path

    from sitemapreader.distributed.runs import ScaleRun
    from sitemapreader.distributed.storage import Storage

NO_MEMORY, KEPT = "none", "kept"


@attrs.frozen
class PartitionMemory:
    """The hosts of a partition and what is known of them.

    Attributes:
        due: hosts to read, those that took longest the last time first.
        waiting: rows of hosts that are not due yet.
        rows: all rows of the run before, by site.
        state: the state file on the local disk, which may not exist yet; `None` without a state.
        condition: "none" if there was no state, "kept", or why the old one could not be used.
    """

    due: list[str]
    waiting: list[Row]
    rows: dict[str, Row]
    state: Path | None
    condition: str

    @classmethod
    def load(cls, storage: Storage, run: ScaleRun, partition: int, folder: Path) -> Self:
        """Load the memory from the storage; lost or damaged parts count as unknown."""
        sites = read_partition_hosts(storage, run.listed, partition)
        rows: dict[str, Row] = {}
        condition = NO_MEMORY
        commit = load_commit(storage, run.previous, partition) if run.previous else None
        state = folder / "state.db" if run.options.state else None
        if commit is not None:
            try:
                rows = load_rows(storage, commit.status)
            except OutputError as error:
                condition = str(error)
            if state and commit.state and not run.full:
                condition = _load_state(storage, commit.state, state)
        now = now_utc()
        due = [site for site in sites if run.retry or is_due(rows.get(site), now)]
        due.sort(key=lambda site: -((rows.get(site) or {}).get("seconds") or 0.0))
        waiting = set(sites).difference(due)
        return cls(due, [rows[site] for site in sites if site in waiting], rows, state, condition)


def _load_state(storage: Storage, path: str, state: Path) -> str:
    """Unpack the state of the run before; return `KEPT`, or why that failed."""
    packed = state.with_suffix(".packed")
    try:
        storage.download(path, packed)
        unpack_state(packed, state)
    except (FileNotFoundError, UnusableStateError) as error:
        state.unlink(missing_ok=True)
        return f"{path} cannot be used: {error}"
    finally:
        packed.unlink(missing_ok=True)
    return KEPT
