"""What a redirect changes in a URL."""

from __future__ import annotations

import pytest

from sitemapreader.audit.functions import is_language_switch

BASE = "https://www.shop.example/a/b"


@pytest.mark.parametrize(
    ("final", "expected"),
    [
        ("https://www.shop.example/de/a/b", True),
        ("https://www.shop.example/a/b/pt-br/", True),
        ("https://www.shop.example/a/b?lang=en", True),
        ("http://www.shop.example/a/b.fr?", True),
        ("https://de.shop.example/a/b", True),
        ("https://fr.www.shop.example/a/b", True),
        ("https://www.shop.de/a/b", True),
        ("https://www.shop.example/de/a", False),
        ("https://www.shop.example/de/b", False),
        ("https://www.shop.example/a/b?page=2", False),
        ("https://login.shop.example/a/b", False),
        ("https://shop.example/a/b", False),
        (BASE, False),
    ],
)
def test_redirects_to_another_language(final: str, expected: bool) -> None:
    """A language is added to path, host or parameters, or takes the place of one or of a label."""
    assert is_language_switch(BASE, final) is expected


def test_languages_that_are_swapped() -> None:
    """A segment that is a language gives way to another one, and no other segment does."""
    assert is_language_switch("https://e.example/en/x", "https://e.example/de/x")
    assert not is_language_switch("https://e.example/old/x", "https://e.example/de/x")
    assert not is_language_switch("https://e.example/de/x", "https://e.example/x")
