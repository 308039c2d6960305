"""URLs: resolving, keys, and who belongs to whom."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given, strategies as st

from sitemapreader._types import urls
from sitemapreader._types.urls import (
    PLAIN_URL,
    HostScope,
    are_clean_urls,
    find_url_error,
    folder_of,
    has_web_scheme,
    host_of,
    origin_of,
    parse_url,
    resolve,
    same_hosts,
    site_of,
    url_key,
    url_warnings,
)
from sitemapreader._walk.filters import _find_outside
from tests.support.strategies import characters

DOCUMENT = "https://www.example.org/maps/sitemap.xml"


def is_in_scope(loc: str, sitemap: str) -> bool:
    """Ask the filter of a walk."""
    return not _find_outside([loc], (folder_of(sitemap),))


# -- resolving


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        *(
            (path, f"https://www.example.org/{path[1:]}")
            for path in ("/x?y=1&z=2", "/a//b", "/a//b#")
        ),
        *(
            (path, f"https://www.example.org/maps/{path}")
            for path in ("x?#", "x#?", "1:2", "a//b")
        ),
        ("a\n/b", "https://www.example.org/maps/a/b"),
        *((end, f"{DOCUMENT}{end}") for end in ("?x=1", "#part", "?")),
        *(
            (url, url)
            for url in ("https://other.example.org/x", "HTTP://www.example.org/x")
        ),
        *(
            (url, None)
            for url in ("mailto:info@example.org", "file:///x", "https:/x", "x:80")
        ),
        *((url, None) for url in ("//[::1", "//a]/x", "https://[x/")),
        ("./x:8080", "https://www.example.org/maps/x:8080"),
        ("//cdn.example.org/a//b/../c", "https://cdn.example.org/a//c"),
        (
            "+https://www.example.org/",
            "https://www.example.org/maps/+https://www.example.org/",
        ),
    ],
)
def test_references_are_resolved(reference: str, expected: str | None) -> None:
    """A reference is resolved as RFC 3986 says, or refused if it leads off the web."""
    assert resolve(DOCUMENT, reference) == expected


# RFC 3986, sections 5.4.1 and 5.4.2, but for the one with a scheme of its own
RFC_BASE = "http://a/b/c/d;p?q"
RFC_EXAMPLES = """
g c/g|./g c/g|g/ c/g/|g?y c/g?y|#s c/d;p?q#s|g#s c/g#s|g?y#s c/g?y#s|;x c/;x|g;x c/g;x|?y c/d;p?y
g;x?y#s c/g;x?y#s|. c/|./ c/|..|../|../g g|g. c/g.|.g c/.g|g.. c/g..|..g c/..g|./../g g|./g/. c/g/
g/./h c/g/h|g/../h c/h|g;x=1/./y c/g;x=1/y|g;x=1/../y c/y|g?y/./x c/g?y/./x|g?y/../x c/g?y/../x
g#s/./x c/g#s/./x|g#s/../x c/g#s/../x
"""
"""References, and what each gives below `http://a/b/`."""
RFC_AT_THE_ROOT = """
/g g|../.. |../../ |../../g g|../../../g g|../../../../g g|/./g g|/../g g
"""


@pytest.mark.parametrize(
    ("base", "examples"),
    [("http://a/b/", RFC_EXAMPLES), ("http://a/", RFC_AT_THE_ROOT)],
)
def test_the_examples_of_the_rfc(base: str, examples: str) -> None:
    """References are resolved as in the examples of RFC 3986."""
    for each in examples.strip("\n").replace("\n", "|").split("|"):
        reference, _, expected = each.partition(" ")
        assert resolve(RFC_BASE, reference) == base + expected, each
    assert resolve(RFC_BASE, "//g") == "http://g"


# -- parsing

UNFIT = (
    "",
    "www.example.org",
    "ftp://www.example.org/",
    "http://",
    "https:///x",
    "http://[::1",
    "http://www.example.org:99999/",
    "http://www.example.org:port/",
    "http://www%2Eexample.org/",
    "http://[fe80::1%25eth0]/",
    "https://" + "ü" * 2000 + ".example.org/",
)


@pytest.mark.parametrize("url", UNFIT, ids=lambda url: url[:40])
def test_what_cannot_be_requested_has_no_parts(url: str) -> None:
    """A URL that the client would refuse gives None or "", and is its own key."""
    assert parse_url(url) is None
    assert host_of(url) == ""
    assert origin_of(url) == ""
    assert url_key(url) == url


@pytest.mark.parametrize(
    ("url", "host", "origin"),
    [
        ("https://WWW.EXAMPLE.ORG:443/x", "www.example.org", "https://www.example.org"),
        (
            "http://www.example.org:8080/",
            "www.example.org",
            "http://www.example.org:8080",
        ),
        ("https://www.example.org./x", "www.example.org", "https://www.example.org."),
        (
            "https://user:secret@www.example.org/",
            "www.example.org",
            "https://www.example.org",
        ),
        ("https://b\u00fccher.de/", "xn--bcher-kva.de", "https://xn--bcher-kva.de"),
        ("http://[::1]:8000/", "::1", "http://[::1]:8000"),
    ],
)
def test_hosts_and_origins(url: str, host: str, origin: str) -> None:
    """Host and origin come in one spelling, and never with a user or password."""
    assert (host_of(url), origin_of(url)) == (host, origin)


# -- keys


WWW = "https://www.example.org"


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://WWW.Example.ORG/Path", "/Path"),
        (WWW, "/"),
        (f"{WWW}/a/./b/../c", "/a/c"),
        (f"{WWW}/%7Euser", "/~user"),
        (f"{WWW}/caf%c3%a9", "/caf%C3%A9"),
        (f"{WWW}/x#part", "/x"),
        ("https://user:secret@www.example.org/x", "/x"),
    ],
)
def test_spellings_of_one_url_meet(url: str, key: str) -> None:
    """What no server tells apart has one key."""
    assert url_key(url) == WWW + key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((f"{WWW}/x", f"{WWW}{path}") for path in ("/x/", "/X", ":8443/x")),
        *(
            (f"{WWW}/x", f"{start}/x")
            for start in ("http://www.example.org", "https://example.org")
        ),
        *((f"{WWW}/?a=1&b=2", f"{WWW}/?{query}") for query in ("b=2&a=1", "a=1&b=")),
        (f"{WWW}/a%2Fb", f"{WWW}/a/b"),
    ],
)
def test_different_urls_stay_apart(one: str, other: str) -> None:
    """What a server may tell apart has two keys."""
    assert url_key(one) != url_key(other)


path_chars = st.sampled_from("abXY09_~!$&'()*+,;=:@-./%?#éß日 \\^|")
hosts = st.sampled_from(
    [
        "example.org",
        "www.Example.org",
        "EXAMPLE.org:80",
        "bücher.de",
        "a-b.c.de:8080",
        "127.0.0.1",
    ]
)
any_url = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https", "HTTP"]),
    hosts,
    st.sampled_from(["", "/", "/."]),
    st.text(path_chars, max_size=30)
    | st.lists(
        st.sampled_from(["%2E", "%2f", "%7E", "%25", "%C3", "%a9", "/", ".", "x"])
    ).map("".join),
)


@given(any_url)
def test_a_key_is_its_own_key(url: str) -> None:
    """Taking the key of a key changes nothing."""
    assert url_key(url_key(url)) == url_key(url)


@pytest.mark.slow
@given(
    st.from_regex(urls.NORMAL_URL, fullmatch=True)
    | st.text(st.sampled_from("aXY09_~!$&'()*+,;=:@-./?"), max_size=40).map(
        f"{WWW}/".__add__
    )
)
@example("https://example.org/x..y/.well-known")
@example("https://-a.b/x")
@example("https://xn--a.b/x")
def test_the_short_way_agrees_with_the_parser(url: str) -> None:
    """A URL that is taken for normal at a glance is one that the parser leaves as it is."""
    assume("/." not in url and urls.NORMAL_URL.fullmatch(url))
    parsed = parse_url(url)
    if parsed is not None:
        assert str(parsed.with_fragment(None).with_user(None)) == url


@given(
    any_url
    | st.text(path_chars, max_size=20).map("https://www.example.org/maps/".__add__)
)
@example("https://www.example.org/maps/.\t./x")
@example("https://www.example.org/maps/%2e%2E/x")
def test_the_scope_of_a_url_is_that_of_its_key(url: str) -> None:
    """Spelling a URL otherwise does not bring it into a sitemap's folder, nor out of it."""
    assert is_in_scope(url, DOCUMENT) is url_key(url).startswith(
        "https://www.example.org/maps/"
    )


