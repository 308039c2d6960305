"""The switch in the environment that turns the regular expressions off."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

CODE = """
from unittest import mock
from sitemapreader.readers import SitemapReader
from sitemapreader.readers.xml.patterns import PatternReader as Pattern

for count in (2, 3_000):
    records = "".join(f"<url><loc>https://a.b/{number}</loc></url>" for number in range(count))
    with mock.patch.object(Pattern, "read", autospec=True, side_effect=Pattern.read) as read:
        reader = SitemapReader("https://a.b/sitemap.xml")
        events = reader.feed(f"<urlset>{records}</urlset>".encode()) + reader.close()
    print(len(events) - 1, read.called)
"""
"""The first event is the Issue of the missing namespace."""


@pytest.mark.parametrize(("switch", "is_used"), [("off", False), (None, True)])
def test_the_switch_has_all_records_read_by_the_tree(switch: str | None, *, is_used: bool) -> None:
    """`SITEMAPREADER_PATTERNS=off` reads small and large documents, and tries no pattern."""
    variables = {n: v for n, v in os.environ.items() if n != "SITEMAPREADER_PATTERNS"}
    if switch:
        variables["SITEMAPREADER_PATTERNS"] = switch
    words = [sys.executable, "-c", CODE]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", str(is_used), "3000", str(is_used)]
