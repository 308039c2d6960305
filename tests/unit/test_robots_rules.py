"""Rules of robots.txt: which group is ours, and what its rules say, in bounded work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from timing import is_below, least_seconds

from sitemapreader.issues import IssueCode
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.readers.robots import parse_robots

if TYPE_CHECKING:
    from sitemapreader.readers.robots import Robots

SITE = "https://example.org"


def parse(text: str) -> Robots:
    return parse_robots(text.encode(), f"{SITE}/robots.txt")


def rules_of(text: str) -> Robots:
    """Parse rules that are written as `+/a` (allow) and `-/b` (disallow)."""
    names = {"+": "Allow", "-": "Disallow"}
    lines = [f"{names[word[0]]}: {word[1:]}" for word in text.split()]
    return parse("\n".join(["User-agent: *", *lines]))


@pytest.mark.parametrize(
    ("rules", "allowed", "forbidden"),
    [
        ("-/a +/a/b", "/a/b", "/a/c"),
        ("-/a +/a", "/a", None),
        ("-/*.xml$", "/a.xml?x", "/a/b.xml"),
        ("-/a*b*c", "/a/c/b", "/axbxc"),
        ("-/a*b$", "/ab/", "/a/bb"),
        ("-/a*****", "/b", "/a"),
        ("+/ab -/a***", "/b", "/ab"),
        ("-/$", "/x", "/"),
        ("+/index.html -/", "/", "/x"),
        ("-/ä", "/a", "/%C3%A4"),
        ("-/a%2Fb", "/a/b", "/a%2fb"),
        ("-/a%2Ab", "/axb", "/a%2ab"),
        ("-/?s=", "/x?s=", "/?s=1"),
        ("-*", "/robots.txt", "/anything"),
    ],
)
def test_precedence(rules: str, allowed: str, forbidden: str | None) -> None:
    """The longest rule decides, Allow wins a tie, and only `*` and a final `$` are special."""
    robots = rules_of(rules)
    assert robots.can_fetch(SITE + allowed, "x")
    assert forbidden is None or not robots.can_fetch(SITE + forbidden, "x")


# -- agents and groups


@pytest.mark.parametrize(
    "value", ['"GPTBot"', "'*'", ".*bot.*", "Яндекс", "機器人", "(all)", "", "/", "**", "®Bot"]
)
def test_a_value_that_is_no_token_names_nobody(value: str) -> None:
    """A User-agent value without a product token is for no robot, least of all for every one."""
    robots = parse(f"User-agent: {value}\nDisallow: /\n")
    for agent in ("us/1", "GPTBot/1.0", "Bot", "bot"):
        assert robots.can_fetch(f"{SITE}/x", agent), agent


@pytest.mark.parametrize("value", ['"GPTBot"', "Яндекс", ""])
def test_such_a_value_ends_and_begins_groups(value: str) -> None:
    """Its rules are not those of the group before, and it shares those of the names beside it."""
    after = parse(f"User-agent: *\nDisallow: /a\nUser-agent: {value}\nDisallow: /b\n")
    assert after.can_fetch(f"{SITE}/b", "us")
    assert not after.can_fetch(f"{SITE}/a", "us")
    beside = parse(f"User-agent: {value}\nUser-agent: us\nDisallow: /a\n")
    assert not beside.can_fetch(f"{SITE}/a", "us")


@pytest.mark.parametrize("value", ["*", "* ", "*  # all", "* and others"])
def test_a_star_names_everybody(value: str) -> None:
    """Also with something behind it, as Google's parser has it."""
    assert not parse(f"User-agent: {value}\nDisallow: /\n").can_fetch(f"{SITE}/x", "us")


@pytest.mark.parametrize("value", ["us", "US/2.0", "us*", "*us", "Us; it", "us (our robot)"])
def test_a_token_may_have_something_around_it(value: str) -> None:
    """A version, a comment or wildcards leave a name a name; nobody else is meant."""
    robots = parse(f"User-agent: {value}\nDisallow: /\n")
    assert not robots.can_fetch(f"{SITE}/x", "us/1 (+https://us.example)")
    assert robots.can_fetch(f"{SITE}/x", "other/1")


@pytest.mark.parametrize("line", ["Content-Signal: x", "Host: x", "Noindex: /", "X", "Sitemap: /s"])
def test_an_unknown_line_ends_no_group(line: str) -> None:
    """RFC 9309, section 2.2.4: other lines must not change which rules are whose."""
    robots = parse(f"User-agent: a\n{line}\nUser-agent: b\n{line}\nDisallow: /\n")
    assert not robots.can_fetch(f"{SITE}/x", "a")
    assert not robots.can_fetch(f"{SITE}/x", "b")


