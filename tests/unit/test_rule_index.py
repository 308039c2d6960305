"""Rules of robots.txt judged in bounded time, and as protego judges them."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego
from scale import SCALE
from timing import is_within, least_seconds

from sitemapreader.readers.robots.rule_index import MAX_CANDIDATES, RuleIndex, normalise_path

SITE = "https://example.org"
_WORDS = """
/ a b ab abc abcd /shop/ // * ** $ ? = & ; : + | ~ . - index.html .xml é ü \U0001f600
% %zz %2F %2f %25 %2A %24 %41 %61 %E9 %C3%A9
"""
PIECES = st.sampled_from(_WORDS.split())
PATTERNS = st.lists(PIECES, min_size=1, max_size=8).map("".join)
PATHS = st.lists(PIECES, max_size=10).map("".join)


def index_of(text: str) -> RuleIndex:
    """Index rules that are written as `+/a` (allow) and `-/b` (disallow)."""
    return RuleIndex((word[0] == "+", word[1:]) for word in text.split())


def allows(index: RuleIndex, path: str) -> bool | None:
    return index.allows(normalise_path(SITE + path))


@settings(max_examples=100 * SCALE)
@given(
    st.lists(
        st.tuples(st.booleans(), PATTERNS.map(lambda text: f"/{text}") | PATTERNS), max_size=9
    ),
    st.lists(PATHS, min_size=1, max_size=6),
)
def test_it_judges_as_protego_does(rules: list[tuple[bool, str]], paths: list[str]) -> None:
    """Whatever rules are made of, each URL gets the answer that protego gives."""
    rules = [(allow, path) for allow, path in rules if path.strip() == path]
    lines = [f"{'Allow' if allow else 'Disallow'}: {path}" for allow, path in rules]
    protego = Protego.parse("\n".join(["User-agent: us", *lines]))
    index = RuleIndex(rules)
    for path in paths:
        expected = protego.can_fetch(f"{SITE}/{path}", "us")
        assert allows(index, f"/{path}") is expected, (path, lines)


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
        ("-*", None, "/anything"),
    ],
)
def test_precedence(rules: str, allowed: str | None, forbidden: str | None) -> None:
    """The longest rule decides, Allow wins a tie, and only `*` and a final `$` are special."""
    index = index_of(rules)
    assert allowed is None or allows(index, allowed) is True
    assert forbidden is None or allows(index, forbidden) is False


def test_a_prefix_is_found_among_many() -> None:
    """Of nested and neighbouring prefixes the longest one decides, whichever sort between."""
    rules = [f"-/{'a' * length}" for length in range(1, 400, 2)]
    rules += [f"+/{'a' * length}" for length in range(2, 400, 2)]
    rules += [f"-/{'a' * length}0" for length in range(1, 400)]
    index = index_of(" ".join(rules))
    assert [allows(index, f"/{'a' * length}b") for length in (1, 2, 301, 302)] == [
        False,
        True,
        False,
        True,
    ]


WORDS = [f"{a}{b}xy" for a in "cdefgh" for b in "ijklmn"]
WORST = {
    "almost": ([f"/*{'a' * n}b{'a' * n}{k}" for k in range(70) for n in range(4, 90)], "a" * 8_190),
    "numbers": ([f"/*{n}*b" for n in range(45_000)], "0123456789" * 819),
    "shuffled": (
        [f"/*{a}*{b}*{c}" for i, a in enumerate(WORDS) for b in WORDS[:i] for c in WORDS],
        "/".join(WORDS),
    ),
    "letters": ([f"/*{'*'.join('abcdefghij')}*{n}" for n in range(5_000)], "abcdefghij" * 819),
    "one rule": (["/" + "*a" * 4_090 + "b"], "a" * 8_190),
    "nested": ([f"/{'a' * n}" for n in range(1, 1_000)], "a" * 999 + "b" * 7_000),
    "prefixes": ([f"/x/{n}" for n in range(10_000)], "x/y" * 2_730),
    "escapes": ([f"/*%61{n}" for n in range(10_000)], "%41" * 2_730),
    "stars": ([f"/{'*' * n}b" for n in range(1, 1_000)], "a" * 8_190),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_rules_take_milliseconds(name: str) -> None:
    """However many rules there are, and however long the URL, judging it is soon done."""
    paths, url = WORST[name]
    index = RuleIndex((False, path) for path in paths)
    # 0.1 to 0.9 ms; it was 4 s when each rule was tried
    assert is_within(least_seconds(lambda: allows(index, f"/{url}"), 7), 0.02)


def test_what_is_too_much_work_is_not_told() -> None:
    """Where all rules might match, the answer is neither yes nor no."""
    paths, url = WORST["shuffled"]
    index = RuleIndex((False, path) for path in paths)
    assert len(paths) > MAX_CANDIDATES
    assert allows(index, f"/{url}") is None
    assert allows(index, "/short") is True
    assert allows(index, f"/{WORDS[3]}{WORDS[2]}{WORDS[1]}") is False


@pytest.mark.slow
def test_the_garbage_collector_passes_over_the_rules() -> None:
    """Two thousand rules of each kind leave no more objects to go through than a hundred."""

    def count_objects(size: int) -> int:
        paths = [text for n in range(size) for text in (f"/{n}", f"/a{n}*b", f"/*{n}c$", f"/{n}d$")]
        gc.collect()
        before = len(gc.get_objects())
        index = RuleIndex([(False, path) for path in paths])
        gc.collect()
        number = len(gc.get_objects()) - before
        assert index.allows("/a7xb") is False
        return number

    assert count_objects(2_000) <= count_objects(100) + 10
