"""The keys of an audit, of which SQL makes most, are those of `url_key`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from sitemapreader._types.urls import url_key
from sitemapreader.audit.database import AuditDatabase

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS = (
    "https://e.org",
    "http://www.e.org:8080",
    "https://E.org",
    "https://e.org:443",
    "http://a",
)
PARTS = (
    *(
        "a",
        "B",
        "0",
        "/",
        "//",
        "/.",
        "..",
        "?",
        "&",
        "=",
        "#",
        "+",
        "~",
        ";",
        ".html",
        " ",
        "é",
    ),
    *("%C3%A9", "%c3%a9", "%E9", "%41", "%2F", "%20", "%", "%zz", "[", "|"),
)
URLS = st.builds(
    "{}{}{}".format,
    st.sampled_from(HOSTS),
    st.sampled_from(("/", "")),
    st.lists(st.sampled_from(PARTS), max_size=7).map("".join),
)


@pytest.fixture(scope="module")
def database() -> Iterator[AuditDatabase]:
    made = AuditDatabase()
    yield made
    made.close()


@given(st.lists(URLS, min_size=1, max_size=40))
def test_keys_by_columns_are_keys(database: AuditDatabase, urls: list[str]) -> None:
    """Each key is that of `url_key`; a simple URL is its own, without any mark that rules seek."""
    query = "SELECT url, key_of(url), other_key(url), is_simple_url(url) FROM unnest($urls) t(url)"
    for url, key, other, simple in database.ask(query, urls=urls):
        path = url.partition("://")[2].partition("/")[2]
        assert key == url_key(url)
        assert other is None or (other != url and not simple)
        assert not (
            simple
            and (set(path) & set("?#;%+& ") or "//" in path or path != path.lower())
        )