# -- hosts and sites


@pytest.mark.parametrize(
    ("host", "site"),
    [
        *(
            (host, "example.org")
            for host in ("example.org", "www.example.org", "a.b.example.org")
        ),
        ("www.example.co.uk", "example.co.uk"),
        ("xn--bcher-kva.example.de", "example.de"),
        *(
            (host, host)
            for host in ("co.uk", "one.github.io", "localhost", "10.1.2.3", "[::1]", "")
        ),
    ],
)
def test_the_site_of_a_host(host: str, site: str) -> None:
    """A site is the registrable domain; addresses and public suffixes are sites of their own."""
    assert site_of(host) == site


@pytest.mark.parametrize(
    ("one", "other", "policies"),
    [
        ("https://www.example.org/a", "https://www.example.org/b", "host site any"),
        ("https://www.example.org/", "http://WWW.EXAMPLE.ORG:8080/", "host site any"),
        ("https://www.example.org/", "https://www.example.org./", "host site any"),
        ("https://www.example.org/", "https://example.org/", "site any"),
        ("https://a.example.co.uk/", "https://b.example.co.uk/", "site any"),
        ("https://one.github.io/", "https://two.github.io/", "any"),
        ("https://example.org/", "https://example.org.evil.net/", "any"),
        ("http://10.0.0.1/", "http://10.0.0.1:81/", "host site any"),
        ("https://bücher.de/", "https://xn--bcher-kva.de/", "host site any"),
    ],
)
@pytest.mark.parametrize("policy", ["host", "site", "any"])
def test_who_belongs_together(
    one: str, other: str, policies: str, policy: HostScope
) -> None:
    """Two URLs belong together by host, by registrable domain, or in any case."""
    assert same_hosts(policy, one, other) is (policy in policies.split())
    assert same_hosts(policy, other, one) is (policy in policies.split())
    assert policy == "any" or not same_hosts(policy, "http://[::1", one)


