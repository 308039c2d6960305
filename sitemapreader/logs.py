"""The logger of the package, for services; silent unless it is configured.

The report holds all that is logged, but only at the end. URLs in lines are cut, escaped and without
passwords, because strangers wrote them.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.issues import show_url

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGGER = logging.getLogger("sitemapreader")
LOGGER.addHandler(logging.NullHandler())


@attrs.define
class LoggedRequest:
    """A request to be logged; the caller sets `status` when there is an answer."""

    status: int = 0


@contextmanager
def log_request(url: str) -> Iterator[LoggedRequest]:
    """Log a request when it ends: its status or error, and its seconds."""
    request, began = LoggedRequest(), time.monotonic()
    result = "cancelled"
    try:
        yield request
        result = str(request.status)
    except FetchError as error:
        result = str(error.code)
        raise
    finally:
        if LOGGER.isEnabledFor(logging.DEBUG):
            seconds = time.monotonic() - began
            LOGGER.debug("GET %s: %s, %.3f s", show_url(url), result, seconds)


def log_pause(host: str, seconds: float, reason: str) -> None:
    """Log that a host gets no request for some time, and why."""
    LOGGER.info("%s: no request for %.0f s: %s", show_url(host), seconds, reason)
