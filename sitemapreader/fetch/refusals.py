"""Classification of answers without a document: bot protections, logins, errors.

Each row of the tables says where it comes from: documentation of the vendor that was read, or
public code and recorded answers in which the header or text was observed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import LOGIN_STATUSES, FetchError
from sitemapreader.fetch.retries import read_retry_after
from sitemapreader.issues import IssueCode
from sitemapreader.readers.decode.layers import decode_start, read_codings

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REFUSAL_BYTES = 32_768
"""How much of an answer without a document is read; a challenge page has some 10 KB."""
REFUSAL_SECONDS = 1.0
"""How long to wait for the body of such an answer: it explains the failure, no more."""
MAX_PAGE_BYTES = 8_192
"""Longer pages with status 200 are not taken for a challenge."""

# Headers sent with refusals only, so that the status does not matter: (header, value, vendor)
_HEADERS = (
    # Documented: developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/
    # detect-response ("challenge is the only valid value", set for all challenge pages)
    ("cf-mitigated", r"challenge", "Cloudflare"),
    # Documented: docs.aws.amazon.com/waf/latest/developerguide/
    # waf-captcha-and-challenge-actions.html (challenge with 202, captcha with 405)
    ("x-amzn-waf-action", r"captcha|challenge", "AWS WAF"),
    # Observed in public code and recorded answers: challenge with 403 and 429, deny with 403
    ("x-vercel-mitigated", r"challenge|deny", "Vercel"),
    # Observed in public code and a recorded answer ("FBP007", beside Server: Sucuri/Cloudproxy)
    ("x-sucuri-block", r".+", "Sucuri"),
)
# Headers sent with every answer of the vendor: a refusal only beside a status that says so. All
# observed in public code and recorded answers. Akamai and DDoS-Guard publish that they refuse
# requests and why, but no header by which to tell:
# community.akamai.com/community/cloud-security/blog/2016/04/07/why-is-akamai-blocking-me
# ddos-guard.net/en/tutorials/website-protection/how-it-works
_HEADERS_BESIDE_A_STATUS = (
    ("x-datadome", r".+", "DataDome"),
    ("server", r"akamaighost", "Akamai"),
    ("server", r"sucuri/cloudproxy", "Sucuri"),
    ("server", r"ddos-guard", "DDoS-Guard"),
)
_REFUSING = frozenset({202, 403, 405, 406, 429, 503})
"""202 and 405 are AWS WAF's, by its documentation; the others are used by all vendors."""
_WEAK_REFUSING = frozenset({403, 429})

# Texts of challenge and block pages, in lower case, that ordinary pages do not have: scripts of the
# same vendors are part of millions of those. All observed in public code and recorded answers.
_PAGES: tuple[tuple[bytes, str], ...] = (
    (b"_cf_chl_opt", "Cloudflare"),
    (b"<title>just a moment...</title>", "Cloudflare"),
    (b"<title>attention required! | cloudflare</title>", "Cloudflare"),
    (b"error code: 1020", "Cloudflare"),  # the whole body, for clients that do not accept HTML
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
"""Texts that ordinary pages have as well: they count on pages with nothing but a script."""
_EMPTY_PAGE_BYTES = 2_048

_SITEMAP = re.compile(rb"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex)[\s>]", re.IGNORECASE)
_FIRST_TAGS_BYTES = 2_048


def find_protection(status: int, headers: Mapping[str, str], page: bytes = b"") -> str:
    """Return the bot protection that refused a request, with the evidence, or "".

    Args:
        status: the status of the answer.
        headers: its headers, by lower-case name.
        page: the beginning of its body, decoded; not that of a sitemap.
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
    """Return whether a body begins as a sitemap does."""
    return _SITEMAP.search(page[:_FIRST_TAGS_BYTES]) is not None


def wants_page(status: int) -> bool:
    """Return whether the body of an answer can explain its status."""
    return (status >= 400 and status not in LOGIN_STATUSES) or status in _REFUSING


@attrs.frozen
class Refusal:
    """An answer without a document.

    Attributes:
        url: the requested URL.
        status: the status code.
        reason: the reason phrase.
        headers: the headers, by lower-case name.
        raw: the beginning of the body, not decoded.
    """

    url: str
    status: int
    reason: str
    headers: Mapping[str, str]
    raw: bytes = b""

    def make_error(self, max_wait_seconds: float) -> FetchError:
        """Return the error for this answer; RETRY_LATER if its Retry-After is too long."""
        detail = f"{self.status} {self.reason}".rstrip()
        page = decode_start(self.raw, read_codings(self.headers), MAX_REFUSAL_BYTES)
        wait = read_retry_after(self.status, self.headers)
        code = IssueCode.HTTP_STATUS
        if self.status in LOGIN_STATUSES:
            code = IssueCode.LOGIN_REQUIRED
        elif holds_sitemap(page):
            # A Retry-After says more of the next request than the body does.
            is_late = wait is not None and wait > max_wait_seconds
            code = IssueCode.RETRY_LATER if is_late else IssueCode.SITEMAP_WITH_ERROR_STATUS
        elif vendor := find_protection(self.status, self.headers, page):
            code, detail = IssueCode.BLOCKED_BY_SITE, f"{detail}, {vendor}"
        elif wait is not None and wait > max_wait_seconds:
            code = IssueCode.RETRY_LATER
        return FetchError(code, self.url, detail, http_status=self.status, retry_after_seconds=wait)
