"""The arguments of a walk: their type, and the checked values.

Misuse raises at once, with what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import attrs
from attrs.converters import optional

from sitemapreader._types.arguments import (
    Changes,
    Follow,
    Order,
    Sample,
    Search,
    TakeChild,
)
from sitemapreader._types.dates import as_since, as_until
from sitemapreader._types.issues import without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import (
    FetchOptions,
    Limits,
    check_flag,
    check_function,
    one_of,
)
from sitemapreader._types.outcomes import Document
from sitemapreader._types.patterns import compile_pattern
from sitemapreader._types.urls import HostScope, check_url, is_file_url, path_of
from sitemapreader._walk.search import SiteArguments
from sitemapreader.fetch.client import Fetcher, find_settings
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.fetch.urls import HostMap

if TYPE_CHECKING:
    from sitemapreader._walk.context import Batch, UrlAllowance
    from sitemapreader._walk.memory import WalkMemory, WalkSettings
    from sitemapreader._walk.stream import Channel
    from sitemapreader.fetch.urls import HostPairs

_NO_WAIT = 0.01
_LEAST_SECONDS = 1e-6
"""A limit is above zero; nothing is fetched in so short a time."""


Undated: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries without a date by `since` and `until`."""
Scope: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries outside the folder of their sitemap."""
Gate: TypeAlias = Callable[[SitemapEntry], Awaitable[str]]
"""Awaited before each sitemap is fetched; returns the reason to skip it, or ""."""
OnDocument: TypeAlias = Callable[[Document], object]
"""Called with each document when its outcome is known."""
Sitemaps: TypeAlias = Iterable[str | Path | SitemapEntry]
"""URLs, paths of files, or entries from a discovery or a reader."""

Patterns: TypeAlias = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""One or several regular expressions, each searched for in a URL; or globs such as "/blog/*"."""


class WalkState(Protocol):
    """A state, which opens a memory for each walk."""

    def open_memory(
        self, settings: WalkSettings, channel: Channel[Batch]
    ) -> WalkMemory:
        """Open the memory of a walk; raise StateError if it cannot be used."""
        ...


def _patterns(values: Patterns) -> tuple[re.Pattern[str], ...]:
    if isinstance(values, Iterable) and not isinstance(values, str):
        several = values
    else:
        several = (values,)
    return tuple(map(_pattern, several))


def _pattern(value: str | re.Pattern[str]) -> re.Pattern[str]:
    if isinstance(value, re.Pattern):
        text = value.pattern
    else:
        text = value
    if not isinstance(text, str):
        raise TypeError(
            f"include and exclude must be regular expressions for text, got {value!r}: "
            r"write include=r'/blog/' or include=[r'/blog/', r'\.html$'], "
            "and call functions inside the loop"
        )
    return value if isinstance(value, re.Pattern) else compile_pattern(value)


_LANGUAGE = re.compile(r"[a-z]{1,8}([-_][a-z0-9]{1,8})*", re.IGNORECASE | re.ASCII)


