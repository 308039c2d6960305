"""Parts of entries that are read when they are asked for look as if they had always been there."""

from __future__ import annotations

import copy
import pickle

import attrs
import pytest

from sitemapreader._types.models import Alternate, Extra, Image, News, UrlEntry, Video
from tests.support.reading import URLSET, check_ways, read

PARTS = (
    "<image:image><image:loc>https://i.example/?a&amp;b</image:loc>"
    "<image:title> <![CDATA[A & B]]> &#233;\r\n</image:title></image:image>"
    '<xhtml:link rel="alternate" hreflang="de"\n href="https://a.example/de?x&amp;y"/>'
    '<xhtml:link rel="alternate" hreflang="fr" href="https://a.example/fr"/>'
    "<news:news><news:publication><news:name>n</news:name></news:publication>"
    "<news:publication_date>2026-01-02</news:publication_date><news:title>t</news:title></news:news>"
    '<video:video><video:player_loc allow_embed="no" autoplay="a=1">https://i.example/p</video:player_loc>'
    "<video:tag>x</video:tag><video:tag>y</video:tag></video:video>"
    "<mobile:mobile/>"
)


def urlset(records: bytes) -> bytes:
    """Write a document that binds a prefix which nobody knows, too."""
    return URLSET.replace(b">", b' xmlns:mobile="urn:mobile">') + records + b"</urlset>"


def read_entry(parts: str = PARTS) -> UrlEntry:
    """Read the entry that has these parts."""
    document = urlset(f"<url><loc>https://a.example/</loc>{parts}</url>".encode())
    (entry,) = (event for event in read(document) if isinstance(event, UrlEntry))
    return entry


def is_unread(entry: UrlEntry) -> bool:
    """Tell whether nobody has asked for the parts of an entry yet."""
    try:
        object.__getattribute__(entry, "images")
    except AttributeError:
        return True
    return False


def test_each_part_has_its_value() -> None:
    """Every attribute is what the tree makes of the same elements."""
    entry = read_entry()
    assert is_unread(entry)
    assert entry.images == (Image("https://i.example/?a&b", "A & B \xe9"),)
    assert entry.alternates == (
        Alternate("https://a.example/de?x&y", "de"),
        Alternate("https://a.example/fr", "fr"),
    )
    assert isinstance(entry.news, News)
    assert (entry.news.name, entry.news.title, entry.title) == ("n", "t", "t")
    assert entry.videos == (
        Video(
            player_loc="https://i.example/p",
            player_allow_embed=False,
            player_autoplay="a=1",
            tags=("x", "y"),
        ),
    )
    assert [type(extra) for extra in entry.extras] == [Extra]
    assert entry.date == entry.news.publication_date


@pytest.mark.parametrize(
    "make",
    [
        copy.copy,
        copy.deepcopy,
        attrs.evolve,
        lambda entry: pickle.loads(pickle.dumps(entry)),  # noqa: S301 (our own)
    ],
    ids=["copy", "deepcopy", "evolve", "pickle"],
)
def test_copies_are_equal(make: object) -> None:
    """An entry that was not looked at can be copied, changed and pickled."""
    assert callable(make)
    assert make(read_entry()) == read_entry()
    assert repr(make(read_entry())) == repr(read_entry())


def test_what_was_set_stays() -> None:
    """A value that the caller sets is not read over."""
    entry = read_entry()
    entry.images, entry.title = (), "mine"
    assert entry.videos
    assert (entry.images, entry.title) == ((), "mine")


def test_an_attribute_that_nobody_has() -> None:
    """A wrong name is an error that says so, read or unread."""
    for entry in (read_entry(), UrlEntry("https://a.example/")):
        with pytest.raises(
            AttributeError, match="'UrlEntry' object has no attribute 'picture'"
        ):
            entry.picture  # type: ignore[attr-defined]  # noqa: B018 (it raises)
    assert not hasattr(read_entry(), "_picture")


def test_parts_with_a_very_long_reference_are_read() -> None:
    """Thousands of zeros in a reference change neither the loc nor what is read late."""
    one = f"&#{'0' * 5_000}65;"
    parts = (
        f"<image:image><image:loc>http://i/a</image:loc><image:title>{one}</image:title></image:image>"
        f'<xhtml:link rel="alternate" hreflang="{one}" href="http://i/a"/>'
        f'<video:video><video:player_loc autoplay="{one}">http://i/p</video:player_loc></video:video>'
        f"<mobile:a>{one}&#x{'0' * 5_000}42;</mobile:a>"
    )
    record = f"<url><loc>https://a.example/{one}</loc>{parts}</url>"
    (entry,) = check_ways(urlset(record.encode()))
    assert isinstance(entry, UrlEntry)
    assert pickle.loads(pickle.dumps(entry)) == entry  # noqa: S301 (our own)
    assert (entry.loc, entry.images[0].title) == ("https://a.example/A", "A")
    assert (entry.alternates[0].hreflang, entry.extras[0].text) == ("A", "AB")
