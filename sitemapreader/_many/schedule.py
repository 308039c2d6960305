"""SiteSchedule: the sitemaps that are due in a run over sites with a state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sitemapreader.changes import State
    from sitemapreader.changes.database import StateFile


class SiteSchedule:
    """The plan of a run with `revisit`; without one, every sitemap is due.

    Attributes:
        plan: name of a site -> the URLs to request; `None` if all are due.
    """

    def __init__(self, state: State | None) -> None:
        self.plan: dict[str, frozenset[str]] | None = None
        self._state = state
        self._file: StateFile | None = None
        self._user = ""

    def open(self, user: str) -> StateFile | None:
        """Open the state for the whole run, so that walks do not each have to."""
        if self._state is not None:
            from sitemapreader.changes.database import StateFile  # noqa: PLC0415 (few runs have one)

            self._user = user
            self._file = StateFile.share(self._state.path, user)
        return self._file

    def close(self) -> None:
        """Close the state, if there is one."""
        if self._file is not None:
            self._file.release(self._user)

    async def make_plan(self, number: int, names: Iterable[str] | None) -> None:
        """Choose the sitemaps to request, of the named sites or of all, all together."""
        assert self._state is not None  # noqa: S101 (`revisit` needs one)
        verify_after = self._state.verify_after.total_seconds()
        self.plan = await self._query(
            "plan_sites", number, names=names, verify_after=verify_after
        )

    async def find_unread(self, names: Iterable[str]) -> dict[str, bool]:
        """Return the sites without a plan, and whether each was read before."""
        unread: dict[str, bool] = await self._query("find_unscheduled", names)
        return unread

    async def find_due(self, name: str) -> frozenset[str] | None:
        """Return the URLs of a site to request; `None` for all."""
        if self.plan is None:
            return None
        due: frozenset[str] | None = await self._query("find_due", self.plan, name)
        return due

    async def find_next_due(self, name: str) -> dict[str, Any]:
        """Return the fields of `SiteOutcome` that say when a site is due next."""
        if self.plan is None:
            return {}
        next_due: dict[str, Any] = await self._query("find_next_due", name)
        return next_due

    async def _query(
        self,
        function: str,
        *values: Any,
        **names: Any,
    ) -> Any:
        """Return the result of a function of the schedule for the present state."""
        from sitemapreader.changes import schedule  # noqa: PLC0415 (few runs have a state)

        file = self._file
        state = self._state
        assert file is not None and state is not None  # noqa: S101, PT018 (`revisit` needs one)
        find = partial(getattr(schedule, function), **names)
        return await file.query(lambda db: find(db, *values, state.clock()))
