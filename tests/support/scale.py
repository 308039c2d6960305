"""How much the tests do of what they could repeat for ever: mutations, kills, random examples."""

from __future__ import annotations

import os

SCALE = int(os.environ.get("TEST_SCALE", "1"))
"""`TEST_SCALE=10 python -m pytest ...` looks ten times further than `.ci/run` has time for."""
