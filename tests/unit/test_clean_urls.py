"""The quick checks of URLs: what they pass needs no further look."""

from __future__ import annotations

import pytest

from sitemapreader.urls import PLAIN_URL, are_clean_urls, find_url_error, url_warnings

# No control characters that XML cannot hold: the lenient parser removes them first.
CHARACTERS = [*"\t\n\r", *map(chr, range(0x20, 0x250)), "\u200b", "\u202e", "\ufffd"]
TEXTS = [*CHARACTERS, "{{", "<%", "%zz", "a" * 2030]


@pytest.mark.parametrize("place", ["{}", "{}example.org/", "example.org/{}", "example.org/a?b={}c"])
def test_a_url_that_passes_a_quick_check_has_no_issue(place: str) -> None:
    """A quick check passes nothing of which an error or a warning has to be reported."""
    urls = ["https://" + place.replace("{}", text) for text in TEXTS]
    passed = [url for url in urls if PLAIN_URL.fullmatch(url) or are_clean_urls([url])]
    assert [url for url in passed if find_url_error(url) or url_warnings(url)] == []
    assert passed
