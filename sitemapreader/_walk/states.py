"""The life of one sitemap: its states, and one table of the transitions between them.

The rule: everything that changes the state of a sitemap is in this file. A part of the walk says
which state the sitemap enters (`SitemapLife.enter`). A transition that `TRANSITIONS` does not have
is a bug of ours, and raises.
"""

from __future__ import annotations

from enum import Enum, auto

import attrs


class SitemapState(Enum):
    """One stage in the life of a sitemap."""

    # There is one of each, so its place is a hash, which takes no call of Python's.
    __hash__ = object.__hash__

    WAITING = auto()
    """It is in the queue."""
    PARKED = auto()
    """It is beside the queue, because its host is paused."""
    TAKEN = auto()
    """A worker has it, and asks the memory and the rules of the walk whether to request it."""
    REQUESTED = auto()
    """The request is under way, with its redirects."""
    RESPONDED = auto()
    """The head of its response has arrived."""
    DETECTING = auto()
    """Its body is read; it is not known yet whether it is a sitemap."""
    READING = auto()
    """It is a find: its entries are delivered."""
    REUSED = auto()
    """It has not changed, or is not due: an earlier reading gives its format and its children."""
    ENDING = auto()
    """It was read as far as it can be, or its request has failed: its outcome is judged."""
    # The next five are ends, with the outcome of the same name: see `Status`.
    COMPLETE = auto()
    PARTIAL = auto()
    FAILED = auto()
    UNCHANGED = auto()
    SKIPPED = auto()
    DUPLICATE = auto()
    """Another sitemap reads its document: redirects lead from one to the other."""
    LEFT = auto()
    """The walk ended at once, after the request had begun: it was left, or a bug was raised."""

    @property
    def is_end(self) -> bool:
        """True if nothing follows."""
        return self in ENDS

    @property
    def is_queued(self) -> bool:
        """True if it waits, and no worker has it."""
        return self in QUEUED


_State = SitemapState

TRANSITIONS = {
    _State.WAITING: {_State.PARKED, _State.TAKEN, _State.DUPLICATE, _State.SKIPPED},
    _State.PARKED: {_State.WAITING, _State.DUPLICATE},
    _State.TAKEN: {
        _State.SKIPPED,
        _State.DUPLICATE,
        _State.REUSED,
        _State.REQUESTED,
        _State.ENDING,
    },
    _State.REQUESTED: {
        _State.REQUESTED,  # again, because the response was about another version
        _State.PARKED,
        _State.RESPONDED,
        _State.ENDING,
        _State.LEFT,
    },
    _State.RESPONDED: {
        _State.DUPLICATE,
        _State.REUSED,
        _State.DETECTING,
        _State.ENDING,
        _State.LEFT,
    },
    _State.DETECTING: {_State.READING, _State.ENDING, _State.LEFT},
    _State.READING: {_State.ENDING, _State.LEFT},
    _State.REUSED: {_State.ENDING, _State.LEFT},
    _State.ENDING: {
        _State.COMPLETE,
        _State.PARTIAL,
        _State.FAILED,
        _State.UNCHANGED,
        _State.SKIPPED,
        _State.LEFT,
    },
}
"""State -> the states that may follow."""

ENDS = frozenset(SitemapState) - TRANSITIONS.keys()
"""States that no transition leaves."""
QUEUED = frozenset(
    state
    for state, following in TRANSITIONS.items()
    if following & {_State.TAKEN, _State.WAITING}
)
"""States in which a sitemap waits for a worker: the queue keeps it, and takes or wakes it."""


@attrs.define(eq=False, weakref_slot=False)
class SitemapLife:
    """The state of one sitemap, which nothing but its transitions changes."""

    state: SitemapState = attrs.field(default=SitemapState.WAITING, init=False)
    """The present state: set here, and nowhere else."""

    def check_release(self) -> None:
        """Raise RuntimeError if a worker would leave the sitemap in the middle of its life."""
        if not (self.state.is_end or self.state.is_queued):
            raise RuntimeError(
                f"a worker has done all for a sitemap in the state {self.state.name}: report "
                "the state that ends it, or let `WAITING` follow this state"
            )

    def enter(self, state: SitemapState) -> None:
        """Change the state; raise RuntimeError if the table does not have the transition."""
        if state not in TRANSITIONS.get(self.state, ()):
            raise RuntimeError(
                f"a sitemap in the state {self.state.name} cannot enter the state "
                f"{state.name}: add that to `TRANSITIONS`, or do not report it"
            )
        self.state = state
