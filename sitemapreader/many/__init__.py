"""Many sites in one run: one fetcher, one state, one stream, many outcomes."""

from __future__ import annotations

from typing import Unpack

from sitemapreader.many.run import AT_ONCE, OnSite, SiteRun
from sitemapreader.many.sources import Sites, SiteTask, name_site
from sitemapreader.options import SITE_SECONDS
from sitemapreader.walker.config import SharedArguments, refuse_unknown

__all__ = ["SiteRun", "SiteTask", "name_site", "walk_many", "walk_many_sync"]


def walk_many(
    sites: Sites,
    *,
    at_once: int = AT_ONCE,
    site_seconds: float | None = SITE_SECONDS,
    on_site: OnSite | None = None,
    **arguments: Unpack[SharedArguments],
) -> SiteRun:
    """Walk over the sitemaps of many sites at once.

    ```python
    async with walk_many(open("hosts.txt"), probe="few", state="all.db") as run:
        async for site, entries in run.batches():
            print(site, len(entries))
    for outcome in run.outcomes:
        print(outcome.site, outcome.status, outcome.reason)
    ```

    Without `await`, write `with walk_many_sync(...)` and `for`: the walks run in a thread of their
    own then, which also reads `sites` and calls `on_site`.

    Args:
        sites: URLs, names of hosts or objects of `SiteTask`, from any iterable or async iterable.
            It is read only as fast as sites are walked, and never as a whole; one that is no list
            or other collection in a thread, for it may wait. A site named twice is read once, if
            less than five million others come between. A URL may be that of a site or of a
            sitemap. Other texts get an outcome, too.
        at_once: how many sites are read at the same time. Sites of one registrable domain wait for
            each other.
        site_seconds: how long one site may take, without that for which you hold it up (but by
            blocking the event loop: `walk_many_sync` has one of its own); URLs that were read until
            then are kept. `None` leaves it to `limits`.
        on_site: called with the `SiteOutcome` of each site when it is known; they are not kept in
            `SiteRun.outcomes` then. It must not block. An exception that it raises ends the run,
            which raises it.
        arguments: all other arguments of `walk`, for each site; a `state` is one file for all, and
            `max_urls` is for each site, `revisit` for all together: a site of which nothing is due
            is not asked (`not-due`). But the sites are not `trusted` unless you say so: only
            public addresses and the ports 80 and 443 are connected to;
            `FetchOptions.allow_networks` and `allow_ports` open more.

    One fetcher serves all sites. A bug that ends the walk over one site does not end the others.
    Raises what `walk` raises.
    """
    refuse_unknown("walk_many", arguments.keys() - SharedArguments.__annotations__.keys())
    if isinstance(sites, str | bytes):
        raise TypeError("sites must be several: write walk_many([url]), not walk_many(url)")
    return SiteRun(sites, at_once=at_once, site_seconds=site_seconds, on_site=on_site, **arguments)


walk_many_sync = walk_many
"""The same function: what it returns is entered with `with` or with `async with`."""
