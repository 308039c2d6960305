"""Usage preferences: what sites ask, as data, by the grammar of the drafts."""

from __future__ import annotations

import random
from typing import Any

import http_sf
import pytest

from sitemapreader._read.usage import parse_signals, parse_usage
from sitemapreader.robots import parse_robots, usage_of

SITE = "https://a.example"
AGENT = "NewsBot/1.0"


def robots_of(*lines: str, agent: str = "*") -> bytes:
    return "\n".join([f"User-agent: {agent}", *lines]).encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train-ai=n", {"train-ai": False}),
        ("train-ai=n, search=y", {"search": True, "train-ai": False}),
        ("search=y;exp=1 ,\ttrain-ai=n;x", {"search": True, "train-ai": False}),
        ("train-ai=y, train-ai=n", {"train-ai": False}),
        ("train-ai=n, train-ai=maybe", {}),
        ("train-ai", {}),
        ("train-ai=N", {}),
        ('train-ai="n", search=n', {"search": False}),
        ("train-ai=?0, search=y", {"search": True}),
        ("other=(a b), search=y", {"search": True}),
        ("train-ai=n,", {}),
        ("train-ai=n search=y", {}),
        ("TRAIN-AI=n", {}),
        ("train-ai = n", {}),
        ("", {}),
    ],
)
def test_a_dictionary_is_read_strictly(text: str, expected: dict[str, bool]) -> None:
    """The tokens `y` and `n` count; a text that is not a dictionary says nothing."""
    assert parse_usage(text) == expected


VALUES = [
    "y",
    "n",
    "Y",
    '"y"',
    "?1",
    "1",
    "1.5",
    "-0",
    "(y n)",
    "()",
    ":YQ==:",
    "@1",
    '%"a"',
    "",
    "(",
    "1.",
    "é",
]
KEYS = ["train-ai", "search", "ai", "*", "a.b", "Search", "1a", ""]
PARAMETERS = ["", "", "", ";a", ";a=1", "; b=y", ";", ";A"]
SEPARATORS = [",", ", ", " ,\t", "  ,", ";", " ", ",,"]


def test_a_strict_parser_agrees() -> None:
    """An independent parser of RFC 9651 gives the same for dictionaries and for what is none."""
    draw = random.Random(9651)
    said = 0
    for _ in range(5_000):
        members = []
        for _ in range(draw.randrange(1, 4)):
            value = draw.choice(VALUES)
            equals = draw.choice(["=", "=", "=", ""])
            key = draw.choices(KEYS, [9, 9, 2, 1, 1, 1, 1, 1])[0]
            members.append(f"{key}{equals}{value}{draw.choice(PARAMETERS)}")
        separator = draw.choices(SEPARATORS, [9, 9, 3, 1, 1, 1, 1])[0]
        text = separator.join(members)
        assert parse_usage(text) == judge(text), text
        said += parse_usage(text) != {}
    assert said > 100


def judge(text: str) -> dict[str, bool]:
    try:
        members: Any = http_sf.parse(text.encode(), tltype="dictionary")
    except (http_sf.StructuredFieldError, ValueError):
        return {}
    choices = {http_sf.Token("y"): True, http_sf.Token("n"): False}
    found: dict[str, bool] = {}
    for label in ("train-ai", "search"):
        value = members[label][0] if label in members else None
        if isinstance(value, http_sf.Token) and value in choices:
            found[label] = choices[value]
    return found


ROBOTS = robots_of(
    "Content-Usage: train-ai=n",
    "Content-Usage: /blog/ train-ai=y",
    "Content-Usage: /blog/ search=n, train-ai=n",
    "Content-Usage: /caf%C3%A9 search=y",
    "Content-Usage: /*.pdf$ search=n",
    "Content-Signal: search=yes, AI-Train=no",
    "Content-Signal: /news/ ai-input=no, use=reference, =x, odd",
    "Disallow: /private",
)


@pytest.mark.parametrize(
    ("path", "usage", "signals"),
    [
        ("/", {"train-ai": False}, {"search": "yes", "ai-train": "no"}),
        (
            "/blog/a",
            {"train-ai": False, "search": False},
            {"search": "yes", "ai-train": "no"},
        ),
        ("/caf%c3%a9?x", {"search": True}, {"search": "yes", "ai-train": "no"}),
        ("/café", {"search": True}, {"search": "yes", "ai-train": "no"}),
        ("/a/b.pdf", {"search": False}, {"search": "yes", "ai-train": "no"}),
        ("/news/1", {"train-ai": False}, {"ai-input": "no", "use": "reference"}),
        ("/private/x", {}, {}),
    ],
)
def test_the_longest_path_decides_alone(
    path: str, usage: dict[str, bool], signals: dict[str, str]
) -> None:
    """Equal paths combine, with a refusal before a permission; a disallowed URL has none."""
    robots = parse_robots(ROBOTS, f"{SITE}/robots.txt")
    assert robots.usage(f"{SITE}{path}", AGENT) == usage
    assert robots.signals(f"{SITE}{path}", AGENT) == signals


def test_preferences_belong_to_a_group() -> None:
    """A robot that has a group of its own gets what that group says."""
    data = (
        robots_of("Content-Usage: search=y")
        + b"\n\n"
        + robots_of("Allow: /", agent="NewsBot")
    )
    robots = parse_robots(data, f"{SITE}/robots.txt")
    assert robots.usage(f"{SITE}/", "OtherBot") == {"search": True}
    assert robots.usage(f"{SITE}/", AGENT) == {}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"content-usage": "train-ai=n"}, {"train-ai": False}),
        (
            {"Content-Usage": "train-ai=n, search=y"},
            {"train-ai": False, "search": True},
        ),
        ({"Content-Usage": "train-ai"}, {}),
        ({"X": "train-ai=n"}, {}),
        ({}, {}),
    ],
)
def test_a_header_is_read(headers: dict[str, str], expected: dict[str, bool]) -> None:
    """Whatever the case of its name."""
    assert usage_of(headers) == expected


@pytest.mark.parametrize("url", ["https://[::1", "", "/x", "https://a.example/\udc80"])
def test_an_odd_url_has_no_preference(url: str) -> None:
    """Nothing is raised."""
    robots = parse_robots(ROBOTS, f"{SITE}/robots.txt")
    assert isinstance(robots.usage(url, AGENT), dict)
    assert isinstance(robots.signals(url, AGENT), dict)


def test_signals_are_given_as_written() -> None:
    """Names and values are lower-case; what has no value is left out."""
    assert parse_signals("Search=YES,, use = full , x=") == {
        "search": "yes",
        "use": "full",
    }
