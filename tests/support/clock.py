"""A clock that tests set: days pass between two walks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

DAY = 86_400.0


class SetClock:
    """The time of the process; waiting and time limits have a clock of their own.

    Attributes:
        now: seconds since 1970.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: float = 1_790_000_000.0) -> None:
        self.now = now
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "time_ns", lambda: round(self.now * 1_000_000) * 1_000)
