"""The pages of missing URLs: whether they are gone, and whether they return.

Only the status of a page is requested. It is gone when it responded with 404 or 410 in two walks
that are `confirm_after` apart, each time beside living neighbours, so that the minutes of a
deployment prove nothing. It is requested once more three weeks later; if it lives, it has returned.
A page that lives is requested again after 1, 2, 4 ... 32 days, as long as its URL is missing. A
request without a verdict is made again by the walk of the next day; after ten in a row the pause
grows, too. Each pause grows by responses of its kind only, so that a page that lives for a day is
requested again a day later.

- **Which neighbours.** Listed pages, other ones in each walk: pages of the same script, or whose
  names differ in numbers only; else of the same folder; else of the folders above. Each of these
  groups is a place (`list_places`).
- **When a dead neighbour blocks.** If one responds with 404, no page beside it is believed, because
  a site may be deployed in each minute in which it is walked.
- **When it stops.** After nine days, in seven walks at least. A neighbour that was not requested in
  seven walks starts again from zero, so two short outages do not count as a long one. The
  neighbours stay the same while they are dead, because others would be dead for no time yet.
- **When the next place is tried.** If fewer than `_CANDIDATES` pages are listed in a place, none of
  them lives, and none has been dead for less than nine days.

A host that fails several times in a row, by 429, 5xx or silence, is left alone for the rest of the
walk. Its other pages stay due, and the next walk begins with them. A page that is forbidden (401,
403) speaks for itself only: a members' area says nothing of the pages beside it. A page that
redirects is a response like any other, and lives. Its target is noted, and not requested.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter, defaultdict
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.outcomes import ABSENT_STATUSES
from sitemapreader._walk.memory import DEAD_NEIGHBOR, NO_NEIGHBOR
from sitemapreader.changes.database import read_value
from sitemapreader.changes.law import find_patience_since
from sitemapreader.changes.rows import hash_url
from sitemapreader.fetch.hosts import classify_failure

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Collection,
        Iterator,
        Mapping,
        Sequence,
    )

    from sitemapreader._types.errors import Redirect
    from sitemapreader._walk.context import UrlAllowance, WalkContext
    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.state_writer import StateWriter
    from sitemapreader.pages.client import PageClient

T = TypeVar("T")
_Columns: TypeAlias = dict[str, Any]
"""Columns of `page`, by their names."""
_Neighbors: TypeAlias = dict[str, list[str]]
"""Place -> listed pages that are neighbours there."""

_NUMBERS = re.compile(r"[0-9]+")

_AT_ONCE = 50
"""Number of pages that are requested between two checks of the neighbours."""
_REDIRECT_CODES = frozenset({IssueCode.TOO_MANY_REDIRECTS, IssueCode.REDIRECT_LOOP})
_REDIRECTED = 302
"""Status of a page whose fetcher says that it redirects, and not how."""
_FORBIDDEN_STATUSES = frozenset({401, 403})
_HOST_DOWN = str(IssueCode.HOST_DOWN)
"""Answer of a page that is not requested, because its host has failed too often."""
_DAY_OF_SECONDS = 86_400.0
_LAST_TRY = 5
"""Tries after which the pause grows no more: 32 days."""
_PATIENT_TRIES = 8
"""Tries without a verdict after which the pause of half a day grows, too."""
_RECHECK_SECONDS = 21 * _DAY_OF_SECONDS
_CANDIDATES = 12
"""Neighbours of one place that a walk may ask."""
_DEAD_SECONDS = 9 * _DAY_OF_SECONDS - 3_600
"""Time after which a listed page with 404 stops being a neighbour: so long that a dead page
is gone within ten days, though the walks of two days are not exactly a day apart. An outage of a
section must be shorter."""
_ENOUGH_NEIGHBORS = 3
"""Number of living neighbours after which no further one is requested. One is enough if its place
has no more."""


@attrs.frozen
class _Page:
    """A page that is due: the columns of `page` of that name."""

    key: bytes
    loc: str
    tries: int
    dead_at: float | None
    is_gone: int
    status: int | None
    no_status: str | None

    def count_tries(self, answer: int | str) -> int:
        """Return how many requests in a row had no other verdict, with this answer."""
        last = self.no_status or self.status
        # any verdict would have ended that, and `status` is the one that proved it
        if self.is_gone:
            last = self.no_status
        if self.tries and _judge_life(last) == _judge_life(answer):
            return self.tries + 1
        return 1


class PageChecker:
    """Checks pages by the client, the limits and the state of a walk."""

    def __init__(
        self,
        context: WalkContext,
        pages: PageClient,
        writer: StateWriter,
    ) -> None:
        self._context = context
        self._pages = pages
        self._writer = writer
        self._room = asyncio.Semaphore(context.options.concurrency)
        self._known_neighbors: dict[str, tuple[float, float]] = {}
        """Listed page -> since when it responds with 404 or 410, and its last request. A page
        that lives is one that will be dead at infinity."""
        self._asked_neighbors: set[str] = set()
        """Listed pages with a response that is not saved yet."""
        self._redirects: dict[str, Redirect] = {}
        """Page -> its redirect."""
        self._failures: Counter[str] = Counter()
        """Host -> number of requests in a row that have failed because of it."""
        self._least = writer.run.confirm_after / 1e9
        since = find_patience_since(writer.run.stamp, writer.run.days)
        self._patience_since = since / 1e9

    async def check(self, allowance: UrlAllowance) -> AsyncGenerator[None, None]:
        """Check pages that are due; yield at first and between them.

        Pages that were dead once come first, then the ones that are unlisted, because most others
        have only moved.
        """
        yield
        file = self._writer.file
        run = self._writer.run
        sql = (
            "SELECT key, loc, tries, dead_at, is_gone, status, no_status FROM page"
            " WHERE site = ? AND due <= ?"
            " ORDER BY is_gone, dead_at IS NULL, NOT is_unlisted, due, key LIMIT ?"
        )
        due = run.site, self._writer.now, int(allowance.left)
        rows = await file.find_rows(sql, due)
        pages = [_Page(*row) for row in rows]
        pages = pages[: allowance.take(len(pages))]
        places: defaultdict[str, list[_Page]] = defaultdict(list)
        wanted: set[str] = set()
        for page in pages:
            nearest, *others = list_places(page.loc)
            places[nearest].append(page)
            wanted.update([nearest], others)
        sql = "SELECT loc, dead_at, asked_at FROM neighbor WHERE site = ?"
        known = await file.find_rows(sql, [run.site])
        self._known_neighbors = {loc: (since, last) for loc, since, last in known}
        find = partial(
            find_neighbors,
            site=run.site,
            seed=run.stamp,
            places=wanted,
            known={loc: since for loc, since, _ in known},
        )
        neighbors = await file.work(find, run.name)
        for place, several in places.items():
            for some in _slice(several, _AT_ONCE):
                if self._is_given_up(place):
                    break
                request = self._request_batch([page.loc for page in some], neighbors)
                try:
                    statuses = await self._context.budget.within(request, place)
                except FetchError:  # the time is over
                    await file.work(self._save_neighbors, run.name)
                    return
                judged = list(map(self._judge, some, statuses))
                await file.work(partial(self._save, judged), run.name)
                yield

    def _save(self, rows: list[_Columns], db: Connection) -> None:
        """Save the responses of pages, and of their neighbours."""
        db.executemany(_UPDATE_PAGE, rows)
        self._save_neighbors(db)

    def _save_neighbors(self, db: Connection) -> None:
        site = self._writer.run.site
        known = self._known_neighbors
        db.executemany(
            "INSERT OR REPLACE INTO neighbor VALUES (?, ?, ?, ?)",
            [(site, url, *known[url]) for url in self._asked_neighbors],
        )
        self._asked_neighbors.clear()

    def _note(
        self,
        page: _Page,
        answer: int | str,
        pause: float,
    ) -> _Columns:
        """Return the columns of a page after it was requested."""
        now = self._writer.now
        # a page that is gone is delivered with the status that proved it
        keeps_status = (
            page.is_gone and answer not in ABSENT_STATUSES and not _lives(answer)
        )
        no_status = None
        if isinstance(answer, str) and not keeps_status:
            no_status = answer
        redirect = self._redirects.pop(page.loc, None)
        return {
            "site": self._writer.run.site,
            "key": page.key,
            "keeps_status": keeps_status,
            "status": answer if isinstance(answer, int) else None,
            "no_status": no_status,
            "redirects_to": redirect.target if redirect and _lives(answer) else None,
            "now": now,
            "tries": page.count_tries(answer),
            "dead_at": page.dead_at,
            "is_gone": page.is_gone,
            "due": now + pause,
        }

    def _postpone(self, page: _Page, reason: int | str) -> _Columns:
        """Return the columns of a page whose answer, or the lack of one, proves nothing."""
        patient = max(0, page.count_tries(reason) - 1 - _PATIENT_TRIES)
        pause = _DAY_OF_SECONDS / 2 * (1 << min(patient, _LAST_TRY + 1))
        return self._note(page, reason, pause)

    def _judge(self, page: _Page, answer: int | str) -> _Columns:
        """Return the columns of a page after its status, or the reason why there is none."""
        if answer == _HOST_DOWN:
            tries = page.count_tries(answer) - 1  # it was not requested
            return self._note(page, answer, 0.0) | {"tries": tries}
        lives = _judge_life(answer)
        if lives is None:
            return self._postpone(page, answer)
        if lives:
            grown = min(page.count_tries(answer) - 1, _LAST_TRY)
            columns = self._note(page, answer, _DAY_OF_SECONDS * (1 << grown))
            return columns | {"dead_at": None, "is_gone": 0}
        return self._note_dead(page, answer)

    def _note_dead(self, page: _Page, answer: int | str) -> _Columns:
        """Return the columns of a page that answered 404 or 410 beside living neighbours."""
        now = self._writer.now
        since = page.dead_at
        if since is None:
            since = now
        columns = self._note(page, answer, 0.0)
        if page.is_gone:
            return columns | {"due": None}
        columns |= {"dead_at": since, "due": since + self._least}
        if now - since >= self._least:
            columns |= {"is_gone": 1, "tries": 0, "due": now + _RECHECK_SECONDS}
        return columns

    async def _request_batch(
        self, urls: Sequence[str], neighbors: _Neighbors
    ) -> Sequence[int | str]:
        """Return the status of each page, or the reason why there is none."""
        living, reason = await self._find_living(urls, neighbors)
        if living:
            answers = await asyncio.gather(*map(self._request_page, urls))
            if ABSENT_STATUSES.isdisjoint(answers):
                return answers
            neighbor = await self._request_page(living[0])
            if _lives(neighbor):
                return answers
            reason = DEAD_NEIGHBOR if neighbor in ABSENT_STATUSES else NO_NEIGHBOR
        return [reason] * len(urls)

    async def _find_living(
        self, urls: Sequence[str], neighbors: _Neighbors
    ) -> tuple[list[str], str]:
        """Return living neighbours of the nearest place; without any, the reason."""
        for place in list_places(urls[0]):
            candidates = [url for url in neighbors.get(place, ()) if url not in urls]
            living: list[str] = []
            has_dead = False
            for url in candidates:
                lives = await self._request_neighbor(url)
                if self._is_given_up(url):
                    return [], _HOST_DOWN
                if lives:
                    living.append(url)
                elif lives is False:
                    has_dead = True
                if len(living) == _ENOUGH_NEIGHBORS and not has_dead:
                    return living, ""
            if has_dead:
                for url in living:
                    self._note_neighbor(url, math.inf)
                return [], DEAD_NEIGHBOR
            if living or len(candidates) >= _CANDIDATES:  # else it may have more
                return living, NO_NEIGHBOR
        return [], NO_NEIGHBOR

    async def _request_neighbor(self, url: str) -> bool | None:
        """Return whether a listed page lives; `None` if that says nothing of pages beside it."""
        status = await self._request_page(url)
        now = self._writer.now
        if _lives(status):
            if url in self._known_neighbors:
                self._note_neighbor(url, math.inf)
            return True
        if status not in ABSENT_STATUSES:
            return None
        since, last = self._known_neighbors.get(url, (now, now))
        if since > now or last < self._patience_since:
            since = now
        self._note_neighbor(url, since)
        if since <= min(self._patience_since, now - _DEAD_SECONDS):
            return None
        return False

    def _note_neighbor(self, url: str, dead_at: float) -> None:
        self._known_neighbors[url] = (dead_at, self._writer.now)
        self._asked_neighbors.add(url)

    async def _request_page(self, url: str) -> int | str:
        """Return the status of a page, or the code of the error without one."""
        try:
            async with self._room:
                if self._is_given_up(url):
                    return _HOST_DOWN
                request = self._pages.open(url, check_redirect=_refuse_redirect)
                async with request as response:
                    self._failures.pop(_host_of_page(url), None)
                    return response.status
        except FetchError as error:
            for redirect in error.redirects[:1]:
                self._failures.pop(_host_of_page(url), None)
                self._redirects[url] = redirect
                return redirect.status
            self._note_failure(url, error)
            if error.code in _REDIRECT_CODES:
                return _REDIRECTED
            return error.http_status or str(error.code)

    def _note_failure(self, url: str, error: FetchError) -> None:
        """Count a failure of the host; any other answer shows that it works."""
        is_of_page = (
            error.http_status in _FORBIDDEN_STATUSES or error.code in _REDIRECT_CODES
        )
        if is_of_page or classify_failure(error) is None:
            self._failures.pop(_host_of_page(url), None)
        else:
            self._failures[_host_of_page(url)] += 1

    def _is_given_up(self, url: str) -> bool:
        failures = self._failures[_host_of_page(url)]
        return failures >= self._context.options.failures_in_row


_UPDATE_PAGE = (
    "UPDATE page SET status = iif(:keeps_status, status, :status), no_status = :no_status,"
    " redirects_to = :redirects_to, asked_at = :now, tries = :tries, dead_at = :dead_at,"
    " is_gone = :is_gone, due = :due"
    " WHERE site = :site AND key = :key"
)


def _slice(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield slices of a sequence."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _lives(answer: int | str) -> bool:
    return isinstance(answer, int) and 200 <= answer < 400


def _judge_life(answer: int | str | None) -> bool | None:
    """Return whether a page lives or is dead; `None` if its answer proves neither."""
    if answer in ABSENT_STATUSES:
        return False
    if answer is not None and _lives(answer):
        return True
    return None


async def _refuse_redirect(url: str) -> None:
    raise FetchError(IssueCode.TOO_MANY_REDIRECTS, url)


# -- neighbours


def find_neighbors(
    db: Connection,
    site: int,
    seed: int,
    places: Collection[str],
    known: Mapping[str, float],
) -> _Neighbors:
    """Return some listed URLs of each place; for a host without any, its start page.

    A place with dead ones has the known ones first, and no others if enough of these live. The keys
    of URLs are hashes, so a walk through them from another point gives others.

    Args:
        db: the state.
        site: the site of the walk.
        seed: another one gives other URLs.
        places: places as of `list_places`.
        known: neighbours of earlier walks -> since when they are dead; infinity if they live.
    """
    dead, living = _find_known(db, site, seed, places, known)
    found: _Neighbors = {}
    sizes: dict[str, int] = {}
    unfilled: set[str] = set()
    for place in places:
        found[place] = dead[place] + living[place]
        sizes[place] = len(found[place]) + _CANDIDATES
        if len(living[place]) < _ENOUGH_NEIGHBORS:
            unfilled.add(place)
    start = hash_url(str(seed))
    sql = (
        "SELECT iif(loc LIKE '/%', origin, '') || loc"
        " FROM url CROSS JOIN document ON document.id = url.document"
        " WHERE url.site = ? AND key {} ? AND lost_stamp IS NULL ORDER BY key"
    )
    rows = chain.from_iterable(
        db.execute(sql.format(sign), (site, start)) for sign in (">=", "<")
    )
    for (loc,) in rows:
        if not unfilled:
            break
        for place in unfilled.intersection(list_places(loc)):
            if loc not in found[place]:
                found[place].append(loc)
            if len(found[place]) == sizes[place]:
                unfilled.discard(place)
    for place in places:
        if place == _host_of_page(place) and not found[place]:
            found[place].append(place)
    return found


def _find_known(
    db: Connection,
    site: int,
    seed: int,
    places: Collection[str],
    known: Mapping[str, float],
) -> tuple[_Neighbors, _Neighbors]:
    """Return the dead and the living known neighbours of the places where some are dead."""
    sql = "SELECT 1 FROM url WHERE site = ? AND key = ? AND lost_stamp IS NULL"
    dead: _Neighbors = {place: [] for place in places}
    living: _Neighbors = {place: [] for place in places}
    shuffled = sorted(known, key=lambda loc: hash_url(str(seed) + loc))
    for loc in sorted(shuffled, key=known.__getitem__):  # the longest dead first
        if not read_value(db, sql, [site, hash_url(loc)]):
            continue
        lives = known[loc] == math.inf
        group = living if lives else dead
        for place in dead.keys() & list_places(loc):
            if len(group[place]) < _CANDIDATES and (dead[place] or not lives):
                group[place].append(loc)
    return dead, living


def list_places(loc: str) -> list[str]:
    """Return where the neighbours of a page are, the nearest first.

    A place is a script ("https://a.example/shop.php?"), pages whose names differ in numbers only
    ("https://a.example/blog/page-0"), the pages of a folder by themselves
    ("https://a.example/blog/*"), or a folder with all that is below.
    """
    path, mark, _ = loc.partition("?")
    host = _host_of_page(path)
    bare = path.rstrip("/")
    folder = bare[: bare.rfind("/") + 1]
    folder = folder if len(folder) > len(host) else host
    above = list(_list_folders(folder, host))
    if mark:
        return [f"{path}?", *above]
    name = bare[len(folder) :]
    alike, numbers = _NUMBERS.subn("0", name)
    near = [f"{folder}{alike}"] if numbers else []
    return [*near, f"{folder}*", *above]


def _list_folders(folder: str, host: str) -> Iterator[str]:
    """Yield a folder and its parents, up to the host."""
    while len(folder) > len(host):
        yield folder
        folder = folder[: folder.rfind("/", 0, -1) + 1]
    yield host


def _host_of_page(loc: str) -> str:
    """Return the beginning of a URL up to its host, with a slash."""
    end = loc.find("/", 8) + 1
    return loc[:end] if end else f"{loc}/"
