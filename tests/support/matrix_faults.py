"""The rows of the fault matrix that send a body: faults, and the codes they end with."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, TypeAlias

import attrs
from faults import BEAT, CHUNKED, LAST_CHUNK, chunk, head

from sitemapreader.issues import IssueCode
from sitemapreader.options import FetchOptions

if TYPE_CHECKING:
    from collections.abc import Callable

IDLE = 0.5
"""Seconds of each timeout: of silence, headers, a slow body, the whole request."""
_QUICK = FetchOptions(
    max_attempts=2,
    retry_wait_seconds=0.01,
    connect_seconds=IDLE / 2,
    headers_seconds=IDLE / 2,
    idle_seconds=IDLE,
    slow_grace_seconds=60,
)
_DEMANDING = attrs.evolve(_QUICK, slow_grace_seconds=IDLE, min_bytes_per_second=1_000_000)
_SHORT = attrs.evolve(_QUICK, total_seconds=IDLE, idle_seconds=60)

NAMES = {
    "none": "http://no-such-host.invalid/",
    "private": "http://127.0.0.2:{port}/",
    "metadata": "http://169.254.169.254/latest/",
    "loopback-6": "http://[::1]:{port}/",
    "short-number": "http://127.1/",
    "ssh": "http://127.0.0.1:22/",
    "file": "file:///etc/hostname",
    "script": "javascript:alert(1)",
    "two-hosts": "http://a\\@b/",
    "refused": "http://127.0.0.1:{closed}/",
    "tls": "https://127.0.0.1:{plain}/",
    "itself": "{path}",
    "further": "{path}x",
    "circle": "{other}",
}
"""The targets of redirects, by name."""


@attrs.frozen
class Script:
    """What the server sends for one request: pieces, small parts in beats, an end.

    Attributes:
        pieces: sent first.
        end: close, reset, hold (silence until the client closes) or flood (never stop).
        pause: seconds after each piece.
        drops: sent after the pieces, one a beat.
        location: name of the target, for a redirect.
    """

    pieces: tuple[bytes, ...] = ()
    end: str = "close"
    pause: float = 0.0
    drops: tuple[bytes, ...] = ()
    location: str = ""

    @property
    def seconds(self) -> float:
        """Seconds of sending before the fault shows."""
        return self.pause * len(self.pieces)


Writing: TypeAlias = "Callable[[bytes, int], Script]"
"""Makes a script from a body and the number of its bytes that arrive."""


@attrs.frozen
class Fault:
    """One row of the matrix.

    Attributes:
        name: of the row.
        codes: allowed reasons of the outcome; "" is a document that was read to its end. `None`:
            the reason of a body that ends at the cut without a fault of the network.
        write: makes the script of the server.
        cut: whether the row is tried at every cut; without cuts all is sent, or nothing delivered.
        opaque: nothing of the body is delivered (aiohttp drops such responses as a whole).
        extra: bytes that may arrive beyond the cut.
        limited: the cut is the reader's own limit of bytes.
        options: of the walk.
        wrap: encodes the body.
        first: script of the first request, if a later one is answered otherwise.
    """

    name: str
    codes: frozenset[str] | None
    write: Writing
    cut: bool = True
    opaque: bool = False
    extra: int = 0
    limited: bool = False
    options: FetchOptions = _QUICK
    wrap: Callable[[bytes], bytes] = bytes
    first: Script | None = None


def _codes(*codes: str) -> frozenset[str]:
    return frozenset(map(str, codes))


BODY_CUT = _codes(IssueCode.BODY_CUT)
STALLED = _codes(IssueCode.STALLED)
# aiohttp's parser in C raises nothing; the one in Python, and later ones, may
STALLED_OR_BAD = _codes(IssueCode.STALLED, IssueCode.BAD_HTTP, IssueCode.BODY_CUT)
BAD_HTTP = _codes(IssueCode.BAD_HTTP)
HTTP_STATUS = _codes(IssueCode.HTTP_STATUS)
LOGIN_REQUIRED = _codes(IssueCode.LOGIN_REQUIRED)
NO_DOCUMENT = HTTP_STATUS | _codes(IssueCode.BAD_HTTP)
TIMEOUT = _codes(IssueCode.TIMEOUT)
CONNECT = _codes(IssueCode.CONNECT)
COMPLETE = _codes("")


def _chunks(data: bytes) -> bytes:
    return chunk(data) if data else b""


def _by_length(end: str, *more: str, pause: float = 0.0) -> Writing:
    def write(body: bytes, cut: int) -> Script:
        whole = head("200 OK", *more, length=len(body)) + body[:cut]
        return Script((whole,), end, pause)

    return write


def _by_chunks(end: str, *rest: bytes, pause: float = BEAT) -> Writing:
    def write(body: bytes, cut: int) -> Script:
        return Script((CHUNKED, _chunks(body[:cut]), *rest), end, pause)

    return write


def _until_close(end: str, pause: float = 0.0) -> Writing:
    return lambda body, cut: Script((head("200 OK", "Connection: close") + body[:cut],), end, pause)


def _drip(form: Callable[[bytes], bytes], opening: Callable[[int], bytes]) -> Writing:
    def write(body: bytes, cut: int) -> Script:
        rest = (body[cut:] + b"\n" * 60)[:60]
        drops = tuple(form(bytes([byte])) for byte in rest)
        return Script(
            (opening(len(body) + 1000), *([form(body[:cut])] if cut else [])), drops=drops
        )

    return write


def _one_segment(body: bytes, cut: int) -> Script:
    return Script((CHUNKED + _chunks(body[:cut]) + b"ZZZ\r\n",))


def _bad_chunk(body: bytes, cut: int) -> Script:
    said = b"5\r\n" + (body[cut:] + b"\n" * 5)[:5] + b"XX5\r\n"
    return Script((CHUNKED, _chunks(body[:cut]), said), "hold", BEAT)


def _by_single_bytes(body: bytes, _: int) -> Script:
    return Script((CHUNKED + b"".join(chunk(bytes([byte])) for byte in body) + LAST_CHUNK,))


def _in_bursts(body: bytes, cut: int) -> Script:
    step = cut // 4 + 1
    parts = tuple(body[n : min(n + step, cut)] for n in range(0, cut, step))
    return Script((head(length=len(body)), *parts), "reset", BEAT)


def _whole(*more: str) -> Writing:
    return _by_length("close", *more)


_FLOOD = b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000

CUT_OFF = (
    Fault("length, closed", BODY_CUT, _by_length("close")),
    Fault("length, reset", BODY_CUT, _by_length("reset", pause=BEAT)),
    Fault("length, half closed", BODY_CUT, _by_length("half-close")),
    Fault("length, silence", STALLED, _by_length("hold")),
    Fault("length, bursts, reset", BODY_CUT, _in_bursts),
    Fault(
        "length 10^18, closed",
        BODY_CUT,
        lambda body, cut: Script((head(length=10**18) + body[:cut],)),
    ),
    Fault(
        "length too small, at once",
        None,
        lambda body, cut: Script((head(length=cut) + body + b"surplus",)),
    ),
    Fault(
        "length too small, late",
        None,
        lambda body, cut: Script((head(length=cut), body[:cut], body[cut:]), "close", BEAT),
    ),
    Fault(
        "length, 1 byte a beat",
        _codes(IssueCode.TOO_SLOW),
        _drip(bytes, lambda length: head(length=length)),
        extra=60,
        options=_DEMANDING,
    ),
    Fault(
        "length, out of time",
        TIMEOUT,
        _drip(bytes, lambda length: head(length=length)),
        extra=60,
        options=_SHORT,
    ),
    Fault(
        "chunk cut, closed",
        BODY_CUT,
        lambda body, cut: Script((CHUNKED + b"%x\r\n" % len(body) + body[:cut],)),
    ),
    Fault("no last chunk, closed", BODY_CUT, _by_chunks("close", pause=0)),
    Fault("no last chunk, reset", BODY_CUT, _by_chunks("reset")),
    Fault("no last chunk, silence", STALLED, _by_chunks("hold")),
    Fault(
        "chunks of 1 byte, closed",
        BODY_CUT,
        lambda body, cut: Script((CHUNKED + b"".join(chunk(bytes([b])) for b in body[:cut]),)),
    ),
    Fault(
        "chunks, 1 byte a beat",
        _codes(IssueCode.TOO_SLOW),
        _drip(chunk, lambda _: CHUNKED),
        extra=60,
        options=_DEMANDING,
    ),
    Fault("chunk size bad, at once", BODY_CUT, _one_segment),
    Fault("chunk size bad, late", STALLED_OR_BAD, _by_chunks("hold", b"ZZZ\r\n")),
    Fault("chunk size bad, closed", STALLED_OR_BAD, _by_chunks("close", b"ZZZ\r\n")),
    Fault("chunk size huge, late", STALLED_OR_BAD, _by_chunks("hold", b"f" * 40 + b"\r\n")),
    Fault("chunk length wrong, late", STALLED_OR_BAD, _bad_chunk, extra=5),
    Fault("trailer bad, late", STALLED_OR_BAD, _by_chunks("hold", b"0\r\n\x00\x00\r\n\r\n")),
    Fault("no length, closed", None, _until_close("close")),
    Fault("no length, reset", BODY_CUT, _until_close("reset", BEAT)),
    Fault("no length, silence", STALLED, _until_close("hold")),
    Fault(
        "body without end",
        _codes(IssueCode.TOO_LARGE),
        lambda body, _: Script((CHUNKED + chunk(body),), "flood"),
        limited=True,
    ),
    Fault("label gzip lies, closed", BODY_CUT, _by_length("close", "Content-Encoding: gzip")),
    Fault("label br lies, closed", BODY_CUT, _by_length("close", "Content-Encoding: br")),
    Fault(
        "gzip on the way, closed",
        BODY_CUT,
        _by_length("close", "Content-Encoding: gzip"),
        wrap=lambda body: gzip.compress(body, mtime=0),
    ),
    Fault(
        "early hints, closed",
        BODY_CUT,
        lambda body, cut: Script(
            (b"HTTP/1.1 103 Early Hints\r\n\r\n" + head(length=len(body)) + body[:cut],)
        ),
    ),
    Fault("reset, then closed", BODY_CUT, _by_length("close"), first=Script(end="reset")),
    Fault(
        "redirect, then closed",
        BODY_CUT,
        _by_length("close"),
        first=Script(location="further"),
    ),
)
REPAIRED = tuple(
    Fault(name, COMPLETE, write, cut=False, first=first)
    for name, write, first in (
        ("label gzip lies", _whole("Content-Encoding: gzip"), None),
        ("label deflate lies", _whole("Content-Encoding: deflate"), None),
        ("label zstd lies", _whole("Content-Encoding: zstd"), None),
        ("label unknown", _whole("Content-Encoding: gzip, foo"), None),
        ("chunks of 1 byte", _by_single_bytes, None),
        ("type lies", _whole("Content-Type: text/html; charset=utf-8"), None),
        ("1xx flood, then 200", lambda b, _: Script((_FLOOD + head(length=len(b)) + b,)), None),
        ("reset, then whole", _whole(), Script(end="reset")),
        ("503, then whole", _whole(), Script((head("503 No", length=0),))),
        ("302, then whole", _whole(), Script(location="further")),
        (
            "garbage behind",
            lambda b, _: Script((head(length=len(b) + 6) + b + b"\n\0\xff<\1>",)),
            None,
        ),
    )
)
