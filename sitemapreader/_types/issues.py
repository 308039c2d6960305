"""The table of Issue codes, and Issue: one problem of a sitemap or of its fetch.

Content never raises. Everything that was repaired, dropped or not reached is an `Issue` in the
stream and in the report; nothing is only logged.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    from collections import Counter

MAX_ISSUES_PER_DOCUMENT = 10
"""Issues of one code that are kept for a document; more are only counted."""
MAX_EXCERPT = 200
"""Characters of foreign text that an Issue quotes."""
MAX_NAME = 2_048
"""Characters of a URL or path in messages: the protocol's limit for a loc."""


class Severity(IntEnum):
    """The severity of an Issue.

    INFO lost nothing, WARNING was repaired, ERROR lost data.
    """

    INFO = 1
    WARNING = 2
    ERROR = 3


INFO, WARNING, ERROR = Severity


class IssueCode(StrEnum):
    """Every kind of Issue: its code, severity, description, and advice."""

    severity: Severity
    meaning: str
    advice: str

    def __new__(
        cls,
        code: str,
        severity: Severity,
        meaning: str,
        advice: str,
    ) -> Self:
        """Make the code the value: it compares, sorts and prints as a plain string."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.severity = severity
        member.meaning = meaning
        member.advice = advice
        return member

    # fmt: off
    # -- the document as a whole
    LEADING_BYTES = ("leading-bytes", INFO, "extra bytes precede the document", "remove everything before `<?xml` or the first URL")
    TRAILING_BYTES = ("trailing-bytes", INFO, "extra bytes follow the root element", "remove everything after the root's end tag")
    ENCODING = ("encoding", WARNING, "the document, or a part of it, is not in the declared encoding", "save the file as UTF-8 and declare UTF-8")
    ENCODING_UNSUPPORTED = ("encoding-unsupported", ERROR, "the declared encoding is not supported", "save the file as UTF-8")
    CONTENT_ENCODING = ("content-encoding", ERROR, "the body has a content coding that cannot be decoded", "serve it with gzip or without a coding. To read br, install the extra `speedups`")
    WRONG_CONTENT_ENCODING = ("wrong-content-encoding", INFO, "the body does not have the coding that its Content-Encoding header names; it was read as it is", "remove the header, or compress the body as the header says")
    NAMESPACE = ("namespace", INFO, "a namespace is not the one that search engines know", "declare http://www.sitemaps.org/schemas/sitemap/0.9, and for an extension the namespace in its documentation, not one with https")
    DOCTYPE = ("doctype", INFO, "the document has a DOCTYPE", "remove the DOCTYPE, because a sitemap needs none")
    DTD_REFUSED = ("dtd-refused", ERROR, "the DOCTYPE has an internal subset, so the document was refused", "remove the `[...]` with its declarations")
    MISSING_ROOT = ("missing-root", WARNING, "the records have no root element", "wrap them in <urlset> or <sitemapindex>")
    NESTED_ROOT = ("nested-root", WARNING, "a second root element, or a record of another kind, is inside or after the first root", "write one urlset or one sitemapindex per file")
    TRUNCATED = ("truncated", ERROR, "the document ends before its root element is closed", "check the size limits of the generator and of the server")
    EMPTY = ("empty", WARNING, "the document has no records", "list at least one URL, or remove the sitemap")
    HTML_NOT_SITEMAP = ("html-not-sitemap", ERROR, "the document is an HTML page", 'check the address, because servers often send an error or login page with status 200. To read an HTML site map, use `Search(extra_formats={"html"})`')
    NOT_A_SITEMAP = ("not-a-sitemap", ERROR, "the document is neither XML, a feed nor a list of URLs", "check the address. If the site serves JSON, Markdown or a compression other than gzip, ask its owner for XML or a list of URLs")
    TABLE_NOT_SITEMAP = ("table-not-sitemap", ERROR, "the document is a table (CSV, TSV), whose cells are not all addresses of pages", "write the URLs alone, one on each line, without a header or other columns. The output format `urls` does so")
    HTML_SITEMAP = ("html-sitemap", INFO, "the document is an HTML page; its links to the same site were read as entries", "check the URLs. A sitemap in XML has more details")
    LINK_NOT_TAKEN = ("link-not-taken", INFO, "a link was skipped because it leads to another site, to mail or a script, names a user, or is marked nofollow", "walk the other site separately if you need it")
    OVER_PROTOCOL_LIMIT = ("over-protocol-limit", WARNING, "the document exceeds the protocol's limit of 50,000 records or 50 MiB", "split the document, and list the parts in an index")
    TOO_LARGE = ("too-large", ERROR, "the document exceeds a limit; the rest was not read", "raise `Limits` if you trust the document")
    FEED_SALVAGED = ("feed-salvaged", WARNING, "the feed could not be repaired, so feedparser read it", "make the feed well-formed")
    FEED_UNREADABLE = ("feed-unreadable", ERROR, "the feed could not be repaired, and feedparser could not read it either", "make the feed well-formed")
    # -- compression: gzip, deflate, br
    COMPRESSION_NESTED = ("compression-nested", INFO, "the document is compressed twice", "compress it once")
    COMPRESSION_TOO_MANY_LAYERS = ("compression-too-many-layers", ERROR, "the document is compressed more than twice", "compress it once")
    COMPRESSION_TOO_MANY_MEMBERS = ("compression-too-many-members", ERROR, "the compressed data has more members than the limit; the rest was not read", "compress it in one piece")
    COMPRESSION_TRAILING_BYTES = ("compression-trailing-bytes", INFO, "extra bytes follow the compressed data", "remove these bytes")
    COMPRESSION_TRAILING_DOCUMENT = ("compression-trailing-document", ERROR, "an uncompressed document follows the compressed data; it was not read", "put each document into its own file, or compress both")
    COMPRESSION_TRUNCATED = ("compression-truncated", ERROR, "the compressed data ends too early", "upload the file again, and check the server's limits")
    COMPRESSION_CORRUPT = ("compression-corrupt", ERROR, "the compressed data is damaged", "compress and upload the file again")
    # -- the markup of a record
    HTML_ENTITY = ("html-entity", WARNING, "the document uses an HTML entity that XML does not define", "write the character itself")
    BARE_AMPERSAND = ("bare-ampersand", WARNING, "an `&` is not written as `&amp;`", "escape it as `&amp;`")
    BARE_LESS_THAN = ("bare-less-than", WARNING, "a `<` is not written as `&lt;`", "escape it as `&lt;`")
    CONTROL_CHARACTER = ("control-character", WARNING, "a control character was removed", "remove it from the file")
    UNBOUND_PREFIX = ("unbound-prefix", WARNING, "the document uses a namespace prefix that it does not declare", "declare the prefix on the root element")
    MISMATCHED_TAG = ("mismatched-tag", WARNING, "an end tag is missing or matches no start tag", "close every element in order")
    NOT_WELL_FORMED = ("not-well-formed", WARNING, "the markup is not well-formed; it was repaired", "check it with an XML parser")
    MALFORMED = ("malformed", ERROR, "a record could not be read and was dropped", "make the markup well-formed and the URL complete")
    TEMPLATE = ("template", ERROR, "a record contains an unfilled template; the field or the record was dropped", "publish the rendered file")
    RECORD_TOO_LONG = ("record-too-long", ERROR, "a record is too long and was dropped", "split the record. If you trust the document, raise `Limits.record_bytes`")
    FIELD_TOO_LONG = ("field-too-long", ERROR, "a field is too long; the field or its record was dropped", "shorten the field. If you trust the document, raise `Limits.field_chars`")
    TOO_DEEP = ("too-deep", ERROR, "a record is nested too deep and was dropped", "flatten the record")
    TOO_MANY_ELEMENTS = ("too-many-elements", ERROR, "a record has too many elements and was dropped", "split the record. If you trust the document, raise `Limits.record_elements`")
    TOO_MANY_ATTRIBUTES = ("too-many-attributes", ERROR, "an element has too many attributes; its record was dropped", "remove attributes that no sitemap needs")
    # -- the values of a record
    MISSING_LOC = ("missing-loc", WARNING, "a record has no `<loc>`", "give every record its URL")
    REPEATED_LOC = ("repeated-loc", WARNING, "a record has several `<loc>`; each was read as a record of its own", "write one record for each URL")
    RELATIVE_LOC = ("relative-loc", WARNING, "a URL is relative; it was resolved against the document's URL", "write absolute URLs")
    MISSING_BASE = ("missing-base", ERROR, "a URL is relative, and the document's own URL is unknown; the record was dropped", "pass the document's URL as `url`")
    UNSUPPORTED_SCHEME = ("unsupported-scheme", WARNING, "a URL is neither http nor https; it was dropped", "list only http and https URLs")
    URL_CHARACTERS = ("url-characters", WARNING, "a URL contains blanks, invisible characters or control characters", "remove these characters, or percent-encode them")
    LONG_LOC = ("long-loc", INFO, "a URL has 2,048 characters or more", "shorten the URL, because the protocol allows 2,047")
    DELETED = ("deleted", INFO, "a record says that its URL was deleted; it was dropped", "nothing needs to be done. A walk with `Changes` reports such URLs as unlisted")
    NOT_A_URL = ("not-a-url", WARNING, "a line is not an http(s) URL, or has other cells of a table; it was dropped", "write one absolute URL on each line, without other columns")
    UNTIDY_LINE = ("untidy-line", WARNING, "a line holds more than one bare URL; the URLs in it were read", "write one absolute URL on each line, without quotes, brackets or other columns")
    REPEATED_FIELD = ("repeated-field", WARNING, "a record has a field more than once; the last value was used", "write each field once")
    LASTMOD = ("lastmod", WARNING, "a lastmod is not a date in the protocol's format", "write a W3C datetime, such as 2026-01-31")
    CHANGEFREQ = ("changefreq", WARNING, "a changefreq is not one of the protocol's seven words", "write always, hourly, daily, weekly, monthly, yearly or never")
    PRIORITY = ("priority", WARNING, "a priority is not a number from 0.0 to 1.0", "write a number from 0.0 to 1.0")
    EXTENSION = ("extension", WARNING, "a field of an image, video, news, link or other extension could not be read", "see the specification of the extension")
    SITEMAPS_AS_PAGES = ("sitemaps-as-pages", WARNING, "a urlset or a text lists nothing but sitemaps; they are pages, unless `follow` takes them", "list sitemaps in a sitemapindex, as <sitemap>")
    # -- the fetch of a document
    INVALID_URL = ("invalid-url", ERROR, "the URL cannot be requested", "correct the URL")
    CHILD_URL_TOO_LONG = ("child-url-too-long", ERROR, "the URL of a child sitemap is longer than servers accept; it was dropped", "shorten the URL to 8,192 characters")
    USERINFO_REMOVED = ("userinfo-removed", WARNING, "a user name or password was removed from a URL", "never publish credentials")
    BLOCKED_ADDRESS = ("blocked-address", ERROR, "the address is not public, so no connection was made", "allow its network with `allow_networks` if you trust it")
    BLOCKED_PORT = ("blocked-port", ERROR, "the port is not a usual port of the web, so no connection was made", "allow it with `allow_ports` if you trust it")
    DNS = ("dns", ERROR, "the host name could not be resolved", "check the host name. If another server stands for it, use `FetchOptions.map_hosts`")
    CONNECT = ("connect", ERROR, "the connection failed, or was closed before the response began", "check host and port, or try again later")
    TLS = ("tls", ERROR, "the TLS handshake failed", "check the server's certificate. For a server without TLS, use a URL that begins with http://")
    TIMEOUT = ("timeout", ERROR, "the server did not respond in time", "try again later, or raise `headers_seconds`")
    STALLED = ("stalled", ERROR, "the server stopped sending in the middle of the body", "try again later")
    TOO_SLOW = ("too-slow", ERROR, "the server sent more slowly than the minimum rate", "try again later, or lower `min_bytes_per_second`")
    BODY_CUT = ("body-cut", ERROR, "the connection was closed in the middle of the body", "try again later")
    BAD_HTTP = ("bad-http", ERROR, "the response is not valid HTTP", "check the server")
    SURPLUS_BYTES = ("surplus-bytes", WARNING, "the server sent bytes that belong to no response, such as a body longer than its Content-Length; they were dropped", "correct the server, so that Content-Length is the length of the body")
    HTTP_STATUS = ("http-status", ERROR, "the status of the response is not 200", "check the address and the server")
    BLOCKED_BY_SITE = ("blocked-by-site", ERROR, "the site's bot protection refused the request", "ask the site's owner to allow your User-Agent, or pass a `fetcher` that the site accepts")
    LOGIN_REQUIRED = ("login-required", ERROR, "the server (status 401) or the proxy (status 407) requires a login, which was missing or refused", "give a user and a password: for a site in its URL or with `headers`, for a proxy in the proxy's URL")
    RETRY_LATER = ("retry-later", ERROR, "the server requests a longer wait than the limit", "try again after this time")
    REDIRECT_LOOP = ("redirect-loop", ERROR, "the redirects form a loop", "check the server")
    TOO_MANY_REDIRECTS = ("too-many-redirects", ERROR, "there are more redirects than the limit", "link to the final address. To follow more redirects, raise `max_redirects`")
    DOWNGRADE = ("downgrade", ERROR, "a redirect from https to http was not followed", "serve the target over https")
    HOST_REFUSES = ("host-refuses", ERROR, "a host refused several requests in a row, or requested a wait of more than 60 s; the rest of its sitemaps was skipped", "walk again later, because with a state the walk resumes. If the host still refuses, ask its owner")
    HOST_DOWN = ("host-down", ERROR, "several requests in a row to a host failed; the rest of its sitemaps was skipped", "walk again later, because with a state the walk resumes")
    # -- robots.txt
    ROBOTS_UNREACHABLE = ("robots-unreachable", WARNING, "robots.txt could not be fetched; only URLs that you named are fetched from its host", "make the server respond to robots.txt with status 200 or 404")
    ROBOTS_DISALLOWED = ("robots-disallowed", WARNING, "robots.txt disallows the URL; it was not fetched", "allow the URL in robots.txt. To fetch it all the same, pass `FetchOptions(respect_robots=False)`")
    ROBOTS_NOT_TEXT = ("robots-not-text", WARNING, "robots.txt is a page, JSON or another kind of text; it was read as a file without rules", "serve rules, or respond with status 404")
    ROBOTS_TOO_LARGE = ("robots-too-large", ERROR, "robots.txt is too long; the rest was not read, and may name sitemaps", "keep it below 500 KiB and 1,000 sitemaps, and name an index instead of its children")
    ROBOTS_TOO_COMPLEX = ("robots-too-complex", WARNING, "robots.txt has too many wildcards to match the URL; the URL was treated as disallowed", "use fewer wildcards. To fetch the URL all the same, pass `FetchOptions(respect_robots=False)`")
    # -- the walk
    HOST_MAPPED = ("host-mapped", INFO, "URLs of one host were fetched from another host", "nothing needs to be done, because `FetchOptions.map_hosts` was given")
    SITE_MOVED = ("site-moved", WARNING, "the site's start page redirects to another host, where its sitemaps were searched", "pass the new address")
    OTHER_SITE = ("other-site", WARNING, "none of the listed URLs is on the site that you named", "pass the site of these URLs. To read a copy whose robots.txt or sitemaps name the original, use `FetchOptions.map_hosts`")
    NO_SITEMAP = ("no-sitemap", ERROR, "no sitemap was found", "let robots.txt name a sitemap that can be read. To read one that you know, pass its URL with `sitemaps=`")
    FEED_NOT_READ = ("feed-not-read", WARNING, "no sitemap was found; the start page links to a feed, which was not read", "use `Search(feeds=True)` to read the feed")
    INDEX_DATE = ("index-date", WARNING, "an index dates a sitemap before the newest URL in it, so sitemaps that were skipped by their dates may have newer URLs, too", "read them with `Follow(prune=False)`")
    CYCLE = ("cycle", INFO, "a sitemap lists a sitemap that was already read", "list each sitemap once")
    REDIRECTS_UP = ("redirects-up", ERROR, "a sitemap redirects to its own index, to robots.txt or to the start page", "restore the sitemap, or remove it from its index")
    NESTED_INDEX = ("nested-index", WARNING, "an index lists another index, which the protocol does not allow", "list only urlsets")
    CROSS_HOST_CHILD = ("cross-host-child", WARNING, "a child sitemap is on another site; it was not fetched", "name it in that site's robots.txt. To fetch it all the same, pass `Follow(hosts=\"any\")`. If you read a copy of that site, use `FetchOptions.map_hosts`")
    HOST_NOT_PUBLIC = ("host-not-public", ERROR, "a listed address is on a host that is not public, such as localhost or `undefined`; it was not fetched", "publish the address of production. To read this one, pass its URL with `sitemaps=`")
    FEED_HAS_MORE = ("feed-has-more", WARNING, "a feed has a next page, which was not followed or is not a URL", "pass the URL of the next page with `sitemaps=`")
    OUT_OF_SCOPE = ("out-of-scope", INFO, "entries lie outside the host or folder of their sitemap", "publish them in a sitemap of their own host")
    DUPLICATE_DOCUMENT = ("duplicate-document", WARNING, "a sitemap index has the same bytes as another one; its children were skipped", "list each sitemap once")
    BUDGET_DEPTH = ("budget-depth", ERROR, "indexes are nested deeper than the limit; the rest was skipped", "raise `Limits.depth`")
    BUDGET_CHILDREN = ("budget-children", ERROR, "an index lists more children than the limit; the rest was skipped", "raise `Limits.children`")
    BUDGET_DOCUMENTS = ("budget-documents", ERROR, "the walk reached its limit of documents; the rest was not read", "raise `Limits.documents`")
    BUDGET_MEMORY = ("budget-memory", ERROR, "the URLs of the listed sitemaps take more memory than the limit; the rest was skipped", "raise `Limits.documents` if you trust the site")
    BUDGET_BYTES = ("budget-bytes", ERROR, "the walk reached its limit of bytes; the rest was not read", "raise `Limits.walk_bytes`")
    BUDGET_SECONDS = ("budget-seconds", ERROR, "the walk reached its limit of time; the rest was not read", "raise `Limits.walk_seconds`, or the `Limits.max_time` of the whole run")
    BUDGET_URLS = ("budget-urls", ERROR, "the walk reached its limit of URLs; the rest was not read", "raise `Limits.max_urls`")
    SHRUNK = ("shrunk", WARNING, "a sitemap lists less than half of its earlier URLs, or none; the missing URLs are not unlisted until a later walk confirms it", "if the pages are removed, walk again tomorrow. If they are not, restore the sitemap")
    STATE_REPLACED = ("state-replaced", WARNING, "the state file was damaged, from an earlier version, or not a state file; it was renamed, and everything is read again", "inspect the renamed file, then remove it")
    # fmt: on


def list_errors(counts: Counter[IssueCode]) -> list[IssueCode]:
    """Return the codes of counted Issues that are errors: something was lost."""
    return [code for code, count in counts.items() if code.severity is ERROR and count]


def sort_by_severity(counts: Counter[IssueCode]) -> list[tuple[IssueCode, int]]:
    """Return the codes and their counts, the worst and then the most frequent first."""
    return sorted(counts.items(), key=lambda pair: (-pair[0].severity, -pair[1]))


_USERINFO = re.compile(
    r"""(^|[\s"'])((?:[A-Za-z][A-Za-z0-9+.-]{0,20}:)?//)[^/?#\\\s]*@"""
)
"""At the beginning of a URL, in a text too; not `//` in a path. Browsers take a backslash for the end
of the host: what is before it is no user."""


@attrs.define(weakref_slot=False)
class Issue:
    """One thing that was repaired, dropped or not reached.

    Attributes:
        code: its row of the table; compares as a string (`issue.code == "malformed"`).
        message: what is wrong, and what to do.
        sitemap: URL of the document, or "".
        line: line in the document, from 1, where known.
        url: URL of the entry or child sitemap, where there is one.
        value: the text that caused it, cut and with control characters escaped.
        dropped: True if its record was left out because of it.
        site: the site of the walk that found it, as it was given, or "".
    """

    code: IssueCode
    message: str = ""
    sitemap: str = ""
    line: int | None = None
    url: str | None = None
    value: str | None = None
    dropped: bool = False
    site: str = attrs.field(default="", eq=False)

    @classmethod
    def make(
        cls,
        code: IssueCode,
        sitemap: str = "",
        *,
        line: int | None = None,
        url: str | None = None,
        value: str | None = None,
        dropped: bool = False,
    ) -> Issue:
        """Make an Issue with the message of its code.

        Its texts are cut and escaped, and its URLs have no password. For the arguments see the
        attributes.
        """
        if url is not None:
            url = show_url(url)
        if value is not None:
            value = excerpt(without_userinfo(value))
        return cls(
            code=code,
            message=f"{code.meaning}: {code.advice}",
            sitemap=without_userinfo(sitemap),
            line=line,
            url=url,
            value=value,
            dropped=dropped,
        )

    def __str__(self) -> str:
        """Return its location and its message."""
        text = self.message
        if self.value:
            text += f" [{self.value}]"
        location = [self.sitemap] if self.sitemap else []
        if self.line:
            location.append(f"line {self.line}")
        if location:
            return f"{', '.join(location)}: {text}"
        return text

    @property
    def severity(self) -> Severity:
        """The severity of its code."""
        return self.code.severity

    def to_dict(self) -> dict[str, str | int | None]:
        """Return its fields without the site, and its severity, as JSON's types."""
        return {
            "code": str(self.code),
            "severity": self.severity.name.lower(),
            "message": self.message,
            "sitemap": self.sitemap,
            "line": self.line,
            "url": self.url,
            "value": self.value,
            "dropped": self.dropped,
        }


make_issue = Issue.make


def without_userinfo(text: str) -> str:
    """Remove user and password from a URL, or from the URLs in a text."""
    if "@" in text:
        return _USERINFO.sub(r"\1\2", text)
    return text


def show_url(url: str) -> str:
    """Return a URL for display: without password, with control characters escaped."""
    return excerpt(without_userinfo(url), MAX_NAME)


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    r"""Cut foreign text to `limit` characters, with unprintable ones as `\x..`."""
    # SECURITY: strangers write this text. Control and bidi characters would act on a terminal.
    if len(text) > limit:
        text = text[:limit] + "…"
    if text.isprintable():
        return text
    return "".join(map(_escape_controls, text))


def _escape_controls(char: str) -> str:
    if char.isprintable() or unicodedata.category(char) == "Zs":
        return char
    return char.encode("unicode_escape").decode("ascii")
