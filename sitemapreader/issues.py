"""What can be wrong with a sitemap, and with the way to it: one table, and the record of one case.

Content never raises. Whatever was mended, dropped or not reached is an `Issue` in the stream and
in the report; nothing is only logged.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum, StrEnum
from typing import Self

import attrs

MAX_ISSUES_PER_DOCUMENT = 10
"""Issues of one code that are kept for a document; more are only counted."""
MAX_EXCERPT = 200
"""Characters of foreign text that an Issue carries: enough to find the place, too few to flood."""


class Severity(IntEnum):
    """How much an Issue matters: `INFO` cost nothing, `WARNING` was mended, `ERROR` lost something."""

    INFO = 1
    WARNING = 2
    ERROR = 3


INFO, WARNING, ERROR = Severity


class IssueCode(StrEnum):
    """Every kind of Issue: its code, severity, what happened, and what to do about it."""

    severity: Severity
    meaning: str
    advice: str

    def __new__(cls, code: str, severity: Severity, meaning: str, advice: str) -> Self:
        """Make the code the value, so that it compares, sorts and prints as a plain string."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.severity = severity
        member.meaning = meaning
        member.advice = advice
        return member

    # fmt: off
    # -- the document as a whole
    LEADING_BYTES = ("leading-bytes", INFO, "bytes stand before the document", "remove what stands before `<?xml` or the first URL")
    TRAILING_BYTES = ("trailing-bytes", INFO, "bytes stand after the root element", "remove what follows the root's end tag")
    ENCODING = ("encoding", WARNING, "the bytes are not in the encoding that is declared, or not wholly", "save the file as UTF-8 and declare that")
    ENCODING_UNSUPPORTED = ("encoding-unsupported", ERROR, "the declared encoding is not one that sitemaps are read in", "save the file as UTF-8")
    CONTENT_ENCODING = ("content-encoding", ERROR, "the body is in a content coding that cannot be decoded here", "serve gzip or nothing; for br and zstd, install the extra `speedups`")
    WRONG_CONTENT_ENCODING = ("wrong-content-encoding", INFO, "the body is not in the coding that the Content-Encoding header names; it was read as it is", "name a coding only where the body is in it")
    NAMESPACE = ("namespace", INFO, "the namespace is not the protocol's", "declare http://www.sitemaps.org/schemas/sitemap/0.9")
    DOCTYPE = ("doctype", INFO, "the document has a DOCTYPE", "remove it; sitemaps need none")
    DTD_REFUSED = ("dtd-refused", ERROR, "the DOCTYPE has an internal subset, which is refused", "remove the `[...]` with its declarations")
    MISSING_ROOT = ("missing-root", WARNING, "records stand without a root element", "wrap them in <urlset> or <sitemapindex>")
    NESTED_ROOT = ("nested-root", WARNING, "a second root element, or a record of another kind, stands inside or after the first", "write one urlset or sitemapindex a file")
    TRUNCATED = ("truncated", ERROR, "the document ends before its root element does", "check the generator's and the server's limits")
    EMPTY = ("empty", WARNING, "the document holds no records", "list at least one URL, or remove the sitemap")
    HTML_NOT_SITEMAP = ("html-not-sitemap", ERROR, "the document is an HTML page", 'check the address; an error or login page is often served with status 200. A site map for people is read with `extra_formats={"html"}`')
    NOT_A_SITEMAP = ("not-a-sitemap", ERROR, "the document is neither XML, a feed nor a list of URLs", 'check the address; an `llms.txt` is read with `extra_formats={"llms"}`')
    JSON_FEED = ("json-feed", ERROR, "the document is a JSON Feed, a format that is not read", "use the site's sitemap, or its RSS or Atom feed")
    HTML_SITEMAP = ("html-sitemap", INFO, "the document is an HTML page; its links to pages of the same site are the entries", "look at the URLs; a sitemap in XML says more")
    LLMS_TXT = ("llms-txt", INFO, "the document is an `llms.txt`; the links of its lists to pages of the same site are the entries", "look at the URLs; it lists a choice of pages")
    LINK_NOT_TAKEN = ("link-not-taken", INFO, "a link is not taken: it leads to another site, to mail or a script, names a user, or is marked nofollow", "read the other site by itself if it is wanted")
    OVER_PROTOCOL_LIMIT = ("over-protocol-limit", WARNING, "the document is larger than the protocol's 50,000 records or 50 MiB", "split it and list the parts in an index")
    TOO_LARGE = ("too-large", ERROR, "a limit was reached; what follows was not read", "raise `Limits` if the document is trusted")
    FEED_SALVAGED = ("feed-salvaged", WARNING, "the feed was beyond repair and was read by feedparser", "make the feed well-formed")
    FEED_UNREADABLE = ("feed-unreadable", ERROR, "the feed was beyond repair, and feedparser did not read it either", "make the feed well-formed")
    # -- compression: gzip, deflate, br, zstd
    GZIP_NESTED = ("gzip-nested", INFO, "the document is compressed twice", "compress it once")
    GZIP_TOO_MANY_LAYERS = ("gzip-too-many-layers", ERROR, "the document is compressed more than twice", "compress it once")
    GZIP_TOO_MANY_MEMBERS = ("gzip-too-many-members", ERROR, "the compressed file has more members than are read", "compress it in one piece")
    GZIP_HEADER_TOO_LONG = ("gzip-header-too-long", ERROR, "the gzip header is longer than is read", "compress it without name and comment")
    GZIP_CHECKSUM = ("gzip-checksum", WARNING, "a checksum or length of the compressed file does not fit the data", "write the file again")
    GZIP_TRAILING_BYTES = ("gzip-trailing-bytes", INFO, "bytes stand after the compressed data", "remove them")
    GZIP_TRAILING_DOCUMENT = ("gzip-trailing-document", ERROR, "a document that is not compressed follows the compressed data, and was not read", "read each document from a file of its own, or compress both")
    GZIP_TRUNCATED = ("gzip-truncated", ERROR, "the compressed data ends too early", "check the upload and the server's limits")
    GZIP_CORRUPT = ("gzip-corrupt", ERROR, "the compressed data is damaged", "write the file again")
    # -- the markup of a record
    HTML_ENTITY = ("html-entity", WARNING, "an HTML entity is used that XML does not know", "write the character itself")
    BARE_AMPERSAND = ("bare-ampersand", WARNING, "an `&` is not written as `&amp;`", "escape it")
    BARE_LESS_THAN = ("bare-less-than", WARNING, "a `<` is not written as `&lt;`", "escape it")
    CONTROL_CHARACTER = ("control-character", WARNING, "a control character was removed", "remove it")
    UNBOUND_PREFIX = ("unbound-prefix", WARNING, "a namespace prefix is used that is not declared", "declare it on the root element")
    MISMATCHED_TAG = ("mismatched-tag", WARNING, "an end tag is missing or fits no start tag", "close every element in order")
    NOT_WELL_FORMED = ("not-well-formed", WARNING, "the markup is not well-formed, and was read all the same", "check it with an XML parser")
    MALFORMED = ("malformed", ERROR, "a record could not be read and was dropped", "make the markup well-formed")
    TEMPLATE = ("template", ERROR, "an unfilled template stands in a record; its field, or the record, was dropped", "publish the rendered file")
    RECORD_TOO_LONG = ("record-too-long", ERROR, "a record is longer than is read and was dropped", "split it; raise `Limits.record_bytes` if it is trusted")
    FIELD_TOO_LONG = ("field-too-long", ERROR, "a field is longer than is read; it, or its record, was dropped", "shorten it; raise `Limits.field_chars` if it is trusted")
    TOO_DEEP = ("too-deep", ERROR, "a record is nested deeper than is read and was dropped", "flatten it")
    TOO_MANY_ELEMENTS = ("too-many-elements", ERROR, "a record has more elements than are read and was dropped", "split it; raise `Limits.record_elements` if it is trusted")
    TOO_MANY_ATTRIBUTES = ("too-many-attributes", ERROR, "an element has more attributes than are read; a record that it is in was dropped", "remove them")
    TOO_MANY_NAMES = ("too-many-names", ERROR, "the document uses more different names than are read; the rest was not read", "use the protocol's names")
    # -- the values of a record
    MISSING_LOC = ("missing-loc", WARNING, "a record has no `<loc>`", "give every record its URL")
    REPEATED_LOC = ("repeated-loc", WARNING, "a record has several `<loc>`; each was taken as one of its own", "write one record a URL")
    RELATIVE_LOC = ("relative-loc", WARNING, "a URL is relative; it was resolved against the document's", "write absolute URLs")
    MISSING_BASE = ("missing-base", ERROR, "a URL is relative and the document's own URL is not known; it was dropped", "pass the document's URL as `url`")
    UNSUPPORTED_SCHEME = ("unsupported-scheme", WARNING, "a URL is neither http nor https; it was dropped", "list http and https URLs only")
    URL_CHARACTERS = ("url-characters", WARNING, "a URL has blanks or control characters in it", "percent-encode them")
    LONG_LOC = ("long-loc", INFO, "a URL has 2,048 characters or more", "shorten it; the protocol allows 2,047")
    NOT_A_URL = ("not-a-url", WARNING, "a line is not an http(s) URL; it was dropped", "write one absolute URL a line")
    REPEATED_FIELD = ("repeated-field", WARNING, "a field stands in a record more than once; the last one was taken", "write it once")
    LASTMOD = ("lastmod", WARNING, "a lastmod is not a date that the protocol knows", "write a W3C datetime, such as 2026-01-31")
    CHANGEFREQ = ("changefreq", WARNING, "a changefreq is not one of the seven words", "use always, hourly, daily, weekly, monthly, yearly or never")
    PRIORITY = ("priority", WARNING, "a priority is not a number from 0.0 to 1.0", "write a number from 0.0 to 1.0")
    EXTENSION = ("extension", WARNING, "a field of an image, video, news or link extension could not be read", "see the extension's specification")
    # -- the fetch of a document
    INVALID_URL = ("invalid-url", ERROR, "the URL cannot be requested", "correct the URL")
    CHILD_URL_TOO_LONG = ("child-url-too-long", ERROR, "a child sitemap has a URL that is longer than servers take; it was dropped", "shorten it to 8,192 characters")
    USERINFO_REMOVED = ("userinfo-removed", WARNING, "a user name or password was removed from a URL", "never publish credentials")
    BLOCKED_ADDRESS = ("blocked-address", ERROR, "the address is not a public one, and was not connected to", "allow its network with `allow_networks` if it is yours")
    BLOCKED_PORT = ("blocked-port", ERROR, "the port is not one that the web is served on", "allow it with `allow_ports` if it is yours")
    DNS = ("dns", ERROR, "the host name could not be resolved", "check the host name")
    CONNECT = ("connect", ERROR, "no connection could be made, or it was closed before an answer", "check host and port, or try again later")
    TLS = ("tls", ERROR, "the TLS handshake failed", "check the server's certificate; a server without TLS has its URLs begin with http://")
    TIMEOUT = ("timeout", ERROR, "the server did not answer in time", "try again later, or raise `headers_seconds`")
    STALLED = ("stalled", ERROR, "the server stopped sending in the middle of the body", "try again later")
    TOO_SLOW = ("too-slow", ERROR, "the server sends slower than the minimum rate", "try again later, or lower `min_bytes_per_second`")
    BODY_CUT = ("body-cut", ERROR, "the connection was cut in the middle of the body", "try again later")
    BAD_HTTP = ("bad-http", ERROR, "the answer is not valid HTTP", "check the server")
    HTTP_STATUS = ("http-status", ERROR, "the server answered with a status that carries no document", "check the address and the server")
    SITEMAP_WITH_ERROR_STATUS = ("sitemap-with-error-status", ERROR, "the server answered with an error status, but the body is a sitemap; it was not read", "see to it that the server answers with status 200")
    BLOCKED_BY_SITE = ("blocked-by-site", ERROR, "the site's protection against bots refused the request", "ask the owner to let your User-Agent in, or bring a fetcher of your own that the site lets in")
    LOGIN_REQUIRED = ("login-required", ERROR, "a login is asked for (status 401, or a proxy's 407), and none was given, or one that is not taken", "give user and password: for a site in its URL or with `headers`; for a proxy in the proxy's URL")
    RETRY_LATER = ("retry-later", ERROR, "the server asks to come back later than we wait", "come back then")
    REDIRECT_LOOP = ("redirect-loop", ERROR, "the redirects lead in a circle", "check the server")
    TOO_MANY_REDIRECTS = ("too-many-redirects", ERROR, "there are more redirects than are followed", "link the final address")
    DOWNGRADE = ("downgrade", ERROR, "a redirect leads from https to http and was not followed", "serve the target over https")
    HOST_REFUSES = ("host-refuses", ERROR, "a host refused one request after the other, and was asked no further", "walk again later, which goes on where this walk ended if it has a state; ask the owner if it stays so")
    HOST_DOWN = ("host-down", ERROR, "a host gave no answer to one request after the other, and was asked no further", "walk again later, which goes on where this walk ended if it has a state")
    # -- robots.txt
    ROBOTS_UNREACHABLE = ("robots-unreachable", WARNING, "robots.txt could not be fetched; well-known paths were not probed", "see to it that the host answers, and robots.txt with 200 or 404")
    ROBOTS_DISALLOWED = ("robots-disallowed", WARNING, "robots.txt disallows the URL, and it was not fetched", "allow it, or pass `respect_robots=False`")
    ROBOTS_NOT_TEXT = ("robots-not-text", WARNING, "robots.txt is not a text file; it was taken as one without rules", "serve plain text")
    ROBOTS_TOO_LARGE = ("robots-too-large", WARNING, "robots.txt is longer than is read; the rest was ignored", "shorten it to 500 KiB")
    ROBOTS_TOO_COMPLEX = ("robots-too-complex", WARNING, "robots.txt has too many wildcards to be judged for the URL, which was taken as disallowed", "use fewer wildcards, or pass `respect_robots=False`")
    # -- the walk
    SITE_MOVED = ("site-moved", WARNING, "the site's start page has moved to another host, and nothing else was found; its sitemaps were searched for there", "give the new address")
    NO_SITEMAP = ("no-sitemap", ERROR, "no sitemap was found", "name it in robots.txt, or pass its URL with `sitemaps=`")
    FEED_NOT_READ = ("feed-not-read", WARNING, "no sitemap was found, but the start page links to a feed, which was not read", "use `feeds=True` to read it")
    CYCLE = ("cycle", INFO, "a sitemap leads back to one that was read already", "list each sitemap once")
    NESTED_INDEX = ("nested-index", WARNING, "an index lists another index, which the protocol does not allow", "list urlsets only")
    CROSS_HOST_CHILD = ("cross-host-child", WARNING, "a child sitemap is on another site, and was not fetched", "name it in that site's robots.txt, or pass `hosts=\"any\"`")
    OUT_OF_SCOPE = ("out-of-scope", INFO, "entries lie outside the sitemap's host or folder", "publish them in their own host's sitemap")
    DUPLICATE_DOCUMENT = ("duplicate-document", WARNING, "a sitemap index has the same bytes as another one; its children were not taken", "list each sitemap once")
    BUDGET_DEPTH = ("budget-depth", ERROR, "indexes are nested deeper than the walk goes", "raise `Limits.depth`")
    BUDGET_CHILDREN = ("budget-children", ERROR, "an index lists more children than are taken", "raise `Limits.children`")
    BUDGET_DOCUMENTS = ("budget-documents", ERROR, "the walk has read as many documents as it may", "raise `Limits.documents`")
    BUDGET_MEMORY = ("budget-memory", ERROR, "the URLs of the sitemaps that are listed take more memory than the walk may use", "raise `Limits.documents` if the site is trusted")
    BUDGET_BYTES = ("budget-bytes", ERROR, "the walk has read as many bytes as it may", "raise `Limits.walk_bytes`")
    BUDGET_SECONDS = ("budget-seconds", ERROR, "the walk has taken as long as it may", "raise `Limits.walk_seconds`")
    STATE_REPLACED = ("state-replaced", WARNING, "the state file was damaged or none of ours; it was renamed, and all is read anew", "look at the renamed file, and remove it")
    # fmt: on


