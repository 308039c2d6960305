"""RequestUrl: a URL that was checked and may be requested."""

# One parser, yarl's, decides what the host is. Text that two parsers would read differently is
# refused: a control character that one parser drops can change the host that another one sees.

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from sitemapreader.errors import FetchError
from sitemapreader.fetch.addresses import read_address
from sitemapreader.issues import IssueCode
from sitemapreader.options import MAX_URL_CHARS
from sitemapreader.urls import has_web_scheme, origin_of, parse_url, url_key

if TYPE_CHECKING:
    from yarl import URL

# Blanks, C0, DEL and C1, marks of text direction (UAX 9), and halves of surrogate pairs
_UNFIT = re.compile(
    r"[\s\x00-\x20\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# A name in ASCII (with the underscore, which no host should have and many do), or an IPv6 address
_HOST = re.compile(r"[a-z0-9_.-]*[a-z0-9_-]\.*|[0-9a-f:.]*:[0-9a-f:.]*", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII | re.IGNORECASE)
_USERINFO = re.compile(r"//[^/?#]*@")


@attrs.frozen
class RequestUrl:
    """A URL without fragment and userinfo, and its userinfo apart.

    Attributes:
        url: the URL that is requested.
        userinfo: `user:password`, percent-decoded, or "".
        text: the URL as text.
        host: the host in lower case, without a final dot.
        origin: scheme, host and port (RFC 6454).
    """

    url: URL
    userinfo: str = ""
    text: str = attrs.field(init=False)
    host: str = attrs.field(init=False)
    origin: str = attrs.field(init=False)

    @text.default
    def _write(self) -> str:
        return str(self.url)

    @host.default
    def _find_host(self) -> str:
        return (self.url.raw_host or "").lower().rstrip(".")

    @origin.default
    def _find_origin(self) -> str:
        return origin_of(self.text)

    def __str__(self) -> str:
        return self.text

    @property
    def port(self) -> int:
        """The port, written or implied."""
        return self.url.port or 0

    @property
    def key(self) -> str:
        """The normalised form, by which two spellings of a URL are equal."""
        return url_key(self.text)


def parse_request_url(url: str) -> RequestUrl:
    """Check and parse a URL.

    Raises:
        FetchError: INVALID_URL, with the reason.
    """
    check_text(url)
    if not has_web_scheme(url):
        raise _invalid(url, "not an absolute http or https URL")
    parsed = parse_url(url)
    if parsed is None:
        raise _invalid(url, "no host, or not one that can be read")
    _check_host(url, parsed.raw_host or "")
    userinfo = f"{parsed.user or ''}:{parsed.password or ''}"
    return RequestUrl(
        parsed.with_fragment(None).with_user(None), "" if userinfo == ":" else userinfo
    )


def check_text(url: str) -> None:
    """Refuse characters that parsers drop or people misread, in any URL reference.

    Raises:
        FetchError: INVALID_URL, with the reason.
    """
    if len(url) > MAX_URL_CHARS:
        raise _invalid(url, f"longer than {MAX_URL_CHARS} characters")
    if unfit := _UNFIT.search(url):
        raise _invalid(url, f"U+{ord(unfit[0]):04X} in it")


def _check_host(url: str, host: str) -> None:
    """Refuse a host that only some resolvers read as an address."""
    if not _HOST.fullmatch(host):  # IDNA turns a lone accent into a blank
        raise _invalid(url, "a host that no name can have")
    host = host.rstrip(".")
    # https://url.spec.whatwg.org/#ends-in-a-number-checker: `127.1`, `0x7f000001`, `2130706433`
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and read_address(host) is None:
        raise _invalid(url, "an address that is not written as four decimal numbers")


def _invalid(url: str, reason: str) -> FetchError:
    return FetchError(IssueCode.INVALID_URL, _USERINFO.sub("//", url[:4096]), reason)