@given(
    st.one_of(
        st.from_regex(urls.NORMAL_URL, fullmatch=True),
        st.from_regex(
            r"https?://[a-zA-Z0-9.-]{1,9}(?::[0-9]{1,5})?/\S{0,4}", fullmatch=True
        ),
    )
)
@example("https://a.example:443/")
@example("http://a.example:99999/")
@example("http://01.2.3.400:1000/")
@example("http://a.example/" + "x" * 70_000)
def test_hosts_and_origins_that_are_cut_are_those_of_the_parser(url: str) -> None:
    """Without a parser, a URL in its normal form gives the same host and origin."""
    parsed = urls.parse_url(url)
    assert urls.origin_of(url) == (str(parsed.origin()) if parsed else "")
    host = (parsed.raw_host or "") if parsed else ""
    assert urls.host_of(url) == host.lower().rstrip(".")


# -- the quick checks of URLs: what they pass needs no further look


# No control characters that XML cannot hold: mending removes them first.
CHARACTERS = [*"\t\n\r", *map(chr, range(0x20, 0x250)), "\u200b", "\u202e", "\ufffd"]
TEXTS = [*CHARACTERS, "{{", "<%", "%zz", "a" * 2030]


@pytest.mark.parametrize(
    "place", ["{}", "{}example.org/", "example.org/{}", "example.org/a?b={}c"]
)
def test_a_url_that_passes_a_quick_check_has_no_issue(place: str) -> None:
    """A quick check passes nothing of which an error or a warning has to be reported."""
    urls = ["https://" + place.replace("{}", text) for text in TEXTS]
    passed = [url for url in urls if PLAIN_URL.fullmatch(url) or are_clean_urls([url])]
    assert [url for url in passed if find_url_error(url) or url_warnings(url)] == []
    assert passed


@pytest.mark.parametrize(
    ("host", "is_name"),
    [
        ("\u00fc." * 26 + "de", True),  # 211 characters once it is encoded
        ("a" * 63 + ".\u00fc.de", True),
        (".".join(["\u00fc" * 30] * 4), True),
        ("\u00fc." * 60 + "de", False),
        ("\u3042" * 64 + ".jp", False),
        (("a" * 50 + ".") * 5 + "\u00fc", False),
    ],
)
def test_a_host_is_no_longer_than_a_name_of_dns(host: str, *, is_name: bool) -> None:
    """A host beyond ASCII that no name server could know is none, and costs no encoding."""
    assert bool(host_of(f"https://{host}/")) is is_name
    assert bool(host_of(f"https://a:b@{host}:8080/x?y#z")) is is_name


@given(st.text(characters, max_size=50))
@example("http://\ud800/")
@example("https://example.org/\ud800")
@example("http://[v1.a]/")
@example("[@/")
@example("http://a:b@c:d@e/")
def test_no_text_raises(text: str) -> None:
    """Any text has a key, a host and a scope, be it "" or itself."""
    for url in (text, "http://" + text, "https://example.org/" + text):
        assert isinstance(url_key(url), str)
        assert isinstance(host_of(url), str)
        assert isinstance(origin_of(url), str)
        assert isinstance(is_in_scope(url, DOCUMENT), bool)
        assert isinstance(is_in_scope(DOCUMENT, url), bool)
        assert isinstance(same_hosts("site", url, DOCUMENT), bool)
        assert resolve(DOCUMENT, url) is None or has_web_scheme(
            resolve(DOCUMENT, url) or ""
        )
