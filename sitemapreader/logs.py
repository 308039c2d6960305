"""The logger of the package, for services that embed a walk; it prints nothing by itself.

A report says everything that a log says, but only at the end. Lines hold URLs that strangers wrote:
they are cut, escaped and without passwords.
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
    """A request that is logged; `status` is set once there is an answer."""

    status: int = 0


@contextmanager
def log_request(url: str) -> Iterator[LoggedRequest]:
    """Log a request when it is over: its status, or how it failed, and its seconds."""
    request, began = LoggedRequest(), time.monotonic()
    said = "cancelled"
    try:
        yield request
        said = str(request.status)
    except FetchError as error:
        said = str(error.code)
        raise
    finally:
        if LOGGER.isEnabledFor(logging.DEBUG):
            seconds = time.monotonic() - began
            LOGGER.debug("GET %s: %s, %.3f s", show_url(url), said, seconds)


def log_pause(host: str, seconds: float, reason: str) -> None:
    """Log that nothing is asked of a host for some time, and why."""
    LOGGER.info("%s: no request for %.0f s: %s", show_url(host), seconds, reason)
