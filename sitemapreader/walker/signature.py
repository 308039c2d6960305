"""What a walk is called in a state, and what tells it from another walk over the same site."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sitemapreader.state.state import name_of_sitemaps
from sitemapreader.urls import url_key

if TYPE_CHECKING:
    from sitemapreader.walker.plan import Plan


def name_of(plan: Plan) -> str:
    """Return the name under which a state has what is walked over."""
    if plan.search is not None and not plan.sitemaps:
        return url_key(plan.search.site)
    named = [entry.loc for entry in plan.sitemaps]
    return name_of_sitemaps([plan.search.site, *named] if plan.search else named)


def options_of(plan: Plan) -> bytes:
    """Return a hash of all that decides what a walk hands over."""
    search, follow = plan.search, plan.follow
    parts: list[Any] = [
        plan.since,
        plan.include,
        plan.exclude,
        plan.undated,
        plan.prune,
        plan.unique,
        plan.hosts,
        plan.scope,
        plan.respect_robots,
        sorted(plan.extra_formats),
        plan.changes,
        search and (search.probe, search.extra_paths, search.feeds),
        follow and (getattr(follow, "__module__", ""), getattr(follow, "__qualname__", "")),
    ]
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
