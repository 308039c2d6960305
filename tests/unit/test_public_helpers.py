"""The small public functions that crawlers and recipes use beside a walk."""

from __future__ import annotations

import gzip

import pytest

from sitemapreader import FetchError, IssueCode, SiteRun, walk_many
from sitemapreader.fetch import MemoryFetcher, StoredResponse, charset_of, read_body
from sitemapreader.pages import page_type_of
from sitemapreader.urls import origin_of

URL = "https://a.example/page"
GZIP = {"content-encoding": "gzip"}


async def test_a_body_is_read_and_decompressed() -> None:
    """`read_body` returns the decompressed body of a response."""
    fetcher = MemoryFetcher({URL: StoredResponse(URL, gzip.compress(b"Avocets"), headers=GZIP)})
    async with fetcher.open(URL) as response:
        assert await read_body(response, 100) == b"Avocets"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (gzip.compress(bytes(101)), IssueCode.TOO_LARGE),
        (gzip.compress(b"Avocets")[:-10], IssueCode.COMPRESSION_TRUNCATED),
    ],
)
async def test_a_body_that_is_no_good(body: bytes, code: IssueCode) -> None:
    """`read_body` raises FetchError for a body that is too large or cut."""
    fetcher = MemoryFetcher({URL: StoredResponse(URL, body, headers=GZIP)})
    async with fetcher.open(URL) as response:
        with pytest.raises(FetchError) as error:
            await read_body(response, 100)
    assert (error.value.code, error.value.url) == (code, URL)


@pytest.mark.parametrize(
    ("status", "absent"), [(404, True), (410, True), (403, True), (429, False), (500, False)]
)
def test_what_counts_as_absent(status: int, absent: bool) -> None:
    """A 4xx status says that there is no document, except those that ask for another request."""
    assert FetchError(IssueCode.HTTP_STATUS, URL, http_status=status).is_absent is absent


def test_a_host_without_an_answer_is_not_absent() -> None:
    """A document whose server cannot be reached may exist."""
    assert not FetchError(IssueCode.CONNECT, URL).is_absent


@pytest.mark.parametrize(
    ("header", "charset"),
    [
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html; Charset="ISO-8859-1"', "ISO-8859-1"),
        ("text/html", None),
    ],
)
def test_the_charset_of_a_header(header: str, charset: str | None) -> None:
    """`charset_of` finds the charset of a Content-Type header."""
    assert charset_of({"content-type": header}) == charset


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example/b?c#d", "https://a.example"),
        ("http://me:secret@A.example:8080/", "http://a.example:8080"),
        ("no URL", ""),
    ],
)
def test_the_origin_of_a_url(url: str, origin: str) -> None:
    """`origin_of` returns scheme, host and port, and "" for what has none."""
    assert origin_of(url) == origin


def test_walk_many_makes_a_site_run() -> None:
    """`SiteRun` is what `walk_many` returns, for annotations."""
    assert isinstance(walk_many(["a.example"]), SiteRun)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("Text/HTML; charset=utf-8", "text/html"),
        (" application/pdf ", "application/pdf"),
        ("", "text/html"),
        (None, "text/html"),
    ],
)
def test_the_type_of_a_page(header: str | None, kind: str) -> None:
    """A page is of the type that its header names, without parameters, and HTML without one."""
    assert page_type_of(header) == kind