_USERINFO = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]{0,20}://)[^/?#]*@")


@attrs.define(weakref_slot=False)
class Issue:
    """One thing that was mended, dropped or not reached.

    Attributes:
        code: which kind; compares as a string (`issue.code == "malformed"`).
        message: a sentence for a person, with what to do.
        sitemap: URL of the document in which it was met, or "".
        line: line in the document, from 1, where known.
        url: the entry or child that it concerns, where there is one.
        value: the text that was not understood, cut and with control characters escaped.
    """

    code: IssueCode
    message: str = ""
    sitemap: str = ""
    line: int | None = None
    url: str | None = None
    value: str | None = None

    @property
    def severity(self) -> Severity:
        """How much it matters."""
        return self.code.severity


def make_issue(
    code: IssueCode,
    sitemap: str = "",
    *,
    line: int | None = None,
    url: str | None = None,
    value: str | None = None,
) -> Issue:
    """Make an Issue with its table's message.

    Foreign text is cut and escaped on the way in; a URL leaves its password behind, for Issues are
    printed and stored.
    """
    return Issue(
        code=code,
        message=f"{code.meaning}: {code.advice}",
        sitemap=without_userinfo(sitemap),
        line=line,
        url=None if url is None else excerpt(without_userinfo(url), 2048),
        value=None if value is None else excerpt(value),
    )


def without_userinfo(text: str) -> str:
    """Remove user and password from a URL."""
    return _USERINFO.sub(r"\1", text)


def show_url(url: str) -> str:
    """Return a URL for people: without a password, and without what a terminal would act on."""
    return excerpt(without_userinfo(url), 2048)


def excerpt(text: str, limit: int = MAX_EXCERPT) -> str:
    r"""Cut foreign text to `limit` characters and escape what a terminal would act on.

    Control, format (bidi), surrogate, private and unassigned characters become `\x..` or `\u....`:
    the text comes from whoever wrote the document, and is shown to people.
    """
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else _escape(c) for c in cut)


def _escape(char: str) -> str:
    if unicodedata.category(char) == "Zs":
        return char
    return char.encode("unicode_escape").decode("ascii")
