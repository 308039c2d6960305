"""The Issue codes as rules: what each means for the site, not for the reader.

The severity of a code is the same in an audit, unless `CHANGED` has another one, or the Issue is
about us, and only says what was not read. A test lists the others, so that each new code is judged.
"""

from __future__ import annotations

from sitemapreader.issues import IssueCode, Severity

CHANGED = {
    IssueCode.OVER_PROTOCOL_LIMIT: Severity.ERROR,
    IssueCode.RELATIVE_LOC: Severity.ERROR,
    IssueCode.NESTED_INDEX: Severity.ERROR,
    IssueCode.LASTMOD: Severity.ERROR,
    IssueCode.EMPTY: Severity.WARNING,
    IssueCode.LONG_LOC: Severity.WARNING,
    IssueCode.URL_CHARACTERS: Severity.ERROR,
    IssueCode.NAMESPACE: Severity.WARNING,
    IssueCode.OUT_OF_SCOPE: Severity.WARNING,
    IssueCode.UNSUPPORTED_SCHEME: Severity.ERROR,
    IssueCode.MISSING_LOC: Severity.ERROR,
}
"""Codes whose severity is that of a search engine's loss, which differs from the reader's.

`empty` is here for its guard: it counts for children of an index, and never for news.
"""

REFUSALS = frozenset(
    {
        IssueCode.BLOCKED_BY_SITE,
        IssueCode.LOGIN_REQUIRED,
        IssueCode.RETRY_LATER,
        IssueCode.HOST_REFUSES,
        IssueCode.ROBOTS_DISALLOWED,
    }
)
"""The site refused us; it may admit other clients."""

ABOUT_US = REFUSALS | {
    # -- the network between us and the site: it may be ours
    IssueCode.DNS,
    IssueCode.CONNECT,
    IssueCode.TIMEOUT,
    IssueCode.STALLED,
    IssueCode.TOO_SLOW,
    IssueCode.BODY_CUT,
    IssueCode.HOST_DOWN,
    # -- what we do not do unless we are asked to
    IssueCode.BLOCKED_ADDRESS,
    IssueCode.BLOCKED_PORT,
    IssueCode.CROSS_HOST_CHILD,
    IssueCode.DELETED,
    IssueCode.FEED_HAS_MORE,
    IssueCode.FEED_NOT_READ,
    IssueCode.HTML_SITEMAP,
    IssueCode.LLMS_TXT,
    IssueCode.LINK_NOT_TAKEN,
    IssueCode.MISSING_BASE,
    IssueCode.STATE_REPLACED,
    IssueCode.SHRUNK,
    # -- our own limits, which no search engine has
    IssueCode.TOO_LARGE,
    IssueCode.BUDGET_DEPTH,
    IssueCode.BUDGET_CHILDREN,
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_MEMORY,
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_SECONDS,
    IssueCode.BUDGET_URLS,
}
"""Codes that say what was not read, and why; they are no findings against the site."""

REFUSING_STATUSES = frozenset({401, 403, 407, 429})
"""Statuses with which a site refuses us; other clients may get another answer."""

MEANINGS = {
    IssueCode.HTTP_STATUS: "Search engines get the same answer, and none of the URLs in it. Search "
    "Console reports a sitemap that could not be read.",
    IssueCode.HTML_NOT_SITEMAP: "Search engines find no URL in a page. Often it is an error page, "
    "a login or a start page that is sent with status 200 in the place of the sitemap.",
    IssueCode.NO_SITEMAP: "Search engines find pages by links alone: new and deep ones late, or "
    "never.",
    IssueCode.TRUNCATED: "URLs behind the cut are lost. Parsers of XML refuse the whole document.",
    IssueCode.EMPTY: "It costs a request at each visit, and may mean that its generator fails.",
    IssueCode.NAMESPACE: "A parser that looks for elements of the protocol finds none.",
    IssueCode.NOT_WELL_FORMED: "Search engines stop at the first such place, or refuse the whole "
    "document: what comes behind it is lost.",
    IssueCode.BARE_AMPERSAND: "It is no XML. Strict parsers refuse the document, others cut the "
    "URL at this place.",
    IssueCode.MISSING_LOC: "A record without a URL says nothing; its page is not in the sitemap.",
    IssueCode.RELATIVE_LOC: "Search engines drop URLs that are not absolute.",
    IssueCode.URL_CHARACTERS: "Readers encode such characters in different ways, or drop the URL, "
    "so that another address is visited than the one that is meant.",
    IssueCode.OUT_OF_SCOPE: "Search engines ignore URLs outside of the sitemap's host or folder, "
    "unless the robots.txt of their host names the sitemap.",
    IssueCode.LASTMOD: "Search engines ignore a date that they cannot read, and do not see that "
    "the page has changed.",
    IssueCode.CHANGEFREQ: "Google and Bing do not read it at all; others ignore a wrong word.",
    IssueCode.PRIORITY: "Google and Bing do not read it at all; others ignore a wrong number.",
    IssueCode.DUPLICATE_DOCUMENT: "Each copy is fetched and counted, and brings no URL.",
    IssueCode.ROBOTS_UNREACHABLE: "While robots.txt fails, Google stops visiting the site, then "
    "takes its last copy for up to a month.",
}
"""Why the Issues that sites have most often matter; the others say it by their severity."""

KNOWN_AS = {
    IssueCode.HTTP_STATUS: "HTTP error",
    IssueCode.DNS: "Couldn't fetch",
    IssueCode.COMPRESSION_CORRUPT: "Compression error",
    IssueCode.COMPRESSION_TRUNCATED: "Compression error",
    IssueCode.EMPTY: "Empty Sitemap",
    IssueCode.OVER_PROTOCOL_LIMIT: "Too many URLs in Sitemap / Sitemap exceeds the maximum size",
    IssueCode.NAMESPACE: "Incorrect namespace",
    IssueCode.LASTMOD: "Invalid date",
    IssueCode.NESTED_INDEX: "Incorrect Sitemap index format: Nested Sitemap indexes",
    IssueCode.MALFORMED: "Invalid XML",
    IssueCode.NOT_WELL_FORMED: "Invalid XML",
    IssueCode.MISSING_LOC: "Missing XML tag",
    IssueCode.RELATIVE_LOC: "Invalid URL in Sitemap index file: incomplete URL",
    IssueCode.UNSUPPORTED_SCHEME: "Invalid URL",
    IssueCode.OUT_OF_SCOPE: "URL not allowed",
    IssueCode.HTML_NOT_SITEMAP: "Sitemap is HTML",
    IssueCode.NOT_A_SITEMAP: "Unsupported file format",
    IssueCode.CHANGEFREQ: "Invalid attribute value",
    IssueCode.PRIORITY: "Invalid attribute value",
    IssueCode.NOT_A_URL: "Invalid URL",
    IssueCode.UNTIDY_LINE: "Invalid URL",
    IssueCode.ROBOTS_DISALLOWED: "URL restricted by robots.txt",
    IssueCode.LONG_LOC: "URL too long",
}
"""What Search Console calls it, so that users find it."""
