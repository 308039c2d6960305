"""Sources by their names: a site, a sitemap, a folder, a file or standard input."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Collection, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import quote

import attrs

from sitemapreader import Follow
from sitemapreader._event_loop import run_in_daemon
from sitemapreader._types.fields import one_of
from sitemapreader._types.issues import show_url
from sitemapreader._types.urls import (
    has_suffixes,
    has_web_scheme,
    host_of,
    load_suffixes,
    name_as_site,
    parse_url,
    path_of,
    remove_login,
    site_of,
    trim,
    url_key,
)
from sitemapreader.fetch.local import (
    FALLBACK_BASE_URL,
    FileResponse,
    FolderFetcher,
    not_found,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from sitemapreader._types.options import Limits
    from sitemapreader._walk.config import WalkConfig
    from sitemapreader.fetch.client import Fetcher

STANDARD_INPUT = "-"
"""The name of standard input in place of a file's."""
SiteKind: TypeAlias = Literal["auto", "site", "sitemap"]
"""The kind of a URL: a site to search, a sitemap, or "auto": its content decides."""

ON_DISK = "/"
"""Domain of a site that needs no server."""
_FILE_SUFFIXES = (".xml", ".gz", ".txt", ".rss", ".atom", ".html", ".htm")
"""Suffixes of files; none is a top-level domain."""
TAKEN_AHEAD = 16
"""Sites that a thread takes from an iterator before they are walked."""


@attrs.frozen
class SiteTask:
    """One site to read.

    Attributes:
        url: its URL, or the name of its host: then https is assumed.
        kind: "site" or "sitemap", for the URL; with "auto" its content decides.
        trusted: True if you trust this site, as in `walk`; `None` leaves it to `walk_many`.
        fetcher: object that opens the URLs of this site; `None` for that of the run. Folders and
            files are read one after another, in their order.
        name: its name in outcomes; "" for its URL.
    """

    url: str
    kind: SiteKind = attrs.field(default="auto", validator=one_of(SiteKind))
    trusted: bool | None = None
    fetcher: Fetcher | None = None
    name: str = ""

    @property
    def outcome_name(self) -> str:
        """The name that its outcome has: `name`, or its URL without a login."""
        try:
            return check_task(self).name
        except InvalidSiteError as error:
            return str(error)


class InvalidSiteError(ValueError):
    """A text that is neither a URL nor the name of a host, file or folder."""


def find_source(
    text: str,
    kind: SiteKind = "auto",
    base_url: str | None = None,
    *,
    trusted: bool | None = None,
) -> SiteTask:
    """Return the task of standard input, a folder, a file, else of a URL."""
    path = path_of(text)
    if os.path.isdir(path):  # noqa: PTH112 (pathlib's raises for a URL of some length)
        folder = FolderFetcher(path, base_url)
        return SiteTask(folder.base_url, "site", fetcher=folder, name=text)
    if text == STANDARD_INPUT or os.path.exists(path):  # noqa: PTH110 (as below)
        file = FileFetcher(path, base_url or "")
        return SiteTask(file.url, "sitemap", fetcher=file, name=file.name)
    checked = check_task(text)
    return SiteTask(checked.login or checked.url, kind, trusted)


