"""The rows of the fault matrix without a document: nothing is delivered."""

from __future__ import annotations

import attrs
from faults import chunk, head
from matrix_faults import (
    BAD_HTTP,
    CONNECT,
    CUT_OFF,
    HTTP_STATUS,
    LOGIN_REQUIRED,
    NO_DOCUMENT,
    REPAIRED,
    TIMEOUT,
    Fault,
    Script,
    Writing,
)

from sitemapreader.issues import IssueCode


def _refused(name: str, codes: frozenset[str], write: Writing) -> Fault:
    return Fault(name, codes, write, cut=False, opaque=True)


def _body_after(start: bytes) -> Writing:
    return lambda body, _: Script((start + body,))


def _with_length(*more: str) -> Writing:
    return lambda body, _: Script((head("200 OK", *more, length=len(body)) + body,))


_OTHER_CODES = dict.fromkeys((101, 204, 304), NO_DOCUMENT) | {401: LOGIN_REQUIRED}
"""Statuses with codes of their own: a body where HTTP allows none is bad HTTP."""


def _status(status: int, *more: str) -> Fault:
    def write(body: bytes, _: int) -> Script:
        return Script((head(f"{status:03d} Said So", *more, length=len(body)) + body,))

    codes = _OTHER_CODES.get(status, HTTP_STATUS)
    name = f"{status:03d} {more[0].split(':')[0]}" if more else f"{status:03d}"
    return _refused(name, codes, write)


def _redirect(location: str, code: IssueCode) -> Fault:
    script = Script(location=location)
    return _refused(f"redirect: {location}", frozenset({str(code)}), lambda _, __: script)


def _script(name: str, codes: frozenset[str], script: Script) -> Fault:
    return _refused(name, codes, lambda _, __: script)


_DRIPPING = tuple(bytes([byte]) for byte in head("200 OK", *(f"X-{n}: a" for n in range(40))))

# made once: making them blocks the server, which costs other cells their timeouts
_MANY = head("200 OK", *(f"X-{number}: a" for number in range(100_000)))
_WIDE = head("200 OK", "X-A: " + "a" * 4_000_000)
_LONG_STATUS = head("200 " + "a" * 4_000_000)

REFUSALS = (
    _script("closed", CONNECT, Script()),
    _script("reset", CONNECT, Script(end="reset")),
    _script("silence", TIMEOUT, Script(end="hold")),
    _script("head, 1 byte a beat", TIMEOUT, Script(drops=_DRIPPING)),
    _script("1xx without end", TIMEOUT, Script(drops=(b"HTTP/1.1 100 Continue\r\n\r\n",) * 60)),
    _refused("garbage", BAD_HTTP, _body_after(b"\x00\x01\x02 no HTTP at all\r\n\r\n")),
    _refused("HTTP 0.9", BAD_HTTP, _body_after(b"")),
    _refused("100,000 headers", BAD_HTTP, _body_after(_MANY)),
    _refused("header of 4 MB", BAD_HTTP, _body_after(_WIDE)),
    _refused("status of 4 MB", BAD_HTTP, _body_after(_LONG_STATUS)),
    _refused("NUL in a header", BAD_HTTP, _with_length("X: a\x00b")),
    _refused("length negative", BAD_HTTP, _body_after(head(length=-5))),
    _refused("length twice", BAD_HTTP, _with_length("Content-Length: 5")),
    _refused(
        "length and chunks",
        BAD_HTTP,
        lambda body, _: Script(
            (head("200 OK", "Transfer-Encoding: chunked", length=5) + chunk(body) + b"0\r\n\r\n",)
        ),
    ),
    *(
        _status(status)
        for status in (0, 101, 203, 204, 206, 300, 302, 304, 305, 400, 401, 403, 404, 410)
    ),
    *(_status(status) for status in (429, 500, 502, 503, 599, 999)),
    attrs.evolve(
        _status(429, "Retry-After: 999999"), codes=frozenset({str(IssueCode.RETRY_LATER)})
    ),
    attrs.evolve(
        _status(503, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"),
        codes=frozenset({str(IssueCode.RETRY_LATER)}),
    ),
    _redirect("itself", IssueCode.REDIRECT_LOOP),
    _redirect("circle", IssueCode.REDIRECT_LOOP),
    _redirect("further", IssueCode.TOO_MANY_REDIRECTS),
    _redirect("private", IssueCode.BLOCKED_ADDRESS),
    _redirect("metadata", IssueCode.BLOCKED_ADDRESS),
    _redirect("loopback-6", IssueCode.BLOCKED_ADDRESS),
    _redirect("ssh", IssueCode.BLOCKED_PORT),
    _redirect("file", IssueCode.INVALID_URL),
    _redirect("script", IssueCode.INVALID_URL),
    _redirect("two-hosts", IssueCode.INVALID_URL),
    _redirect("short-number", IssueCode.INVALID_URL),
    _redirect("none", IssueCode.DNS),
    _redirect("refused", IssueCode.CONNECT),
    _redirect("tls", IssueCode.TLS),
)

FAULTS = {fault.name: fault for fault in (*CUT_OFF, *REPAIRED, *REFUSALS)}
