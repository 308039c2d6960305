"""Responses without a document: bot protections, logins, errors."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sitemapreader._types.dates import parse_http_date
from sitemapreader._types.errors import LOGIN_STATUSES, FetchError
from sitemapreader._types.issues import IssueCode, excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sitemapreader._types.options import FetchOptions

_PROTECTIONS = (
    # Sent with refusals only, so that the status does not matter. Documented: "Detect a challenge
    # page response" of developers.cloudflare.com, "How the CAPTCHA and Challenge actions work" of
    # docs.aws.amazon.com/waf
    ("cf-mitigated", "challenge", "Cloudflare", None),
    ("x-amzn-waf-action", "captcha|challenge", "AWS WAF", None),
    # Observed: challenge with 403 and 429, deny with 403; "FBP007"
    ("x-vercel-mitigated", "challenge|deny", "Vercel", None),
    ("x-sucuri-block", ".+", "Sucuri", None),
    # Sent with every response of the vendor, so the status must be a refusal. All observed.
    ("x-datadome", ".+", "DataDome", {403, 429}),
    ("server", "akamaighost", "Akamai", {403, 429}),
    ("server", "sucuri/cloudproxy", "Sucuri", {403, 429}),
    ("server", "ddos-guard", "DDoS-Guard", {403, 429}),
)
"""Signs of bot protections: name of a header, its value, the vendor, statuses if not all."""

RETRY_AFTER_STATUSES = frozenset({429, 503})
"""The statuses whose Retry-After is an order (RFC 6585, section 4; RFC 9110, section 15.6.4)."""


SIGNATURE_STATUSES = frozenset({400, 401, 403, 429})
"""The statuses with which sites refuse unsigned requests and signatures (Web Bot Auth)."""
_MAX_CLOCK_SKEW_SECONDS = 5
"""Verifiers accept signatures whose time is up to 5 s ahead of their clock."""
_MAX_SIGNATURE_ERROR = 120
"""Characters of a Signature-Error that are shown."""


def find_protection(status: int, headers: Mapping[str, str]) -> str:
    """Return the bot protection that refused a request, with the evidence, or ""."""
    for name, value, vendor, statuses in _PROTECTIONS:
        header = headers.get(name, "")
        if statuses and status not in statuses:
            continue
        if re.fullmatch(value, header, re.IGNORECASE):
            return f"{vendor} ({name}: {header[:40]})"
    return ""


def is_success(status: int) -> bool:
    """Return whether a response of a status has a document; a part (206) is not one."""
    return 200 <= status < 300 and status != 206


def find_response(error: Exception) -> tuple[int, dict[str, str]] | None:
    """Return the status and the headers of the response for which a client raised an error.

    requests and httpx put the response into the error; in urllib and aiohttp the error has its
    fields. Returns `None` for an error without one, or whose response is not why it was raised.
    """
    response = getattr(error, "response", None)
    if response is None:
        response = error
    status = getattr(response, "status_code", getattr(response, "status", None))
    if not isinstance(status, int) or not (status == 304 or 400 <= status <= 599):
        return None
    headers = getattr(response, "headers", None) or {}
    return status, {name.lower(): text for name, text in headers.items()}


def make_refusal(
    status: int,
    headers: Mapping[str, str],
    url: str,
    options: FetchOptions,
    *,
    reason: str = "",
    signed_as: str | None = None,
    seconds_left: float = math.inf,
) -> FetchError:
    """Return the error for a response; RETRY_LATER if its Retry-After is too long.

    `reason` is the phrase after the status; `signed_as` the agent that signed the request;
    `seconds_left` the time in which the response is of use.
    """
    detail = f"{status} {reason}".rstrip()
    wait = None
    if status in SIGNATURE_STATUSES:
        detail += _explain_signature(headers, options, signed_as)
    if status in RETRY_AFTER_STATUSES and "retry-after" in headers:
        wait = parse_retry_after(headers["retry-after"], datetime.now(UTC))
    code = IssueCode.HTTP_STATUS
    if status in SIGNATURE_STATUSES and "accept-signature" in headers:
        code = IssueCode.BLOCKED_BY_SITE
    elif status in LOGIN_STATUSES:
        code = IssueCode.LOGIN_REQUIRED
    elif vendor := find_protection(status, headers):
        code = IssueCode.BLOCKED_BY_SITE
        detail = f"{detail}, {vendor}"
    elif wait is not None and wait > min(options.retry_after_seconds, seconds_left):
        code = IssueCode.RETRY_LATER
        detail = f"{detail}, requested to wait for {wait:.0f} s"
    return FetchError(code, url, detail, http_status=status, retry_after_seconds=wait)


def _explain_signature(
    headers: Mapping[str, str],
    options: FetchOptions,
    agent: str | None,
) -> str:
    """Explain how a refusal is related to signed requests (Web Bot Auth); "" if not."""
    explanation = ""
    if agent is not None:
        explanation = f", though signed as {agent}"
        explanation += _explain_clock(headers.get("date", ""))
    elif options.identity is not None:
        explanation = ", not signed because it is http"
    elif "accept-signature" in headers:
        explanation = ", requires a signed request (Accept-Signature)"
    if problem := headers.get("signature-error"):  # draft-hardt-httpbis-signature-key
        explanation += f"; Signature-Error: {excerpt(problem, _MAX_SIGNATURE_ERROR)}"
    return explanation


def _explain_clock(date: str) -> str:
    """Explain how far this clock is from the server's, if that makes signatures invalid."""
    moment = parse_http_date(date)
    if moment is None:
        return ""
    ahead_seconds = (datetime.now(UTC) - moment).total_seconds()
    if abs(ahead_seconds) <= _MAX_CLOCK_SKEW_SECONDS:
        return ""
    if ahead_seconds > 0:
        return f"; this clock is {ahead_seconds:.0f} s ahead of the server's"
    return f"; this clock is {-ahead_seconds:.0f} s behind the server's"


def parse_retry_after(text: str, now: datetime) -> float | None:
    """Parse a Retry-After header: seconds from `now`, or `None`.

    RFC 9110, section 10.2.3.

    A date in the past is 0. Other texts, such as negative or non-ASCII numbers, are ignored.
    """
    text = text.strip(" \t")
    if text.isascii() and text.isdigit():
        # three hundred years, which means never
        return min(float(text), 9_999_999_999.0)
    moment = parse_http_date(text)
    if moment is None:
        return None
    return max(0.0, (moment - now).total_seconds())
