"""`Robots` against a model of RFC 9309, on random files and paths."""

from __future__ import annotations

from random import Random

import pytest
from protego import Protego

from sitemapreader.robots import parse_robots
from tests.support.robots_model import (
    TOKENS,
    Sampler,
    is_allowed,
    is_match,
    read_groups,
)
from tests.support.scale import SCALE

SITE = "https://example.org"
SOME, ALL = 3_000 * SCALE, 20_000 * SCALE
PATHS_A_FILE = 10


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz", True),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/this/path/exactly$", "/this/path/exactly", True),
        ("/this/path/exactly$", "/this/path/exactly/not", False),
        ("/this/*/exactly", "/this/a/b/exactly", True),
        ("/*.gif$", "/a.gif?b", False),
        ("/a%2Fb", "/a/b", False),
    ],
)
def test_the_model_knows_the_examples_of_the_rfc(
    rule: str, path: str, expected: bool
) -> None:
    """The model answers the examples of RFC 9309 as the RFC does."""
    assert is_match(rule, path) is expected


def test_robots_judges_as_the_model(thorough: bool) -> None:
    """For random files, robots and paths the verdict is that of the RFC, whatever the spelling."""
    sampler = Sampler(Random("robots"))
    verdicts = {True: 0, False: 0}
    for _ in range((ALL if thorough else SOME) // PATHS_A_FILE):
        data, paths = sampler.make_file()
        groups, robots = read_groups(data), parse_robots(data, f"{SITE}/robots.txt")
        for _ in range(PATHS_A_FILE):
            path, token = (
                sampler.make_url_path(paths),
                sampler.random.choice((*TOKENS, "other")),
            )
            expected = is_allowed(groups, token, path)
            agent = (
                f"Mozilla/5.0 (compatible; {token}/1.0; +https://{token}.example/bot)"
            )
            assert robots.can_fetch(SITE + path, agent) is expected, (data, path, token)
            verdicts[expected] += 1
    # neither answer is rare, so a matcher that always says the same fails
    assert min(verdicts.values()) > sum(verdicts.values()) / 10


def test_protego_judges_plain_files_as_the_model(thorough: bool) -> None:
    """Where escapes and odd lines are left out, a parser of other authors agrees with the model."""
    sampler = Sampler(Random("protego"), is_plain=True)
    for _ in range((ALL if thorough else SOME) // PATHS_A_FILE):
        data, paths = sampler.make_file()
        groups, robots = read_groups(data), Protego.parse(data.decode("utf-8-sig"))
        for _ in range(PATHS_A_FILE):
            path, token = (
                sampler.make_url_path(paths),
                sampler.random.choice((*TOKENS, "other")),
            )
            expected = is_allowed(groups, token, path)
            assert robots.can_fetch(SITE + path, f"{token}/1.0") is expected, (
                data,
                path,
                token,
            )
