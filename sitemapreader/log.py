"""The logger of this package: for services, and silent unless it is configured."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("sitemapreader")
"""A copy of what happens; the report of a walk holds all of it at the end."""
LOGGER.addHandler(logging.NullHandler())
