"""A report has a title and a logo, and no logo can do harm."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING

import audits
import pytest

from sitemapreader.audit.models import AuditInputError
from sitemapreader.audit.report import MAX_LOGO_BYTES, read_logo
from sitemapreader.audit.report.texts import format_audit

if TYPE_CHECKING:
    from pathlib import Path

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><circle r="9"/></svg>'
LOGOS = [
    (b"\x89PNG\r\n\x1a\n...", "image/png"),
    (b"\xff\xd8\xff\xe0...", "image/jpeg"),
    (b"GIF89a...", "image/gif"),
    (b"RIFF\x0a\x0b\x0c\x0dWEBPVP8 ", "image/webp"),
    (SVG, "image/svg+xml"),
    (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- by hand -->\n' + SVG, "image/svg+xml"),
    (b'<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd">' + SVG, "image/svg+xml"),
]
NO_LOGOS = {
    b"": "must be a PNG",
    b"<html><svg></svg></html>": "must be a PNG",
    b"<!-- " * 20_000: "must be a PNG",
    b'<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">]>' + SVG: "must be a PNG",
    b"%PDF-1.7": "must be a PNG",
    b"GIF89a" + b" " * MAX_LOGO_BYTES: "larger than 256 KiB",
}


@pytest.mark.parametrize(("content", "kind"), LOGOS)
def test_a_logo_is_known_by_how_it_begins(tmp_path: Path, content: bytes, kind: str) -> None:
    """Images of five kinds become a part of the report, byte for byte."""
    path = tmp_path / "logo.txt"
    path.write_bytes(content)
    head, _, data = read_logo(path).partition(",")
    assert head == f"data:{kind};base64"
    assert b64decode(data) == content


@pytest.mark.parametrize("content", NO_LOGOS)
def test_what_is_no_logo(tmp_path: Path, content: bytes) -> None:
    """Other files, images with entities, and large ones are refused, with the fix."""
    path = tmp_path / "logo.svg"
    path.write_bytes(content)
    with pytest.raises(AuditInputError, match=NO_LOGOS[content]):
        read_logo(path)
    with pytest.raises(AuditInputError, match=r"the logo .*none\.png cannot be read: No such file"):
        read_logo(tmp_path / "none.png")


def test_a_logo_is_an_image_and_a_title_is_text(tmp_path: Path) -> None:
    """A hostile SVG stands in an <img> alone, and a title in HTML is escaped."""
    path = tmp_path / "logo.svg"
    path.write_bytes(b"<svg><script>alert(1)</script><image href='https://e.example/'/></svg>")
    title = 'Our <b>"shop"</b>'
    html = format_audit("html", [], audits.make_facts(), title=title, logo=read_logo(path))
    assert (
        html.count("<img ") == html.count('<img class="logo" alt="" src="data:image/svg+xml;') == 1
    )
    assert "alert(1)" not in html
    assert "<title>Our &lt;b&gt;&#34;shop&#34;&lt;/b&gt;</title>" in html
    assert f"<p>{audits.SITE} · " in html
    markdown = format_audit("markdown", [], audits.make_facts(), title="Our\nshop")
    assert markdown.startswith("# Our shop\n")


def test_without_a_title_the_source_is_one() -> None:
    """A report without them is as it was."""
    html = format_audit("html", [], audits.make_facts())
    assert f"<h1>{audits.SITE}</h1>" in html
    assert "<img" not in html