@pytest.mark.parametrize("line", ["Disallow:", "Allow: /y", "Crawl-delay: 1"])
def test_a_line_of_a_group_ends_its_agents(line: str) -> None:
    """The next User-agent line begins another group."""
    robots = parse(f"User-agent: a\n{line}\nUser-agent: b\nDisallow: /\n")
    assert robots.can_fetch(f"{SITE}/x", "a")
    assert not robots.can_fetch(f"{SITE}/x", "b")


def test_names_of_equal_length_are_no_lottery() -> None:
    """Of two groups that both name an agent, the same one counts in every process."""
    robots = parse("User-agent: aaa\nDisallow: /a\nUser-agent: bbb\nDisallow: /b\n")
    for agent in ("aaa bbb", "bbb aaa"):
        assert robots.can_fetch(f"{SITE}/a", agent)
        assert not robots.can_fetch(f"{SITE}/b", agent)


# -- work

WORDS = [f"{a}{b}xy" for a in "cdefgh" for b in "ijklmn"]
WORST = {
    "almost": ([f"/*{'a' * n}b{'a' * n}{k}" for k in range(70) for n in range(4, 90)], "a"),
    "long": ([f"/*{'a' * 49}b{'a' * 49}"] * 100, "a"),
    "some": ([f"/*{'a' * 15}b{'a' * 15}"] * 100, "a"),
    "longer": ([f"/*{'a' * 500}b{'a' * 500}"] * 15, "a"),
    "numbers": ([f"/*{n}*b" for n in range(45_000)], "0123456789"),
    "shuffled": (
        [f"/*{a}*{b}*{c}" for i, a in enumerate(WORDS) for b in WORDS[:i] for c in WORDS],
        "/".join(WORDS),
    ),
    "letters": ([f"/*{'*'.join('abcdefghij')}*{n}" for n in range(5_000)], "abcdefghij"),
    "few letters": ([f"/*{'*'.join('abcdefghij')}*{n}" for n in range(100)], "abcdefghij"),
    "one rule": (["/" + "*a" * 4_090 + "b"], "a"),
    "nested": ([f"/{'a' * n}" for n in range(1, 1_000)], "a"),
    "prefixes": ([f"/x/{n}" for n in range(40_000)], "x/y"),
    "escapes": ([f"/*%61{n}" for n in range(10_000)], "%41"),
    "dollars": ([f"/*{n}$" for n in range(2_000)], "1$"),
    "stars": ([f"/{'*' * n}b" for n in range(1, 1_000)], "a"),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_rules_take_milliseconds(name: str) -> None:
    """Whatever the rules are, a URL is judged soon, or refused as too much work.

    Of the URLs that are judged, the longest one takes longest.
    """
    paths, piece = WORST[name]
    robots = rules_of(" ".join(f"-{path}" for path in paths))
    robots.prepare("us")
    text = piece * (MAX_URL_CHARS // len(piece))

    def make_url(length: int) -> str:
        return f"{SITE}/{text[:length]}"

    def is_judged(length: int) -> bool:
        refusal = robots.find_refusal(make_url(length), "us")
        return refusal is not IssueCode.ROBOTS_TOO_COMPLEX

    longest = max(filter(is_judged, range(0, MAX_URL_CHARS, 50)), default=0)
    ask = lambda: robots.can_fetch(make_url(longest), "us")  # noqa: E731 (named for the next line)
    assert is_below(0.02, lambda: least_seconds(ask))  # 0.2 to 6 ms; without a fence up to 420


def test_a_file_of_nothing_but_stars_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no URL passes is not given to protego at all; robots.txt may be fetched in any case."""
    monkeypatch.setattr("protego.Protego.parse", pytest.fail)
    robots = rules_of(" ".join(f"-/*{n}*x" for n in range(6_000)))
    robots.prepare("us")
    assert robots.find_refusal(f"{SITE}/", "us") is IssueCode.ROBOTS_TOO_COMPLEX
    assert robots.can_fetch(f"{SITE}/robots.txt", "us")


def test_a_long_needle_counts_more_than_a_short_one() -> None:
    """As many stars are fine before a word, and not before a text that takes long to find."""
    url = f"{SITE}/{'a' * 4_000}"
    words = rules_of(" ".join(f"-/*word{n}" for n in range(100)))
    texts = rules_of(" ".join(f"-/*{'a' * 80}b{n}" for n in range(100)))
    assert words.can_fetch(url, "us")
    assert texts.find_refusal(url, "us") is IssueCode.ROBOTS_TOO_COMPLEX
