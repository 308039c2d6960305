"""Rows 121 to 130 of the table: robots.txt."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

from walking import ROBOTS, SITE, fault, status, urlset, walk_all
from web_table import row

from sitemapreader.issues import IssueCode
from sitemapreader.readers.robots import parse_robots

if TYPE_CHECKING:
    from web_table import Web

    from sitemapreader.readers.robots import Robots

OURS = "sitemapreader"
PRIVATE = b"User-agent: *\nDisallow: /private\n"


async def probed(answer: Any) -> str:
    """Say whether well-known paths are probed after an answer for robots.txt, and what is noted."""
    walked = await walk_all({ROBOTS: answer, SITE: b"", f"{SITE}sitemap.xml": urlset("/x")})
    codes = [code for code in walked.codes if code not in {"relative-loc", "no-sitemap"}]
    return " ".join(
        ["probed" if len(walked.requested) > 1 and walked.locs else "not probed", *codes]
    )


def parse(data: bytes) -> Robots:
    return parse_robots(data, ROBOTS)


def describe(data: bytes) -> str:
    """Say how many Sitemap lines there are, whether the rules hold, and what is noted."""
    robots = parse(data)
    rules = "no rules" if robots.can_fetch("https://example.org/private", OURS) else "rules"
    return " ".join(
        [f"{len(robots.sitemaps)} lines, {rules}", *(str(i.code) for i in robots.issues)]
    )


@row(121, "401, 403, 404, 410", "probed")
async def client_errors(_: Web) -> str:
    said = [await probed(status(code)) for code in (401, 403, 404, 410)]
    return " / ".join(dict.fromkeys(said))


@row(
    122,
    "500, 503, 429, time-out",
    "not probed robots-unreachable / not probed robots-unreachable timeout",
)
async def unreachable(_: Web) -> str:
    answers = (status(500), status(503), status(429), fault(IssueCode.TIMEOUT))
    said = [await probed(answer) for answer in answers]
    return " / ".join(dict.fromkeys(said))


@row(123, "6 redirects", "probed too-many-redirects")
async def redirects(_: Web) -> str:
    return await probed(fault(IssueCode.TOO_MANY_REDIRECTS))


@row(124, "600 KiB", "1 lines, rules robots-too-large")
async def long_file(_: Web) -> str:
    lines = b"Sitemap: https://example.org/1\n" + PRIVATE
    return describe(lines + b"# x\n" * 150_000 + b"Sitemap: https://example.org/2\n")


@row(125, "UTF-8 BOM, UTF-16", "0 lines, rules")
async def marks(_: Web) -> str:
    files = (codecs.BOM_UTF8 + PRIVATE, PRIVATE.decode().encode("utf-16"))
    return " / ".join(dict.fromkeys(map(describe, files)))


@row(126, "binary, HTML", "0 lines, no rules robots-not-text")
async def no_text(_: Web) -> str:
    files = (b"\x89PNG\0" + PRIVATE, b"<!DOCTYPE html>\n" + PRIVATE)
    return " / ".join(dict.fromkeys(map(describe, files)))


@row(127, "U+2028, VT, U+0085 before `Sitemap:`", "0 lines, no rules")
async def separators(_: Web) -> str:
    files = (f"# x{mark}Sitemap: https://a.org/\n".encode() for mark in "\u2028\v\u0085\f\x1c")
    return " / ".join(dict.fromkeys(map(describe, files)))


@row(
    128,
    "Sitemap relative, file:, itself",
    "1 lines, no rules relative-loc / 0 lines, no rules unsupported-scheme"
    " / 0 lines, no rules cycle",
)
async def lines(_: Web) -> str:
    values = ("/s.xml", "file:///s.xml", "https://example.org/robots.txt")
    return " / ".join(describe(f"Sitemap: {value}".encode()) for value in values)


@row(129, "Crawl-delay 1e9, nan, -1", "60.0, None, None")
async def delays(_: Web) -> str:
    files = (f"User-agent: *\nCrawl-delay: {value}".encode() for value in ("1e9", "nan", "-1"))
    return ", ".join(str(parse(data).crawl_delay(OURS)) for data in files)


@row(130, "200,000 Sitemap lines", "1000 lines, no rules robots-too-large robots-too-large")
async def many_lines(_: Web) -> str:
    return describe(b"".join(b"Sitemap: http://a.b/%d\n" % n for n in range(200_000)))
