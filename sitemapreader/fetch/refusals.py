"""Answers that hold no document: a bot protection's refusal, or a sitemap all the same.

A header decides where the vendor documents one. A page decides only by marks that stand on no page
that a visitor gets to see: scripts of the same vendors are part of millions of ordinary pages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.retries import read_retry_after
from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.codings import read_codings
from sitemapreader.readers.decode.layers import decode_start

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REFUSAL_BYTES = 32_768
"""As much of an answer without a document is read; Cloudflare's challenge page has 6 to 30 KB."""
REFUSAL_SECONDS = 1.0
"""How long is waited for it: it is of use, but not worth more."""
MAX_PAGE_BYTES = 8_192
"""A challenge page that is sent with status 200 is not longer; ordinary pages are."""

# Sent with refusals only, whatever the status is: (header, value, vendor)
_HEADERS = (
    # developers.cloudflare.com/cloudflare-challenges/, "Detect a Challenge Page response"
    ("cf-mitigated", r"challenge", "Cloudflare"),
    # docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
    ("x-amzn-waf-action", r"captcha|challenge", "AWS WAF"),
    # vercel.com/docs/vercel-firewall: a challenge or a denial by the firewall
    ("x-vercel-mitigated", r"challenge|deny", "Vercel"),
    # docs.sucuri.net/website-firewall: the id of the rule that blocked
    ("x-sucuri-block", r".+", "Sucuri"),
)
# Sent with every answer of the vendor: a refusal only beside a status that says so
_HEADERS_BESIDE_A_STATUS = (
    # docs.datadome.co: a protected request has `x-datadome: protected`, let through or not
    ("x-datadome", r".+", "DataDome"),
    # the edge names itself in answers of its own; those of the origin keep the origin's name
    ("server", r"akamaighost", "Akamai"),
    ("server", r"sucuri/cloudproxy", "Sucuri"),
    ("server", r"ddos-guard", "DDoS-Guard"),
)
_REFUSING = frozenset({202, 403, 405, 406, 429, 503})
"""202 and 405 are AWS WAF's; the others are everybody's."""
_WEAK_REFUSING = frozenset({403, 429})

# Marks of the pages themselves, in lower case; each stands on no page that was let through
_PAGES: tuple[tuple[bytes, str], ...] = (
    (b"_cf_chl_opt", "Cloudflare"),
    (b"<title>just a moment...</title>", "Cloudflare"),
    (b"<title>attention required! | cloudflare</title>", "Cloudflare"),
    (b"error code: 1020", "Cloudflare"),  # the whole body where no HTML is accepted
    (b"errors.edgesuite.net", "Akamai"),
    (b"geo.captcha-delivery.com", "DataDome"),
    (b'id="px-captcha"', "HUMAN (PerimeterX)"),
    (b"incapsula incident id", "Imperva"),
    (b"sucuri website firewall - access denied", "Sucuri"),
    (b"access denied - sucuri website firewall", "Sucuri"),
    (b"<title>vercel security checkpoint</title>", "Vercel"),
    (b'id="anubis_challenge"', "Anubis"),
    (b"<title>ddos-guard</title>", "DDoS-Guard"),
)
_EMPTY_PAGES = ((b"/_incapsula_resource", "Imperva"),)
"""Marks that also stand on pages that were let through, which have more in them than a script."""
_EMPTY_PAGE_BYTES = 2_048

_SITEMAP = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex)[\s>]", re.IGNORECASE)
_FIRST_TAGS_BYTES = 2_048


def find_protection(status: int, headers: Mapping[str, str], page: bytes = b"") -> str:
    """Return the name of the bot protection that refused a request, and its sign; or "".

    Args:
        status: of the answer.
        headers: by lower-case name.
        page: the beginning of a body that is no sitemap, decoded.
    """
    for name, value, vendor in _HEADERS:
        if re.fullmatch(value, headers.get(name, ""), re.IGNORECASE):
            return f"{vendor} ({name}: {headers[name][:40]})"
    if status in _WEAK_REFUSING:
        for name, value, vendor in _HEADERS_BESIDE_A_STATUS:
            if re.fullmatch(value, headers.get(name, ""), re.IGNORECASE):
                return f"{vendor} ({name}: {headers[name][:40]})"
    if status in _REFUSING or (status == 200 and _is_short_html(page)):
        return _find_in_page(page.lower())
    return ""


def _is_short_html(page: bytes) -> bool:
    start = page[:_FIRST_TAGS_BYTES].lstrip().lower()
    return len(page) <= MAX_PAGE_BYTES and start.startswith(b"<") and b"<html" in start


def _find_in_page(page: bytes) -> str:
    marks = (*_PAGES, *_EMPTY_PAGES) if len(page) <= _EMPTY_PAGE_BYTES else _PAGES
    return next((f"{vendor} (its page)" for mark, vendor in marks if mark in page), "")


def holds_sitemap(page: bytes) -> bool:
    """Tell whether the beginning of a body is one of a sitemap."""
    return _SITEMAP.search(page[:_FIRST_TAGS_BYTES]) is not None


def wants_page(status: int) -> bool:
    """Tell whether the body of an answer without a document can say more than its status."""
    return (status >= 400 and status not in LOGIN_STATUSES) or status in _REFUSING


@attrs.frozen
class Refusal:
    """An answer without a document.

    Attributes:
        url: what was asked for.
        status: of the answer.
        reason: the words beside it.
        headers: by lower-case name.
        raw: the beginning of its body.
    """

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    raw: bytes = b""

    def make_error(self, max_wait_seconds: float) -> FetchError:
        """Return the error that says what it is; a longer Retry-After is not waited for."""
        said = f"{self.status} {self.reason}".rstrip()
        page = decode_start(self.raw, read_codings(self.headers), MAX_REFUSAL_BYTES)
        wait = read_retry_after(self.status, self.headers)
        code = IssueCode.HTTP_STATUS
        if self.status in LOGIN_STATUSES:
            code = IssueCode.LOGIN_REQUIRED
        elif holds_sitemap(page):
            code = IssueCode.SITEMAP_WITH_ERROR_STATUS
        elif vendor := find_protection(self.status, self.headers, page):
            code, said = IssueCode.BLOCKED_BY_SITE, f"{said}, {vendor}"
        elif wait is not None and wait > max_wait_seconds:
            code = IssueCode.RETRY_LATER
        return FetchError(code, self.url, said, http_status=self.status, retry_after_seconds=wait)
