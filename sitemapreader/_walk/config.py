"""The arguments of a walk: their type, and the checked values.

Misuse raises at once, with what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

import attrs
from attrs.converters import optional

from sitemapreader._types.dates import as_since, as_until
from sitemapreader._types.habits import advise_argument
from sitemapreader._types.issues import without_userinfo
from sitemapreader._types.models import SitemapEntry, Via
from sitemapreader._types.options import ExtraFormats, FetchOptions, Limits, one_of
from sitemapreader._types.outcomes import Document
from sitemapreader._types.patterns import compile_pattern
from sitemapreader._types.urls import HostScope, check_url, is_file_url, path_of
from sitemapreader._walk.context import UrlAllowance
from sitemapreader._walk.search import Search
from sitemapreader.fetch.client import Fetcher, find_settings
from sitemapreader.fetch.local import FolderFetcher
from sitemapreader.fetch.urls import HostMap

if TYPE_CHECKING:
    from sitemapreader._types.dates import When
    from sitemapreader._walk.context import Batch
    from sitemapreader._walk.memory import WalkMemory, WalkSettings
    from sitemapreader._walk.search import Probe
    from sitemapreader._walk.stream import Channel
    from sitemapreader.fetch.urls import HostPairs

_NO_WAIT = 0.01
_LEAST_SECONDS = 1e-6
"""A limit is above zero; nothing is fetched in so short a time."""

_FLAGS = (
    "feeds",
    "respect_robots",
    "trusted",
    "prune",
    "unique",
    "changes",
    "unlisted",
)
_TYPES_BY_ARGUMENT: dict[str, type] = {
    **dict.fromkeys(_FLAGS, bool),
    "limits": Limits,
    "options": FetchOptions,
}
"""Arguments -> their type, where another one would be taken for something, or fail late."""

Undated: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries without a date by `since` and `until`."""
Scope: TypeAlias = Literal["keep", "drop"]
"""Treatment of entries outside the folder of their sitemap."""
Order: TypeAlias = Literal["document", "newest"]
"""As sitemaps are listed; or the newest first, by the lastmod in their index."""
Follow: TypeAlias = Callable[[SitemapEntry], bool]
"""Called with every child before it is fetched; returns whether to fetch it."""
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


class SearchArguments(TypedDict, total=False):
    """The keyword arguments of `discover`."""

    probe: Probe
    extra_paths: Iterable[str]
    feeds: bool
    map_hosts: Mapping[str, str]
    respect_robots: bool
    extra_formats: ExtraFormats
    trusted: bool
    fetcher: Fetcher | None
    limits: Limits | None
    options: FetchOptions | None


class SharedArguments(SearchArguments, total=False):
    """The keyword arguments that `walk` and `walk_many` share."""

    since: When | None
    until: When | None
    undated: Undated
    prune: bool
    follow: Follow | None
    order: Order
    include: Patterns
    exclude: Patterns
    unique: bool
    language: str | Iterable[str]
    sample: int | None
    seed: int
    hosts: HostScope
    scope: Scope
    state: str | Path | WalkState | None
    changes: bool
    unlisted: bool
    gone: int
    revisit: int | None
    max_urls: int | None
    max_time: timedelta | None
    on_document: OnDocument | None


class WalkArguments(SharedArguments, total=False):
    """The keyword arguments of `walk`, for `to_dataframe` and others.

    `walk` explains them.
    """

    sitemaps: Sitemaps


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


def check_function(name: str, value: object, what: str) -> None:
    """Raise TypeError unless the value is a function of `what`, called without `await`."""
    if value is None:  # nearly always; the look at its kind takes a while
        return
    call = getattr(value, "__call__", None)  # noqa: B004 (its kind)
    is_async = iscoroutinefunction(value) or iscoroutinefunction(call)
    if is_async or not callable(value):
        raise TypeError(
            f"{name} must be a function of {what}, and not a coroutine function"
        )


_NESTED_ARGUMENTS = {
    **{name: f"limits=Limits({name}=...)" for name in attrs.fields_dict(Limits)},
    **{
        name: f"options=FetchOptions({name}=...)"
        for name in attrs.fields_dict(FetchOptions)
    },
}
"""Fields of settings -> how an argument of a walk sets them."""


def refuse_unknown(function: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise TypeError for a name that is not among the known arguments of a function."""
    for name in names:
        if name in known:
            continue
        hint = (
            advise_argument(name, known, _NESTED_ARGUMENTS) or " see its documentation"
        )
        raise TypeError(f"{function} has no argument {name!r}:{hint}")


def _host_map(hosts: HostMap | HostPairs) -> HostMap:
    if isinstance(hosts, HostMap):
        return hosts
    return HostMap(hosts)


def _time(_: object, __: object, value: timedelta | None) -> None:
    if not isinstance(value, timedelta | None):
        raise TypeError(
            f"max_time must be a timedelta, got {value!r}: write timedelta(minutes=30)"
        )
    if value is not None and value <= timedelta(0):
        raise ValueError(f"max_time must be positive, got {value!r}")


def check_count(name: str, value: object, least: int = 1) -> None:
    """Raise TypeError or ValueError unless the value is a whole number of `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


@attrs.frozen(kw_only=True, eq=False)
class WalkConfig(Search):
    """The checked arguments of a walk: see `walk`.

    Raises TypeError or ValueError for arguments that make no sense.
    """

    sitemaps: tuple[SitemapEntry, ...] = attrs.field(default=(), converter=_sitemaps)
    since: datetime | None = attrs.field(default=None, converter=optional(as_since))
    until: datetime | None = attrs.field(default=None, converter=optional(as_until))
    undated: Undated = attrs.field(default="keep", validator=one_of(Undated))
    prune: bool = True
    follow: Follow | None = None
    order: Order = attrs.field(default="document", validator=one_of(Order))
    include: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    exclude: tuple[re.Pattern[str], ...] = attrs.field(default=(), converter=_patterns)
    unique: bool = False
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
    max_time: timedelta | None = attrs.field(default=None, validator=_time)
    on_document: OnDocument | None = None
    trusted: bool = True
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
        for name, kind in _TYPES_BY_ARGUMENT.items():
            if not isinstance(value := getattr(self, name), kind):
                raise TypeError(
                    f"{name} must be of type {kind.__name__}, got {value!r}"
                )
        check_function("follow", self.follow, "a SitemapEntry that returns a bool")
        check_function("on_document", self.on_document, "a Document")
        for name, least in (
            ("sample", 1),
            ("gone", 0),
            ("revisit", 1),
            ("max_urls", 1),
        ):
            value = getattr(self, name)
            if not isinstance(value, UrlAllowance | frozenset | None):
                check_count(name, value, least)
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
        if self.changes and self.state is None:
            raise ValueError("`changes=True` requires `state`")
        if self.sample is not None and (
            self.state is not None or self.max_urls is not None
        ):
            raise ValueError(
                "`sample` cannot be combined with `state` or `max_urls`, because it needs all URLs"
            )
        if self.revisit is not None and not self.changes:
            raise ValueError("`revisit` requires `changes=True` and `state`")
        for name in ("unlisted", "gone"):
            if getattr(self, name) and not self.changes:
                raise ValueError(f"`{name}` requires `changes=True` and `state`")
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


def make_config(
    site: str | Path | None,
    *,
    fetcher: Fetcher | None = None,
    limits: Limits | None = None,
    options: FetchOptions | None = None,
    **arguments: Any,
) -> WalkConfig:
    """Check the arguments of a walk, or fields of `WalkConfig`."""
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
        site=url, fetcher=fetcher, limits=known, options=used, **arguments
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
