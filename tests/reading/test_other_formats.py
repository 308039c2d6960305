"""Documents in formats that are not read: one Issue that says what to ask for, and no guess."""

from __future__ import annotations

import json

from each_case import for_each

from sitemapreader import Issue, IssueCode, SitemapReader, UrlEntry, read

URL = "https://example.org/feed.json"
POST = {"id": "1", "url": "https://example.org/1", "content_html": "<url><loc>/a</loc></url>"}

BODIES = {
    "a JSON Feed": json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": [POST]}),
    "a sitemap in JSON": '{"url": ["https://example.org/1", "https://example.org/2"]}',
    "XML in JSON": '{"sitemap": "<urlset><url><loc>https://example.org/1</loc></url></urlset>"}',
    "JSON on many lines": json.dumps([POST, POST], indent=1),
    "an llms.txt": "# Name\n\n> What it is\n\n## Docs\n\n- [One](https://example.org/1): notes\n",
    "a list in Markdown": "Pages:\n\n- https://example.org/1\n- https://example.org/2\n",
}


@for_each("body", list(BODIES.values()))
def test_other_formats(body: str) -> None:
    """JSON and Markdown are no sitemaps, whatever is in them, and the advice says what to do."""
    events = list(read(body.encode(), URL))
    assert [event.code for event in events if isinstance(event, Issue)] == [IssueCode.NOT_A_SITEMAP]
    assert len(events) == 1
    assert "JSON" in IssueCode.NOT_A_SITEMAP.advice
    in_pieces = SitemapReader(URL)
    given = [event for byte in body.encode() for event in in_pieces.feed(bytes([byte]))]
    assert given + in_pieces.close() == events


@for_each("line", ['{"error": "no cache"}', '[{"a": 1}]', '{"a": "<b>"}'])
def test_a_line_of_json_before_a_sitemap(line: str) -> None:
    """What a program has written before a sitemap costs none of its URLs."""
    urlset = "<urlset>\n<url><loc>https://example.org/1</loc></url>\n</urlset>"
    events = list(read(f"{line}\n{urlset}".encode(), URL))
    codes = [event.code for event in events if isinstance(event, Issue)]
    assert codes[0] is IssueCode.LEADING_BYTES
    assert [event.loc for event in events if isinstance(event, UrlEntry)] == [
        "https://example.org/1"
    ]
