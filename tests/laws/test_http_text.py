"""Whatever strangers write into URLs and headers, nothing but a FetchError comes of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, strategies as st

from sitemapreader._types.errors import FetchError
from sitemapreader._types.issues import IssueCode
from sitemapreader._types.options import MAX_URL_CHARS, FetchOptions
from sitemapreader._types.urls import url_key
from sitemapreader.fetch.refusals import parse_retry_after
from sitemapreader.fetch.urls import (
    RedirectChain,
    make_headers,
    parse_request_url,
    read_headers,
)
from tests.support.strategies import characters

# pieces of URLs, which random text alone would never put together
PIECES = st.sampled_from(
    [
        *(
            "http://",
            "https://",
            "//",
            "/",
            "\\",
            "@",
            ":",
            "[",
            "]",
            "%",
            "%2e",
            "..",
            "?",
            "#",
        ),
        *("127.1", "0x7f", "localhost", "::1", "xn--", "é", "。"),
    ]
) | st.sampled_from("\0 \t\udcff\u202e\uff11")
REFUSALS = {IssueCode.INVALID_URL, IssueCode.REDIRECT_LOOP, IssueCode.DOWNGRADE}
URLISH = st.lists(PIECES | st.text(characters, max_size=5), max_size=8).map("".join)


@given(URLISH.map(lambda rest: "http://" + rest) | URLISH)
@example("http://[::1")
@example("http://xn--/")
@example("http://site.example:٣/")
@example("http://" + "é" * 300)
def test_any_text_is_a_target_or_an_invalid_url(text: str) -> None:
    """Reading a URL gives something that can be requested, or INVALID_URL."""
    refusal = None
    try:
        target = parse_request_url(text)
    except FetchError as error:
        refusal = error
    if refusal is not None:
        assert refusal.code == IssueCode.INVALID_URL
        return
    assert target.url.scheme in ("http", "https")
    assert target.host == target.host.lower()
    assert target.host
    assert str(target).isascii()
    assert str(target).isprintable()
    assert "@" not in target.origin
    assert url_key(str(parse_request_url(str(target)))) == url_key(str(target))


@given(URLISH)
def test_any_location_is_followed_or_refused(text: str) -> None:
    """A redirect leads somewhere, or is refused for one of three reasons."""
    chain = RedirectChain(
        parse_request_url("https://site.example/a/b?c"), FetchOptions()
    )
    refusal = None
    try:
        chain.follow(text)
    except FetchError as error:
        refusal = error
    if refusal is None:
        assert chain.requested.url.scheme == "https"
    else:
        assert refusal.code in REFUSALS
        assert refusal.url == "https://site.example/a/b?c"


@given(st.text(characters) | st.datetimes().map(str) | st.integers().map(str))
@example("Mon, 01 Jan 0001 00:00:00 +1400")
def test_any_retry_after_is_seconds_or_nothing(text: str) -> None:
    """A number that can be compared and is not negative, or `None`."""
    found = parse_retry_after(text, datetime(2026, 1, 1, tzinfo=UTC))
    assert found is None or 0 <= found < float("inf")


@given(st.lists(st.tuples(st.binary(max_size=10), st.binary(max_size=20))))
def test_any_headers_are_text(raw: list[tuple[bytes, bytes]]) -> None:
    """No name and no value is lost, and all of it can be encoded again."""
    headers = read_headers(raw)
    assert set(headers) == {_text(name).lower() for name, _ in raw}
    for name, value in raw:
        assert _text(value).strip() in headers[_text(name).lower()]
    "".join((*headers, *headers.values())).encode()


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def test_headers_of_a_call_win_over_those_of_the_options() -> None:
    """Names are compared without case; only Accept-Encoding is ours alone."""
    options = FetchOptions(headers={"accept": "a/b", "X": "1", "Accept-Encoding": "br"})
    made = make_headers(options, {"x": "2"}, same_origin=True)
    assert made.getall("Accept") == ["a/b"]
    assert made.getall("X") == ["2"]
    assert made.getall("Accept-Encoding") == ["gzip"]


def test_a_url_of_any_length_is_read_or_refused_at_once() -> None:
    """The longest that is read, and one character more."""
    url = "http://site.example/".ljust(MAX_URL_CHARS, "a")
    assert len(str(parse_request_url(url))) == MAX_URL_CHARS
    with pytest.raises(FetchError, match="longer than 8192"):
        parse_request_url(url + "a")
