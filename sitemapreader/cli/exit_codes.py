"""The exit codes of the program and their meanings, as in docs/exit-codes.md."""

from __future__ import annotations

ALL_READ, NO_URL, USAGE, PARTIAL, NOTHING_FETCHED, FOUND, LOCKED = range(7)
SIGNALLED = 128
"""Added to the number of the signal that stopped the program, as a shell reports it."""
INTERRUPTED = SIGNALLED + 2
CLOSED_PIPE = SIGNALLED + 13

MEANINGS = {
    str(ALL_READ): "everything was read",
    str(NO_URL): "no URL was found, or the output could not be written",
    str(USAGE): "wrong usage; nothing was fetched",
    str(PARTIAL): "URLs were printed, and something that is listed was not read",
    str(NOTHING_FETCHED): "nothing could be fetched",
    str(FOUND): "audit: there are findings that --fail-on names",
    str(LOCKED): "another run is writing the state; nothing was fetched",
    f"{SIGNALLED + 1}, {INTERRUPTED}, {SIGNALLED + 15}": "stopped by SIGHUP, SIGINT, SIGTERM",
    str(CLOSED_PIPE): "the reader of the output went away",
}
"""One or more codes -> their meaning, as `--help` prints it."""
