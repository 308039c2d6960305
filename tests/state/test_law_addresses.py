"""The law of removal: addresses are asked as they are written, and each counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from clock import SetClock
from diary import Diary, Host
from serving import Answer, serve_site

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


# -- escaped characters that have a meaning when they are not

ELSEWHERE = "/maps%2Ball/x%2Cy%3B.xml"


@pytest.mark.parametrize(
    ("target", "sitemap"),
    [
        ("/wiki/C%3A%3Bdrive/a%2Cb%40home", "/map.xml"),
        ("/find?q=C%2B%2B%26Rust%3D1", "/map.xml"),
        ("/go/7", ELSEWHERE),
    ],
    ids=["in a path", "in a query", "in a Location"],
)
async def test_what_is_listed_is_what_is_asked(
    db: Path, clock: SetClock, target: str, sitemap: str
) -> None:
    """A page whose escapes are written otherwise is another page, whose 404 says nothing."""
    stays = ["/wiki/index", "/wiki/help", "/find?q=1", "/go/1"]
    host = Host(listed=[*stays, target], live={*stays, target}, sitemap=sitemap)
    if sitemap == ELSEWHERE:
        host.answers["/map.xml"] = Answer(b"", 302, {"Location": sitemap})
    async with serve_site(default=host.answer) as site:
        diary = Diary(db, clock, site=f"{site.base}/", base=site.base)
        for day in range(14):
            if day == 1:
                host.listed.remove(target)
            await diary.walk()
    assert diary.new == dict.fromkeys([*stays, target], 1)
    assert diary.gone == {}
    assert diary.unlisted.keys() == {target}
    assert {target, sitemap} <= {*host.asked}
