"""The hash of a page's text stays under what frames it, and moves with what it says."""

from __future__ import annotations

import pytest

from sitemapreader.pages import read_page

URL = "https://example.org/a"
CONTENT = (
    "<h1>Title</h1><p>Some words, 12 pieces, <a href=/buy?x=1>buy</a> on 1 January</p>"
)

FRAMES = (
    *("<nav><a href=/>Home</a> <nav>inner</nav> %s</nav>", "<header>Deal %s</header>"),
    *(
        "<footer>&copy; %s</footer>",
        "<aside>Related %s</aside>",
        "<!-- rendered in %s ms -->",
    ),
    *(
        "<script>var nonce = '%s'</script>",
        "<script nonce=%s></script>",
        "<title>%s</title>",
    ),
    *("<noscript><img src=/pixel?%s></noscript>", "<template>%s</template>"),
    *(
        "<svg><text>%s</text></svg><svg width=%s />",
        "<input type=hidden name=csrf value=%s>",
    ),
    *("<meta name=csrf content=%s>", "<dialog open>Accept %s cookies</dialog>"),
    *("<button>Like (%s)</button>", "<select><option>%s<option>more</select>"),
    *(
        "<iframe src=/ad?%s>%s</iframe>",
        "<img src=/a.png?%s>",
        "<p data-session=%s></p>",
    ),
    *("<style>.x%s { }</style>", "\n\t &nbsp;"),
)
"""What differs between two readings of a page that has not changed."""

CHANGES = (
    *(("words", "word"), ("12 pieces", "11 pieces"), ("<p>", "<p>New: "), (" 12", "")),
    *(("buy</a>", "sold out</a>"), ("</p>", "</p><ul><li>One more</ul>")),
)


def hash_page(content: str = CONTENT, before: str = "", after: str = "") -> str | None:
    page = f"<!doctype html><body>{before}<main>{content}</main>{after}</body>"
    return read_page(page.encode(), URL).text_hash


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_move_no_hash(frame: str) -> None:
    """Scripts, tokens, and what frames a text, are not its text."""
    for value in ("1", "29"):
        noise = frame.replace("%s", value)
        assert hash_page(before=noise) == hash_page(after=noise) == hash_page()


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_changes_move_the_hash(old: str, new: str) -> None:
    """A word, a number, a date, a sentence more: each is seen."""
    changed = CONTENT.replace(old, new, 1)
    assert changed != CONTENT
    assert hash_page(changed) != hash_page()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("soft", "so\u00adft"),
        ("a b", "a\u200b \n\t  <b>b</b>"),
        ("<p>a<p>b", "<p>a</p><div>b</div>"),
        ("a &amp; b", "a & b"),
    ],
)
def test_forms_of_one_text_are_equal(one: str, other: str) -> None:
    """Composition, invisible characters, white space and markup say nothing."""
    assert hash_page(one) == hash_page(other)


def test_a_hash_names_its_version() -> None:
    """Texts of two versions are not compared, and what is made in the browser is none."""
    assert (
        hash_page("<div id=root></div>", "<noscript>Turn scripts on</noscript>") is None
    )
    version, _, digest = (hash_page() or "").partition("-")
    assert version == "2"
    assert len(digest) == 64