def _languages(values: str | Iterable[str]) -> tuple[str, ...]:
    codes = tuple(values.split(",") if isinstance(values, str) else values)
    for code in codes if codes != ("",) else ():
        if not _LANGUAGE.fullmatch(str(code)):
            raise ValueError(
                f"`language` must have codes such as en or pt-BR, got {code!r}"
            )
    return tuple(code.lower().replace("_", "-") for code in codes if code)


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
class WalkConfig(SiteArguments):
    """The checked arguments of a walk: see `walk`.

    Raises TypeError or ValueError for arguments that make no sense.
    """

    sitemaps: tuple[SitemapEntry, ...] = attrs.field(default=(), converter=_sitemaps)
    since: datetime | None = attrs.field(default=None, converter=optional(as_since))
    until: datetime | None = attrs.field(default=None, converter=optional(as_until))
    undated: Undated = attrs.field(default="keep", validator=one_of(Undated))
    prune: bool = True
    follow: TakeChild | None = None
    order: Order = attrs.field(default="document", validator=one_of(Order))
    include: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    exclude: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    unique: bool = attrs.field(default=False, validator=check_flag)
    language: tuple[str, ...] = attrs.field(default=(), converter=_languages)
    sample: int | None = None
    seed: int = attrs.field(default=0, validator=attrs.validators.instance_of(int))
    hosts: HostScope = attrs.field(default="site", validator=one_of(HostScope))
    scope: Scope = attrs.field(default="keep", validator=one_of(Scope))
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
    max_time: timedelta | None = None
    on_document: OnDocument | None = None
    trusted: bool = attrs.field(default=True, validator=check_flag)
    gate: Gate | None = None
    """Gate of the caller; its reasons are in `outcomes.ASKED_FOR`, or count as a loss."""
    reads: bool = True
    """True if sitemaps are read, and not only found."""
    base_url: str | None = None
    """Base of relative URLs, if that is not the address of their document; "" for none."""
    logins: tuple[str, ...] = ()
    """URLs that are trusted besides, with the user and password for their origins."""
    fetcher: Fetcher | None = None
    limits: Limits = attrs.field(factory=Limits)
    options: FetchOptions = attrs.field(factory=FetchOptions)

    def __attrs_post_init__(self) -> None:
        check_function("on_document", self.on_document, "a Document")
        self._check_together()

    def _check_together(self) -> None:
        """Raise ValueError for arguments that contradict each other."""
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
        if self.sample is not None and (
            self.state is not None or self.max_urls is not None
        ):
            raise ValueError(
                "`sample` cannot be combined with `state` or `Limits.max_urls`, "
                "because it needs all URLs"
            )
        if self.gone:
            self.check_asking()

    @property
    def named(self) -> list[str]:
        """The URLs that the caller named."""
        sitemaps = [entry.loc for entry in self.sitemaps if entry.via is Via.GIVEN]
        if self.site:
            return [self.site, *sitemaps]
        return sitemaps

    @property
    def files(self) -> frozenset[str]:
        """The `file:` URLs that the caller named."""
        return frozenset(filter(is_file_url, self.named))

    def check_asking(self) -> None:
        """Raise ValueError if pages may not be requested."""
        if self.map_hosts:
            raise ValueError(
                "`gone` cannot be combined with `map_hosts`, because another server responds for "
                "these pages"
            )

    def mark_filters(self, folders: Iterable[str]) -> str:
        """Return the filters of a document as text: `since`, and a hash of all others.

        `folders` are its proven scope. A document that has not changed stays unread only if all
        entries that pass now were delivered before: if no filter kept any of them back then, or if
        it had the same filters (docs/state.md).
        """
        parts = (
            self.until,
            self.undated,
            [(each.pattern, each.flags) for each in self.include],
            [(each.pattern, each.flags) for each in self.exclude],
            sorted(folders) if self.scope == "drop" else None,
            self.unique,
            self.language,
        )
        # all of one length, so that texts compare as the moments do
        if self.since:
            since = self.since.astimezone(UTC).isoformat(timespec="microseconds")
        else:
            since = ""
        digest = blake2b(
            repr(parts).encode("utf-8", "surrogatepass"), digest_size=16
        ).hexdigest()
        return f"{since} {digest}"


def shorten(limits: Limits, seconds: float) -> Limits:
    """Return limits by which a walk takes no longer."""
    seconds = max(seconds, _LEAST_SECONDS)
    return attrs.evolve(limits, walk_seconds=min(seconds, limits.walk_seconds))


def _flatten(
    search: object, follow: object, sample: object, changes: Changes | None
) -> dict[str, Any]:
    """Return the fields of option objects as fields of a `WalkConfig`; raise TypeError."""
    fields: dict[str, Any] = {}
    if search is not None:
        if not isinstance(search, Search):
            raise TypeError(
                f"search must be a Search, got {search!r}: write search=Search(probe='few')"
            )
        fields |= attrs.asdict(search, recurse=False)
    if follow is not None:
        followed: Any = (
            follow if isinstance(follow, Follow) else Follow(cast("Any", follow))
        )
        fields |= attrs.asdict(followed, recurse=False)
        fields["follow"] = fields.pop("only")
    if sample is not None:
        drawn = sample if isinstance(sample, Sample) else Sample(cast("Any", sample))
        fields |= {"sample": drawn.number, "seed": drawn.seed}
    if changes is not None:
        fields |= attrs.asdict(changes, recurse=False) | {"changes": True}
        del fields["state"]
    return fields


def make_config(
    site: str | Path | None,
    *,
    search: Search | None = None,
    follow: Follow | TakeChild | None = None,
    sample: int | Sample | None = None,
    changes: Changes | None = None,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
    **arguments: Any,
) -> WalkConfig:
    """Check the arguments of a walk, or fields of `WalkConfig`."""
    arguments = _flatten(search, follow, sample, changes) | arguments
    for value, kind in ((limits, Limits), (options, FetchOptions)):
        if not isinstance(value, kind | None):
            name = "limits" if kind is Limits else "options"
            raise TypeError(f"{name} must be of type {kind.__name__}, got {value!r}")
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
        arguments["sitemaps"] = (path, *arguments.get("sitemaps", ()))
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
    config = WalkConfig(
        **{
            "site": url,
            "fetcher": fetcher,
            "limits": known,
            "options": used,
            "max_urls": known.max_urls,
            "max_time": known.max_time,
            "respect_robots": used.respect_robots,
            "map_hosts": used.map_hosts,
            **arguments,
        }
    )
    if config.max_time is not None:
        config = attrs.evolve(
            config, limits=shorten(known, config.max_time.total_seconds())
        )
    if logins := [url for url in config.named if url != without_userinfo(url)]:
        bare = [
            attrs.evolve(each, loc=without_userinfo(each.loc))
            for each in config.sitemaps
        ]
        config = attrs.evolve(  # a login is sent, and stands in no outcome
            config,
            site=without_userinfo(config.site),
            sitemaps=bare,
            logins=tuple(logins),
        )
    return config
