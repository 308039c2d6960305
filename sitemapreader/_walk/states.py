"""The life of one sitemap: its states, and one table of the transitions between them.

The rule: everything that changes the state of a sitemap is in this file. A part of the walk says
what has happened (`SitemapLife.process`); what that means is in `TRANSITIONS`. A transition that
the table does not have in a state is a bug of ours, and raises.
"""

from __future__ import annotations

from enum import Enum, auto

import attrs

from sitemapreader._types.outcomes import Status


class SitemapState(Enum):
    """One stage in the life of a sitemap."""

    # There is one of each, so its place is a hash, which takes no call of Python's.
    __hash__ = object.__hash__

    WAITING = auto()
    """It is in the queue."""
    PARKED = auto()
    """It is beside the queue, until its host may be requested again."""
    TAKEN = auto()
    """A worker asks the memory and the rules of the walk whether to request it."""
    REQUESTED = auto()
    """The request is under way, with its redirects."""
    RESPONDED = auto()
    """The head of its response has arrived."""
    DETECTING = auto()
    """Its body is read; it is not known yet whether it is a sitemap."""
    READING = auto()
    """It is a find: its entries are delivered."""
    REUSED = auto()
    """An earlier reading still holds, and gives its format and its children."""
    ENDING = auto()
    """Nothing more comes of it, and its outcome is judged."""
    # The next five are ends, with the outcome of the same name: see `Status`.
    COMPLETE = auto()
    PARTIAL = auto()
    FAILED = auto()
    UNCHANGED = auto()
    SKIPPED = auto()
    DUPLICATE = auto()
    """Another sitemap reads its document: redirects lead from one to the other."""
    LEFT = auto()
    """The walk was left after its request had begun."""

    @property
    def is_end(self) -> bool:
        """True if nothing follows."""
        return self in ENDS

    @property
    def is_queued(self) -> bool:
        """True if it waits, and no worker has it."""
        return self in QUEUED


class SitemapTransition(Enum):
    """One transition in the life of a sitemap."""

    __hash__ = object.__hash__

    PARK = auto()
    """Its host is paused."""
    WAKE = auto()
    """Its host may be requested again."""
    TAKE = auto()
    """A worker takes it."""
    SKIP = auto()
    """A rule, a limit, or its own content keeps it from being read."""
    MERGE = auto()
    """Redirects show that another sitemap reads the same document."""
    REQUEST = auto()
    """It is requested; again if the response was about another version."""
    RESPOND = auto()
    """The head of the response arrives."""
    REUSE = auto()
    """The server or the memory says that it has not changed, or is not due."""
    DETECT = auto()
    """The reading of its body begins: is it a sitemap?"""
    RECOGNIZE = auto()
    """Its content shows that it is a sitemap."""
    CLOSE = auto()
    """It was read to its end, as far as it can be, or the request has failed."""
    # The judgement: complete, partial, failed or unchanged.
    COMPLETE = auto()
    CUT = auto()
    FAIL = auto()
    CONFIRM = auto()
    LEAVE = auto()
    """The walk ends at once: its consumer leaves, or a bug is raised."""


_State = SitemapState
_Transition = SitemapTransition

TRANSITIONS: dict[SitemapState, dict[SitemapTransition, SitemapState]] = {
    _State.WAITING: {
        _Transition.PARK: _State.PARKED,
        _Transition.TAKE: _State.TAKEN,
        _Transition.MERGE: _State.DUPLICATE,
        _Transition.SKIP: _State.SKIPPED,
    },
    _State.PARKED: {
        _Transition.WAKE: _State.WAITING,
        _Transition.MERGE: _State.DUPLICATE,
    },
    _State.TAKEN: {
        _Transition.SKIP: _State.SKIPPED,
        _Transition.MERGE: _State.DUPLICATE,
        _Transition.REUSE: _State.REUSED,
        _Transition.REQUEST: _State.REQUESTED,
        _Transition.CLOSE: _State.ENDING,
    },
    _State.REQUESTED: {
        _Transition.REQUEST: _State.REQUESTED,
        _Transition.PARK: _State.PARKED,
        _Transition.RESPOND: _State.RESPONDED,
        _Transition.CLOSE: _State.ENDING,
        _Transition.LEAVE: _State.LEFT,
    },
    _State.RESPONDED: {
        _Transition.MERGE: _State.DUPLICATE,
        _Transition.REUSE: _State.REUSED,
        _Transition.DETECT: _State.DETECTING,
        _Transition.CLOSE: _State.ENDING,
        _Transition.LEAVE: _State.LEFT,
    },
    _State.DETECTING: {
        _Transition.RECOGNIZE: _State.READING,
        _Transition.CLOSE: _State.ENDING,
        _Transition.LEAVE: _State.LEFT,
    },
    _State.READING: {
        _Transition.CLOSE: _State.ENDING,
        _Transition.LEAVE: _State.LEFT,
    },
    _State.REUSED: {
        _Transition.CLOSE: _State.ENDING,
        _Transition.LEAVE: _State.LEFT,
    },
    _State.ENDING: {
        _Transition.COMPLETE: _State.COMPLETE,
        _Transition.CUT: _State.PARTIAL,
        _Transition.FAIL: _State.FAILED,
        _Transition.CONFIRM: _State.UNCHANGED,
        _Transition.SKIP: _State.SKIPPED,
        _Transition.LEAVE: _State.LEFT,
    },
}
"""State -> transition -> the next state."""

ENDS = frozenset(SitemapState) - TRANSITIONS.keys()
"""States that no transition leaves."""
QUEUED = frozenset(
    state
    for state, ways in TRANSITIONS.items()
    if not ways.keys().isdisjoint((SitemapTransition.TAKE, SitemapTransition.WAKE))
)
"""States in which a sitemap waits for a worker: the queue keeps it, and takes or wakes it."""

TRANSITIONS_BY_STATUS = {
    Status.COMPLETE: SitemapTransition.COMPLETE,
    Status.PARTIAL: SitemapTransition.CUT,
    Status.FAILED: SitemapTransition.FAIL,
    Status.UNCHANGED: SitemapTransition.CONFIRM,
    Status.SKIPPED: SitemapTransition.SKIP,
}
"""Outcome of a document -> the transition that ends its sitemap."""


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
                "the transition that ends it, or give the state the transition `WAKE`"
            )

    def process(self, transition: SitemapTransition) -> None:
        """Change the state by a transition; raise RuntimeError if the table does not have it."""
        try:
            self.state = TRANSITIONS[self.state][transition]
        except KeyError:
            raise RuntimeError(
                f"a sitemap in the state {self.state.name} had the transition "
                f"{transition.name}: add it to `TRANSITIONS`, or do not report it"
            ) from None
