"""StateWriter: writes the batches that the consumer has acknowledged into the state.

Entries are saved as delivered when the consumer acknowledges them: when it asks for the next batch.
A walk that was killed is resumed with the batch that the consumer was handling. This one, rarely
one of each document that was read at the same time, may come twice, and nothing is lost.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import attrs

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.urls import url_key
from sitemapreader._walk.memory import Resumption, WalkMemory
from sitemapreader.changes import law, schedule
from sitemapreader.changes.database import StateFile, UrlKind, read_value, read_values
from sitemapreader.changes.rows import (
    REMOVALS,
    Flaws,
    WalkRun,
    name_of_sitemaps,
    nanoseconds,
)
from sitemapreader.fetch.local import StoredResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sitemapreader._walk.config import WalkConfig
    from sitemapreader._walk.context import Batch
    from sitemapreader._walk.memory import (
        Findings,
        RemovalKind,
        Removals,
        WalkEnd,
    )
    from sitemapreader._walk.stream import Channel
    from sitemapreader.changes.database import Connection
    from sitemapreader.changes.rows import Rules

_RESUMABLE_SECONDS = 24 * 3600
"""Older interrupted walks are not resumed."""
_CLOCK_SLACK = nanoseconds(timedelta(hours=1))
"""Step back of a clock up to which its time only stands still."""
_CACHED_SECONDS = 24 * 3600
"""Time that a robots.txt may be used (RFC 9309, section 2.4)."""
_CACHED_HEADERS = ("content-type", "link")


class StateWriter(WalkMemory):
    """The writer of one walk's state."""

    def __init__(
        self,
        rules: Rules,
        settings: WalkConfig,
        channel: Channel[Batch],
    ) -> None:
        self.settings = settings
        self.clock = rules.clock
        self.trust_seconds = rules.revalidate_after / 1e9
        self._verify_after = rules.verify_after
        named = [settings.site, *(entry.loc for entry in settings.sitemaps)]
        self.run = WalkRun(
            name_of_sitemaps(named),
            settings.changes,
            rules.confirm_after,
            rules.distrust_after,
            is_unique=settings.selection.unique,
        )
        self.requests: dict[str, schedule.DocumentRequest] = {}
        """Requests for documents, by URLs as `url_key` writes them."""
        self._channel = channel
        self.file = file = StateFile.share(rules.path, self.run.name)
        self._replaced = str(file.quarantined_as or "")
        file.quarantined_as = None  # for the first walk that begins
        self._acknowledged = 0
        self._due: deque[tuple[int, Callable[[Connection], object]]] = deque()

    @property
    def now(self) -> float:
        """The seconds since 1970, which do not fall where the clock is set back."""
        return max(self.clock(), self.run.stamp / 1e9)

    @property
    def store(self) -> StateFile:
        """The file, which holds back changes of the whole run."""
        return self.file

    async def close(self) -> None:
        """End this walk's use of the file; the last one closes it."""
        self._due.clear()  # it leads back to what has this
        self.file.release(self.run.name)

    # -- the walk

    async def begin(self) -> Resumption:
        """Begin a walk, or resume an interrupted one."""
        self.run = run = await self.file.work(self._begin, self.run.name)
        delivered: list[str] = []
        if run.is_resumed and self.settings.selection.unique:
            delivered = await self.file.query(self._list_delivered)
        return Resumption(
            run.is_resumed, self._replaced, delivered, run.idle, run.ranks
        )

    def _begin(self, db: Connection) -> WalkRun:
        """Resume the walk that was interrupted within a day, or begin a new one."""
        run = self.run
        now = self.clock()
        revisit = self.settings.revisit
        present = round(now * 1_000_000) * 1_000
        found = self._find_site(db)
        if found is None:
            db.execute("INSERT INTO site (name) VALUES (?)", (run.name,))
            found = self._find_site(db)
        site, last, *_ = found
        law.merge(db, site)  # what the last one saved
        if last > present + _CLOCK_SLACK:
            law.recall(db, site, present)
            found = self._find_site(db)
        site, last, since, ended, stopped, days, all_known, *naming = found
        walked = law.read_days(days)
        # One that a limit of URLs stopped goes on whenever the next one comes.
        age = now - (since or 0)
        may_resume = stopped is not None or 0 <= age < _RESUMABLE_SECONDS
        is_resumed = bool(last) and ended is None and may_resume
        stamp = max(present, last + 1)
        if not is_resumed:
            walked = law.add_day(walked, stamp, run.confirm_after)
            db.execute(
                "UPDATE site SET begin_stamp = ?, began = ?, ended = NULL, complete = NULL,"
                " unlisted = NULL, waiting = NULL, confirm_after = ?, days = ? WHERE id = ?",
                (stamp, now, run.confirm_after, json.dumps(walked), site),
            )
            if ended is None:
                db.execute("DELETE FROM batch WHERE site = ?", (site,))
        known = (
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM url WHERE site = :site)"
            " OR EXISTS (SELECT 1 FROM page WHERE site = :site)"
        )
        run = attrs.evolve(
            run,
            site=site,
            begin_stamp=last if is_resumed else stamp,
            stamp=stamp,
            last=last,
            days=walked,
            is_resumed=is_resumed,
            is_new=not read_value(db, known, {"site": site}),
            all_known_stamp=all_known,
            naming_readings=tuple(naming[:2]),
            naming_flaws=Flaws(*naming[2:]),
        )
        if revisit is not None:
            run = schedule.choose(db, run, revisit, now, self._verify_after / 1e9)
        if run.has_changes:
            losses = law.find_losses(db, site)
            elapsed = stamp - last
            unverified = law.find_unverified(
                db, run, losses, self._verify_after, elapsed
            )
            run = attrs.evolve(run, unverified=unverified)
        if revisit is not None:
            return run
        # what it is answered now is newer
        db.execute("DELETE FROM cached_response WHERE site = ?", (site,))
        if stopped != 0:
            return run
        # The last one did not come to its end: begin with what was read longest ago.
        sql = (
            f"SELECT url, iif({law.IS_INDEX}, -1.0,"
            f" iif({law.IS_GIVEN_UP}, seen_stamp / 1e9, ifnull(read_at, 0.0)))"
            " FROM document WHERE site = :site AND is_named"
        )
        since = law.find_patience_since(stamp, walked)
        ranks = dict(db.execute(sql, {"site": site, "patience_since": since}))
        return attrs.evolve(run, ranks=ranks)

    def _find_site(self, db: Connection) -> Any:
        """Return the columns of the site that its next walk needs; `None` for a new site."""
        sql = (
            "SELECT id, begin_stamp, began, ended, complete, days, looked_stamp, read_stamp,"
            " confirmed_stamp, last_flaws, known_flaws, flawed_stamp"
            " FROM site WHERE name = ?"
        )
        return db.execute(sql, (self.run.name,)).fetchone()

    def _list_delivered(self, db: Connection) -> list[str]:
        """Return the URLs that were delivered before the walk was interrupted."""
        sql = "SELECT value FROM batch, json_each(inflate(locs)) WHERE site = ? AND locs NOT NULL"
        return read_values(db, sql, [self.run.site])

    async def find_response(self, url: str) -> StoredResponse | None:
        """Return the cached response for a URL, or raise the cached failure."""
        if self.run.chosen is None:
            return None
        # What the state knows as a document is asked for when the schedule says so.
        sql = (
            "SELECT * FROM cached_response WHERE site = :site AND url = :url"
            " AND NOT EXISTS (SELECT 1 FROM document WHERE site = :site AND url = :url)"
        )
        values = {"site": self.run.site, "url": url_key(url)}
        rows = await self.file.find_rows(sql, values)
        if not rows:
            return None
        _, _, asked, asked_at, status, final_url, headers, body = rows[0]
        if not 0 <= self.clock() - asked_at < _CACHED_SECONDS:
            return None
        try:
            plain = zlib.decompress(body)
            said = json.loads(headers)
        except (zlib.error, ValueError):  # it is damaged
            return None
        oldest = min(asked, self.run.oldest_response_stamp or asked)
        self.run = attrs.evolve(self.run, oldest_response_stamp=oldest)
        if status == 200:
            return StoredResponse(final_url, plain, status, said, tries=0)
        error = FetchError(IssueCode.HTTP_STATUS, url, f"{status}", http_status=status)
        error.tries = 0
        raise error

    async def keep_response(self, url: str, response: StoredResponse) -> None:
        """Keep a response for the rounds of a day."""
        if self.settings.revisit is None:
            return
        headers = {
            name: response.headers[name]
            for name in _CACHED_HEADERS
            if name in response.headers
        }
        said = (
            response.status,
            response.url,
            json.dumps(headers),
            zlib.compress(response.body),
        )
        row = (
            self.run.site,
            url_key(url),
            self.run.stamp,
            self.clock(),
            *said,
        )
        sql = "INSERT OR REPLACE INTO cached_response VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        await self.file.work(lambda db: db.execute(sql, row), self.run.name)

    async def finish(self, describe: Callable[[], WalkEnd]) -> Findings | None:
        """Wait until the consumer has all; end the run, and learn when to come back.

        Return what is missing, as `law.reconcile` does.
        """
        end = describe()
        await self._channel.wait_until_dry()
        # else it may have been asked before
        if self.run.chosen and not self.run.is_resumed:
            # What is not named or not wanted any more rests as if it had failed.
            for url in self.run.chosen:
                self.requests.setdefault(
                    url, schedule.DocumentRequest(self.clock(), is_failed=True)
                )

        def write_end(db: Connection) -> Findings | None:
            site = self.run.site
            now = self.clock()
            db.execute("DELETE FROM batch WHERE site = ?", (site,))
            found = law.reconcile(db, self.run, end)
            # a document that was never read has no earlier status to keep
            db.executemany(
                "UPDATE document SET status = 'skipped', reason = ?"
                " WHERE site = ? AND url = ? AND status IN ('', 'skipped')",
                [(reason, site, url) for url, reason in end.skipped.items()],
            )
            if found:
                unlisted, waiting = (found.unlisted, found.waiting)
            else:
                unlisted, waiting = (None, None)
            db.execute(
                "UPDATE site SET ended = ?, complete = ?, unlisted = ?, waiting = ?,"
                f" lost_stamp = {law.OLDEST_LOSS} WHERE id = ?",
                (now, end.complete, unlisted, waiting, site),
            )
            if found:
                schedule.learn(db, self.run, self.requests, found.new_losses, now)
            return found

        return await self.file.work(write_end, self.run.name)

    async def stop(self) -> None:
        """Let any later walk resume this one, which a limit of URLs has stopped."""
        await self._channel.wait_until_dry()
        sql = "UPDATE site SET complete = 0 WHERE id = ?"
        values = (self.run.site,)
        await self.file.work(lambda db: db.execute(sql, values), self.run.name)

    # -- what is unlisted or gone, and was not delivered

    async def find_removals(self, kind: RemovalKind) -> Removals:
        """Return some of it, by keys."""
        async with self.file.walk_lock:
            return self.find_removals_now(kind)

    def find_removals_now(self, kind: RemovalKind) -> Removals:
        """Return some of it, without waiting for other walks."""
        make, columns, condition, mark = REMOVALS[kind]
        sql = (
            f"SELECT key, {columns} FROM page JOIN site ON site.id = page.site"
            f" WHERE site.id = ? AND {condition} AND NOT ({mark}) ORDER BY key LIMIT 500"
        )
        rows = self.file.query_now(
            lambda db: db.execute(sql, (self.run.site,)).fetchall()
        )
        return [(key, make(*values)) for key, *values in rows]

    def mark_delivered(self, kind: RemovalKind, keys: Collection[bytes]) -> None:
        """Record that the removals were delivered."""
        *_, mark = REMOVALS[kind]
        statements = [f"UPDATE page SET {mark} WHERE site = ? AND key = ?"]
        if kind == "unlisted":
            statements.append(
                f"UPDATE url SET kind = {UrlKind.DELIVERED:d}"
                f" WHERE site = ? AND key = ? AND kind = {UrlKind.UNLISTED:d}"
            )
        rows = [(self.run.site, key) for key in keys]
        self.file.change_now(
            lambda db: [db.executemany(sql, rows) for sql in statements]
        )

    # -- acknowledgements

    async def acknowledge(self, batches: int) -> None:
        """Record that the consumer has handled this many batches."""
        self._acknowledged = max(batches, self._acknowledged)
        if self._is_due():
            async with self.file.walk_lock:
                self.file.change_now(self._write)

    async def commit_on_ack(self, change: Callable[[Connection], object]) -> None:
        """Change the file when all batches that were emitted until now are acknowledged."""
        # Batches that wait for room in the channel count as well: `unique` may have dropped a URL
        # from this document because it is in one of them.
        self._due.append((self._channel.offered, change))
        await self.acknowledge(self._acknowledged)

    def _write(self, db: Connection) -> None:
        while self._is_due():
            self._due.popleft()[1](db)

    def _is_due(self) -> bool:
        return bool(self._due) and self._due[0][0] <= self._acknowledged
