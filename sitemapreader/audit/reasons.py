"""The Issue codes as rules: what each means for the site, and not for the reader.

Each code is in exactly one of three groups: its severity is the same in an audit, it is another
one, or the Issue is about us, and only says what was not read.
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
"""The site refused us; others it may let in."""

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
    IssueCode.FEED_NOT_READ,
    IssueCode.HTML_SITEMAP,
    IssueCode.LLMS_TXT,
    IssueCode.LINK_NOT_TAKEN,
    IssueCode.MISSING_BASE,
    IssueCode.STATE_REPLACED,
    # -- limits of ours that no search engine has
    IssueCode.TOO_LARGE,
    IssueCode.BUDGET_DEPTH,
    IssueCode.BUDGET_CHILDREN,
    IssueCode.BUDGET_DOCUMENTS,
    IssueCode.BUDGET_MEMORY,
    IssueCode.BUDGET_BYTES,
    IssueCode.BUDGET_SECONDS,
}
"""Codes that say what was not read, and why; the site is not accused."""

SAME = frozenset(IssueCode) - ABOUT_US - CHANGED.keys()
"""Codes that mean in an audit what they mean to the reader."""

REFUSING_STATUSES = frozenset({401, 403, 407, 429})
"""Statuses with which a site refuses us; others may get another answer."""

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
    IssueCode.ROBOTS_DISALLOWED: "URL restricted by robots.txt",
    IssueCode.LONG_LOC: "URL too long",
}
"""What Search Console calls it, so that users find it."""
