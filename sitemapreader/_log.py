"""The logger of this package: for services, and silent unless it is configured."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("sitemapreader")
"""Logger of the events of a walk; its report has all of them at the end."""
LOGGER.addHandler(logging.NullHandler())