@attrs.frozen
class CheckedTask(SiteTask):
    """A task with a name, and a URL that can be requested, without its login."""

    key: str = ""
    """Key that all spellings of the URL share, or the name of the task."""
    login: str = ""
    """The URL with its login, if it has one."""

    @property
    def is_local(self) -> bool:
        """True if no server is requested."""
        return isinstance(self.fetcher, FileFetcher | FolderFetcher)

    def make_walk_config(
        self,
        config: WalkConfig,
        due: frozenset[str] | None,
        limits: Limits,
        queue_per_worker: int,
    ) -> WalkConfig:
        """Return the arguments of a run for one of its sites; `due` has the URLs to request."""
        site = None if self.kind == "sitemap" else self.url
        is_page = self.kind == "site"
        arguments: dict[str, Any] = {
            "name": self.name,
            "search": attrs.evolve(config.search, site=site, is_page=is_page),
            "fetcher": self.fetcher or config.fetcher,
            "limits": limits,
            "queue_per_worker": queue_per_worker,
        }
        if site is None:
            arguments["sitemaps"] = (self.url,)
        if self.trusted is not None:
            arguments["trusted"] = self.trusted
        if self.login:
            arguments["logins"] = (self.login,)
        if due is not None:
            arguments["revisit"] = due
        if isinstance(self.fetcher, FileFetcher):
            # Only the file itself can be fetched. A state cannot distinguish files, and each
            # reading is complete.
            arguments |= {
                "base_url": self.fetcher.base_url,
                "follow": Follow(lambda _: False),
                "state": None,
                "changes": False,
                "unlisted": False,
                "gone": 0,
                "revisit": None,
            }
        return attrs.evolve(config, **arguments)


def check_task(site: object) -> CheckedTask:
    """Return the task of a URL, host or SiteTask; raise InvalidSiteError for other texts."""
    if isinstance(site, SiteTask):
        task = site
    else:
        task = SiteTask(str(site))
    text = trim(task.url)
    has_scheme = "://" in text
    url = text
    if not has_scheme:
        url = f"https://{text}"
    if not has_web_scheme(url):
        raise InvalidSiteError(hide_login(text))
    given = name_as_site(url)
    host = host_of(given)
    is_host = host != "" and len(host.split()) == 1  # no URL has a blank in its host
    if not is_host or not (has_scheme or _looks_like_host(given)):
        raise InvalidSiteError(hide_login(text))
    login = ""
    url = remove_login(given)
    if url != given:
        login = given
        text = hide_login(text)
    return CheckedTask(
        url,
        task.kind,
        task.trusted,
        task.fetcher,
        name=task.name or text,
        key=task.name or url_key(url),
        login=login,
    )


def _looks_like_host(url: str) -> bool:
    """Return whether a text without a scheme is a host rather than a missing file."""
    parsed = parse_url(url)
    if parsed is None or parsed.host is None:
        return False
    host = parsed.host
    if parsed.explicit_port is not None or ":" in host or host == "localhost":
        return True
    return (
        "." in host and not host.startswith(".") and not host.endswith(_FILE_SUFFIXES)
    )


def hide_login(text: str) -> str:
    """Remove user and password from a text that may not be a URL."""
    scheme, slashes, location = text.rpartition("://")
    userinfo, _, address = location.rpartition("@")
    if slashes or ":" in userinfo:
        text = f"{scheme}{slashes}{address}"
    return show_url(text)


async def find_domain(task: CheckedTask) -> str:
    """Return the registrable domain of a site, whose sites wait for each other."""
    if task.is_local:
        return ON_DISK
    if not has_suffixes():
        await asyncio.to_thread(load_suffixes)
    return site_of(host_of(task.url))


# -- many of them

Sites: TypeAlias = "Iterable[str | SiteTask] | AsyncIterable[str | SiteTask]"
"""URLs, hosts or tasks; read only as fast as they are walked, and never as a whole."""


def list_names(sites: Sites) -> list[str] | None:
    """Return the names of sites in a state; `None` for a stream of them."""
    if not isinstance(sites, Collection):
        return None
    names = []
    for site in sites:
        with suppress(InvalidSiteError):
            names.append(url_key(check_task(site).url))
    return names


async def iterate_sites(sites: Sites) -> AsyncGenerator[str | SiteTask, None]:
    """Yield sites from any kind of iterable, without blocking other tasks."""
    if isinstance(sites, AsyncIterable):
        async for site in sites:
            yield site
    elif isinstance(sites, Collection):
        for site in sites:
            await asyncio.sleep(0)
            yield site
    else:
        async with aclosing(ThreadedSource(iter(sites)).iterate()) as threaded:
            async for site in threaded:
                yield site


