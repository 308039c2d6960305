"""The hash of a page's text stays under what frames it, and moves with what it says."""

from __future__ import annotations

import pytest
from each_case import for_each

from sitemapreader.readers.pages.text import extract_text, hash_text

WORDS = " ".join(f"word{number}" for number in range(40))
CONTENT = (
    f"<h1>Title</h1><p>{WORDS} 12 pieces, <a href=/buy?x=1>buy</a>"
    " on <time datetime=2026-01-01>1 January</time></p>"
)

TEMPLATES = {
    "main": "<body>{before}<header>Shop</header><main>{content}</main>{after}<footer>x</footer>",
    "role": "<body>{before}<div role=main>{content}</div>{after}",
    "article": "<body>{before}<article>{content}</article>{after}",
    "blocks": '<body>{before}<div class="col x">{content}</div>{after}',
    "old": "<body><table><tr><td>{before}<td>{content}</table>{after}",
}

FRAMES = (
    "<nav><a href=/>Home</a> %s</nav>",
    "<header>Deal %s</header>",
    "<footer>&copy; %s</footer>",
    "<aside>Related %s</aside>",
    "<script>var nonce = '%s'</script>",
    "<script nonce=%s></script>",
    "<style>.x%s { }</style>",
    "<!-- rendered in %s ms -->",
    "<noscript><img src=/pixel?%s></noscript>",
    "<template>%s</template>",
    "<svg><text>%s</text></svg>",
    "<input type=hidden name=csrf value=%s>",
    "<meta name=csrf content=%s>",
    "<div hidden>%s</div>",
    "<div aria-hidden=true>%s</div>",
    "<div role=banner>%s</div>",
    "<div role=search>%s</div>",
    "<div role=alert>%s</div>",
    "<dialog open>Accept %s cookies</dialog>",
    "<button>Like (%s)</button>",
    "<select><option>%s<option>more</select>",
    "<iframe src=/ad?%s>%s</iframe>",
    "<div class=related><a href=/%s>more %s</a></div>",
    "<div id=comments>%s comments</div>",
    "<div class='ad top'>Buy %s</div>",
    "<img src=/a.png?%s>",
    "<p data-session=%s></p>",
)
"""What differs between two readings of a page that has not changed."""

CHANGES = (
    ("word7", "word8"),
    ("12 pieces", "11 pieces"),
    ("Title", "Titles"),
    ("<p>", "<p>New: "),
    ("2026-01-01", "2026-01-02"),
    ("buy</a>", "sold out</a>"),
    ("</p>", "</p><p>One more.</p>"),
    ("</p>", "</p><ul><li>One more</ul>"),
    ("</p>", '</p><img src=x alt="A map">'),
    ("</p>", "</p><form>Write to us</form>"),
    (" 12", ""),
)


def make_page(template: str, content: str = CONTENT, noise: str = "") -> str:
    return TEMPLATES[template].format(before=noise, content=content, after=noise)


def hash_page(page: str) -> str:
    return hash_text(extract_text(page))


@for_each("template", TEMPLATES)
@for_each("frame", FRAMES)
def test_frames_move_no_hash(template: str, frame: str) -> None:
    """Tokens, consent, related links and advertisements around a text are not its text."""
    first, second = (make_page(template, noise=frame.replace("%s", value)) for value in ("1", "29"))
    assert hash_page(first) == hash_page(second)
    assert WORDS in extract_text(first)


@for_each("template", TEMPLATES)
@for_each("old, new", CHANGES)
def test_changes_move_the_hash(template: str, old: str, new: str) -> None:
    """A word, a number, a date, a sentence more: each is seen, whatever the template."""
    changed = CONTENT.replace(old, new, 1)
    assert changed != CONTENT
    assert hash_page(make_page(template)) != hash_page(make_page(template, changed))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("soft", "so\u00adft"),
        ("a b", "a \n\t  b"),
        ("a b", "a\u200b b"),
    ],
)
def test_forms_of_one_text_are_equal(one: str, other: str) -> None:
    """Composition, soft hyphens, invisible characters and white space say nothing."""
    assert hash_text(one) == hash_text(other)


def test_counters_can_be_ignored() -> None:
    """A counter inside the text counts, unless the caller names it."""
    assert hash_text("a 10 views") != hash_text("a 11 views")
    assert hash_text("a 10 views", [r"\d+ views"]) == hash_text("a 11 views", [r"\d+ views"])


def test_short_pages_keep_all_their_text() -> None:
    """Where a main text or a page without its blocks has too few words, the whole body counts."""
    assert extract_text("<main>Soon.</main><div class=menu>A menu</div>") == "Soon.\nA menu"


def test_lines_are_blocks() -> None:
    """Inline elements join words, blocks part them, and end tags may be missing."""
    page = "<p>a<b>b</b> c<p hidden>x<p>d<ul><li>e<li aria-hidden=true>f<li>g</ul>h"
    assert extract_text(page).split("\n") == ["ab c", "d", "e", "g", "h"]
