"""The arguments of a walk: their type, and the checked values.

Misuse raises at once, with what to write instead.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import attrs

from sitemapreader._types.arguments import (
    Changes,
    Follow,
    Search,
    TakeChild,
)
from sitemapreader._types.fields import check_flag
from sitemapreader._types.hosts import HostMap
from sitemapreader._types.issues import Issue, without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import (
    FetchOptions,
    Limits,
    check_function,
)
from sitemapreader._types.outcomes import Document
from sitemapreader._types.urls import check_url, is_file_url, path_of
from sitemapreader._walk.search import SiteArguments
from sitemapreader._walk.selection import Selection
from sitemapreader.fetch.client import Fetcher, find_settings
from sitemapreader.fetch.local import FolderFetcher

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from sitemapreader._types.hosts import HostPairs
    from sitemapreader._walk.context import Batch, UrlAllowance
    from sitemapreader._walk.memory import WalkMemory
    from sitemapreader._walk.stream import Channel

_NO_WAIT = 0.01
_LEAST_SECONDS = 1e-6
"""A limit is above zero; nothing is fetched in so short a time."""


Gate: TypeAlias = Callable[[SitemapEntry], Awaitable[str]]
"""Awaited before each sitemap is fetched; returns the reason to skip it, or ""."""
OnDocument: TypeAlias = Callable[[Document], object]
"""Called with each document when its outcome is known."""
OnIssue: TypeAlias = Callable[[Issue], object]
"""Called with each Issue as it is found."""
Sitemaps: TypeAlias = Iterable[str | Path | SitemapEntry]
"""URLs, paths of files, or entries from a discovery or a reader."""


class WalkState(Protocol):
    """A state, which opens a memory for each walk."""

    def open_memory(self, settings: WalkConfig, channel: Channel[Batch]) -> WalkMemory:
        """Open the memory of a walk; raise StateError if it cannot be used."""
        ...


def _sitemaps(values: Sitemaps) -> tuple[SitemapEntry, ...]:
    if isinstance(values, str | bytes | Path | SitemapEntry):
        raise TypeError(
            "sitemaps must be a list: write sitemaps=[url], not sitemaps=url"
        )
    return tuple(map(_given, values))


def _find_path(value: object) -> Path | None:
    """Return the path that a `Path` or a `file:` URL names; `None` for anything else."""
    if isinstance(value, str) and is_file_url(value):
        return Path(path_of(value))
    return value if isinstance(value, Path) else None


def _name_file(path: Path) -> str:
    """Return the `file:` URL of a file; raise OSError if there is none."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: write walk(Path({str(path)!r}))")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path.resolve().as_uri()


def _given(value: str | Path | SitemapEntry) -> SitemapEntry:
    """Return an entry for a URL or file that the caller named."""
    # SECURITY: an entry that a document named stays one, though the caller passes it on. Only the
    # caller's own URLs may have private addresses, for example.
    if not isinstance(value, SitemapEntry):
        path = _find_path(value)
        if path is None:
            url = check_url("each of sitemaps", value)
        else:
            url = _name_file(path)
        return SitemapEntry(url, via=Via.GIVEN)
    if value.sitemap and value.via is not Via.WELL_KNOWN:
        return value
    return attrs.evolve(value, via=Via.GIVEN)


def _host_map(hosts: HostMap | HostPairs) -> HostMap:
    if isinstance(hosts, HostMap):
        return hosts
    return HostMap(hosts)


@attrs.frozen(kw_only=True, eq=False)
class WalkConfig:
    """The checked arguments of a walk: see `walk`.

    Raises TypeError or ValueError for arguments that make no sense.
    """

    name: str = ""
    """Name of the site, as it was given; "" for its URL."""
    search: SiteArguments = attrs.field(factory=SiteArguments)
    """The site, and how its sitemaps are searched."""
    sitemaps: tuple[SitemapEntry, ...] = attrs.field(default=(), converter=_sitemaps)
    selection: Selection = attrs.field(factory=Selection)
    follow: Follow = attrs.field(factory=Follow)
    map_hosts: HostMap = attrs.field(factory=HostMap, converter=_host_map)
    state: WalkState | None = None
    changes: bool = False
    unlisted: bool = False
    gone: int | UrlAllowance = 0
    """An allowance may be shared by several walks."""
    revisit: int | frozenset[str] | None = None
    """Number of documents to request from a site that the state knows, or their URLs."""
    max_urls: int | UrlAllowance | None = None
    """An allowance may be shared by several walks."""
    on_document: OnDocument | None = None
    on_issue: OnIssue | None = None
    trusted: bool = attrs.field(default=True, validator=check_flag)
    gate: Gate | None = None
    """Gate of the caller; its reasons are in `outcomes.EXPECTED_SKIPS`, or count as a loss."""
    queue_per_worker: int = 0
    """Number of sitemaps that wait for each worker before another one is started."""
    reads: bool = True
    """True if sitemaps are read, and not only found."""
    base_url: str | None = None
    """Base of relative URLs, if that is not the address of their document; "" if there is none."""
    logins: tuple[str, ...] = ()
    """URLs that are trusted besides, with the user and password for their origins."""
    fetcher: Fetcher | None = None
    limits: Limits = attrs.field(factory=Limits)
    options: FetchOptions = attrs.field(factory=FetchOptions)

    def __attrs_post_init__(self) -> None:
        check_function("on_document", self.on_document, "a Document")
        check_function("on_issue", self.on_issue, "an Issue")
        if not self.site and not self.sitemaps:
            raise ValueError(
                "no site was given: write one, as in walk('https://example.org/'), "
                "or sitemaps=[url]"
            )
        if self.files and not self.trusted:
            # SECURITY: names that others wrote must not open files of this machine.
            raise ValueError(
                "a file cannot be combined with trusted=False, because strangers may not name files"
            )
        is_cut = self.state is not None or self.max_urls is not None
        if self.selection.sample is not None and is_cut:
            raise ValueError(
                "`sample` cannot be combined with `state` or `Limits.max_urls`, "
                "because it needs all URLs"
            )
        if self.gone:
            check_asking(self)

    @property
    def site(self) -> str:
        """The URL of the site, or ""."""
        return self.search.site

    @property
    def named(self) -> list[str]:
        """The URLs that the caller named."""
        urls = [self.site] if self.site else []
        given = (entry.loc for entry in self.sitemaps if entry.via is Via.GIVEN)
        return [*urls, *given]

    @property
    def files(self) -> frozenset[str]:
        """The `file:` URLs that the caller named."""
        return frozenset(filter(is_file_url, self.named))


