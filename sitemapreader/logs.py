"""The logger of the package, for services; silent unless it is configured.

The report holds all that is logged, but only at the end. URLs in lines are cut, escaped and without
passwords, because strangers wrote them.
"""

from __future__ import annotations

import logging

from sitemapreader.issues import show_url

LOGGER = logging.getLogger("sitemapreader")
LOGGER.addHandler(logging.NullHandler())


def log_request(url: str, seconds: float, result: str) -> None:
    """Log a request that has ended: its status or error, and its seconds."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        LOGGER.debug("GET %s: %s, %.3f s", show_url(url), result, seconds)


def log_pause(host: str, seconds: float, reason: str) -> None:
    """Log that a host gets no request for some time, and why."""
    LOGGER.info("%s: no request for %.0f s: %s", show_url(host), seconds, reason)
