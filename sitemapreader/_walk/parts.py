"""The parts of one walk, and the one place where they are built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sitemapreader._walk.context import Budget, UrlAllowance, WalkContext
from sitemapreader._walk.filters import EntryFilter
from sitemapreader._walk.frontier import Frontier
from sitemapreader._walk.queue import SitemapQueue
from sitemapreader._walk.robots import WalkRobots
from sitemapreader._walk.robots_rules import RobotsRules
from sitemapreader.fetch.clients import make_client
from sitemapreader.fetch.hosts import HostBreaker
from sitemapreader.pages.client import PageClient

if TYPE_CHECKING:
    from sitemapreader._walk.config import WalkConfig
    from sitemapreader._walk.context import Batch
    from sitemapreader._walk.memory import WalkMemory
    from sitemapreader._walk.report import Report
    from sitemapreader._walk.stream import Channel
    from sitemapreader.fetch.client import Fetcher


@attrs.frozen(eq=False)
class WalkParts:
    """The parts of one walk.

    Attributes:
        config: the arguments of the caller.
        context: the client, budget and report, and the way to the consumer.
        memory: the memory of earlier walks.
        frontier: the sitemaps, and the queue of the ones that wait.
        rules: the rules by which a sitemap may be fetched.
        pages: requests the pages of URLs.
        entry_filter: the filters of entries.
    """

    config: WalkConfig
    context: WalkContext
    memory: WalkMemory
    frontier: Frontier
    rules: RobotsRules
    pages: PageClient
    entry_filter: EntryFilter


def build_parts(
    config: WalkConfig,
    fetcher: Fetcher,
    report: Report,
    channel: Channel[Batch],
    memory: WalkMemory,
) -> WalkParts:
    """Build the parts of one walk, whose clock starts now.

    Raises TypeError if hosts are mapped and the fetcher is none of ours.
    """
    options = config.options
    limits = config.limits
    urls = config.max_urls
    if isinstance(urls, int):
        urls = UrlAllowance(urls)
    client = make_client(fetcher, options.user_agent, options, config.map_hosts)
    budget = Budget(limits, urls)
    channel.stop_clock = budget.clock_stopped
    context = WalkContext(
        client=client,
        options=options,
        limits=limits,
        budget=budget,
        report=report,
        emit=channel.put,  # of a run over sites without a state: `SiteChannel.put`
        responses=memory,
        files=config.files,
    )
    # `discover` must not skip guesses because others failed: its breaker counts nothing
    breaker = context.breaker if config.reads else HostBreaker(options)
    queue = SitemapQueue(config.follow.order, breaker)
    robots = WalkRobots(context, respect=config.search.respect_robots)
    return WalkParts(
        config=config,
        context=context,
        memory=memory,
        frontier=Frontier(queue, limits.documents, config.site),
        rules=RobotsRules(context, config.follow.hosts, robots),
        pages=PageClient(context.client, robots),
        entry_filter=EntryFilter(config.selection),
    )