class ThreadedSource:
    """Sites of an iterator that may wait, such as for a line of a pipe or a row of a database.

    A thread takes some ahead; each is there as soon as it is taken.
    """

    def __init__(self, source: Iterator[str | SiteTask]) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._taken: deque[str | SiteTask] = deque()
        self._changed = asyncio.Event()
        self._is_awaited = False

    async def iterate(self) -> AsyncGenerator[str | SiteTask, None]:
        """Yield the sites; an error of the iterator is raised after the sites before it."""
        has_more = True
        while has_more:
            taking = asyncio.ensure_future(run_in_daemon(self._take))
            taking.add_done_callback(lambda _: self._changed.set())
            try:
                while self._taken or not taking.done():
                    if self._taken:
                        yield self._taken.popleft()
                    else:
                        await self._wait(taking)
                has_more = await taking
            finally:
                taking.cancel()

    async def _wait(self, taking: asyncio.Future[bool]) -> None:
        """Wait for the next site, or for the end of the thread."""
        self._changed.clear()
        self._is_awaited = True
        if not self._taken and not taking.done():
            await self._changed.wait()

    def _take(self) -> bool:
        """Take some sites, in the thread; return False at the end of the iterator."""
        for _ in range(TAKEN_AHEAD):
            try:
                self._taken.append(next(self._source))
            except StopIteration:
                return False
            if self._is_awaited:
                self._is_awaited = False
                self._loop.call_soon_threadsafe(self._changed.set)
        return True


# -- files


class UnreadableError(Exception):
    """A file cannot be read; the message names the file and the reason."""

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(f"cannot read {name_file(path)}: {error.strerror or error}")


def name_file(path: str) -> str:
    """Return the name of a file for messages."""
    if path == STANDARD_INPUT:
        return "standard input"
    return path


_SOURCES_PIECE_BYTES = 65_536


@asynccontextmanager
async def open_pieces(path: str) -> AsyncIterator[AsyncGenerator[bytes, None]]:
    """Open a file, or standard input, and give its pieces; raise UnreadableError."""
    if path == STANDARD_INPUT and sys.stdin is None:
        raise UnreadableError(path, OSError(errno.EBADF, "it is closed"))
    try:
        if path == STANDARD_INPUT:
            descriptor = sys.stdin.fileno()
        else:
            # Opening a named pipe waits for its writer. In a thread, a signal can end the program.
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
            descriptor = await run_in_daemon(partial(os.open, path, flags))
    except OSError as error:
        raise UnreadableError(path, error) from None
    try:
        yield _read_pieces(path, descriptor)
    finally:
        if path != STANDARD_INPUT:
            os.close(descriptor)


async def _read_pieces(path: str, descriptor: int) -> AsyncGenerator[bytes, None]:
    is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
    read = partial(os.read, descriptor, _SOURCES_PIECE_BYTES)
    while True:
        try:
            # A pipe may deliver nothing for an hour, so it is read in a thread, and not through
            # `sys.stdin`, because the interpreter would wait for its lock at exit.
            if is_file:
                piece = read()
            else:
                piece = await run_in_daemon(read)
        except OSError as error:
            raise UnreadableError(path, error) from None
        if not piece:
            return
        yield piece
        # a regular file never waits: let other tasks and signals run
        await asyncio.sleep(0)


class FileFetcher:
    """Serve one file, or standard input, and nothing else.

    Attributes:
        name: name of the file in messages.
        url: URL at which the file is served.
        base_url: base of the URLs in the file; "" if it is not known.
    """

    is_local = True

    def __init__(self, path: str, base_url: str = "") -> None:
        self.name = name_file(path)
        self.base_url = base_url
        self.url = base_url or FALLBACK_BASE_URL + quote(os.fsencode(self.name))
        self._path = path

    @asynccontextmanager
    async def open(
        self, url: str, *, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[FileResponse]:
        """Open the file; raise UnreadableError, or FetchError for any other URL."""
        del headers
        if url != self.url:
            raise not_found(url, "404: only this one file is served")
        async with open_pieces(self._path) as pieces:
            yield FileResponse(url, lambda: pieces)
