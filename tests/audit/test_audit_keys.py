"""The keys of an audit, made a column at a time, are those of `url_key`."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sitemapreader.audit.loading import find_keys, make_keys
from sitemapreader.output.arrow import make_array
from sitemapreader.urls import url_key

HOSTS = ("https://e.org", "http://www.e.org:8080", "https://E.org", "https://e.org:443", "http://a")
PARTS = (
    *("a", "B", "0", "/", "//", "/.", "..", "?", "&", "=", "#", "+", "~", ";", ".html", " ", "é"),
    *("%C3%A9", "%c3%a9", "%E9", "%41", "%2F", "%20", "%", "%zz", "[", "|"),
)
URLS = st.builds(
    "{}{}{}".format,
    st.sampled_from(HOSTS),
    st.sampled_from(("/", "")),
    st.lists(st.sampled_from(PARTS), max_size=7).map("".join),
)


@given(st.lists(URLS, min_size=1, max_size=40))
def test_keys_by_columns_are_keys(urls: list[str]) -> None:
    """Each key is that of `url_key`; a simple URL is its own, without any mark that rules seek."""
    column = make_array(urls, pa.string())
    assert make_keys(column).to_pylist() == [url_key(url) for url in urls]
    is_simple, other_keys = find_keys(column)
    for url, simple, other in zip(urls, is_simple.to_pylist(), other_keys.to_pylist(), strict=True):
        path = url.partition("://")[2].partition("/")[2]
        assert other is None or (other != url and not simple)
        assert not (simple and (set(path) & set("?#;%+& ") or "//" in path or path != path.lower()))