def borrow_fetcher(
    config: WalkConfig, **more: Any
) -> AbstractAsyncContextManager[Fetcher]:
    """Return a context with the caller's fetcher, or an HttpFetcher, closed at its end."""
    if config.fetcher is not None:
        return nullcontext(config.fetcher)
    from sitemapreader.fetch.http import HttpFetcher  # noqa: PLC0415 (aiohttp takes 150 ms)

    return HttpFetcher(config.options, limits=config.limits, **more)


def check_asking(config: WalkConfig) -> None:
    """Raise ValueError if pages may not be requested."""
    if config.map_hosts:
        raise ValueError(
            "`gone` cannot be combined with `map_hosts`, because another server responds for "
            "these pages"
        )


def shorten(limits: Limits, seconds: float) -> Limits:
    """Return limits by which a walk takes no longer."""
    if seconds >= limits.walk_seconds:
        return limits
    return attrs.evolve(limits, walk_seconds=max(seconds, _LEAST_SECONDS))


def _check_type(
    name: str,
    value: object,
    kind: type,
    example: str,
) -> None:
    if value is not None and not isinstance(value, kind):
        raise TypeError(
            f"{name} must be of type {kind.__name__}, got {value!r}{example}"
        )


def make_config(
    site: str | Path | None,
    *,
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    changes: Changes | None = None,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
    **arguments: Any,
) -> WalkConfig:
    """Check the arguments of a walk, or fields of `WalkConfig`."""
    _check_type("search", search, Search, ": write search=Search(probe='few')")
    _check_type("limits", limits, Limits, ": write limits=Limits(max_urls=1_000)")
    _check_type("options", options, FetchOptions, ": write options=FetchOptions(...)")
    if isinstance(site, list | tuple | set | frozenset):
        raise TypeError(
            f"site must be one URL, got {type(site).__name__}: write walk_many(sites) for several"
        )
    chosen = attrs.fields_dict(Selection).keys() & arguments.keys()
    filters = {name: arguments.pop(name) for name in chosen}
    selection = Selection(**filters)
    if follow is None or not isinstance(follow, Follow):
        follow = Follow(follow)
    if changes is not None:
        state = arguments["state"]
        arguments |= attrs.asdict(changes, recurse=False)
        arguments |= {"state": state, "changes": True}
    url: Any = site  # the field checks what is no text
    path = _find_path(site)
    if path is not None and path.is_dir():
        if fetcher is not None:
            raise TypeError(
                "fetcher= cannot be combined with a folder, which has its own fetcher"
            )
        fetcher = FolderFetcher(path)
        url = fetcher.base_url
    elif path is not None:
        sitemaps = arguments.get("sitemaps", ())
        arguments["sitemaps"] = (path, *sitemaps)
        url = None
    known, used = find_settings(fetcher, limits, options)
    # what fails is due again later: `schedule.pause`
    if arguments.get("revisit") is not None:
        used = attrs.evolve(
            used,
            max_attempts=1,
            host_trials=1,
            host_pause_seconds=_NO_WAIT,
            retry_after_seconds=_NO_WAIT,
        )
    if known.max_time is not None:
        known = shorten(known, known.max_time.total_seconds())
    searched = attrs.asdict(search or Search(), recurse=False)
    site_arguments = SiteArguments(
        site=url,
        respect_robots=used.respect_robots,
        **searched,
    )
    arguments.setdefault("max_urls", known.max_urls)
    config = WalkConfig(
        search=site_arguments,
        selection=selection,
        follow=follow,
        fetcher=fetcher,
        limits=known,
        options=used,
        map_hosts=used.map_hosts,
        **arguments,
    )
    return _separate_logins(config)


def _separate_logins(config: WalkConfig) -> WalkConfig:
    """Remove users and passwords from the URLs: they are sent, and stand in no outcome."""
    logins = [url for url in config.named if url != without_userinfo(url)]
    if not logins:
        return config
    site = without_userinfo(config.site)
    sitemaps = [
        attrs.evolve(entry, loc=without_userinfo(entry.loc))
        for entry in config.sitemaps
    ]
    return attrs.evolve(
        config,
        search=attrs.evolve(config.search, site=site),
        sitemaps=sitemaps,
        logins=tuple(logins),
    )
