"""Signed requests: what sites verify, what a refusal says, and that the key stays here."""

from __future__ import annotations

import base64
import json
import logging
import os
import pickle
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from hypothesis import given, settings, strategies as st
from yarl import URL

from sitemapreader import FetchError, FetchOptions, Search, walk, walk_many
from sitemapreader._identity import SignatureForm, SignatureParameters
from sitemapreader.audit import audit
from sitemapreader.fetch import HttpFetcher, Identity
from tests.support.certificates import believe, make_server_context, write_certificate
from tests.support.commands import run
from tests.support.faults import ROUTES, FaultServer, Request, always, answered
from tests.support.signatures import AGENT, KEYID, PEM, SEED, Verifier, write_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

FORMS: tuple[SignatureForm, ...] = ("string", "dictionary")
PARAMETERS = SignatureParameters(
    1735689600, 4889289600, b64encode(bytes(range(64))).decode()
)
SITEMAP = "https://example.com/sitemap.xml"


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    return write_key(tmp_path)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "both.pem")


@pytest.fixture
async def server(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FaultServer]:
    believe(monkeypatch, certificate)
    async with FaultServer("localhost", tls=make_server_context(certificate)) as server:
        yield server


async def fetch_all(options: FetchOptions, *urls: str) -> list[int | FetchError]:
    """Fetch URLs one after another; return the length of each body, or its error."""
    results: list[int | FetchError] = []
    async with HttpFetcher(options) as fetcher:
        for url in urls:
            fetcher.trust(url)
            try:
                async with fetcher.open(url) as response:
                    results.append(
                        len(b"".join([piece async for piece in response.chunks()]))
                    )
            except FetchError as error:
                results.append(error)
    return results


# -- what is signed


@pytest.mark.parametrize(
    ("url", "form", "agent", "signature"),
    [
        (
            SITEMAP,
            "string",
            AGENT,
            (
                "FvUBt6FibyPJx3meWFFnac9IRkniu2NwKn8lFYG/xYWL"
                "DWCsXJ9585mMiNybXoQ9ghyp2frbjj22ExU8o6h3Dw=="
            ),
        ),
        (
            SITEMAP,
            "dictionary",
            AGENT,
            (
                "xLMGr8LwKRJu4YSJMCJJEOxDGftx+YsqmhghjtekAJbp"
                "4pWi8IXX2BaCqN2xCcYwxC4Z9uYuHh9jc0/oIjG/Dw=="
            ),
        ),
        (
            SITEMAP,
            "dictionary",
            f"{AGENT}/.well-known/http-message-signatures-directory",
            (
                "qvW9/GLmHHNKDmJwasmZgbjak/pHxOFkEixTw1U+qxtl"
                "Rm5RbMayXCh7DT8zBf7ADsZ/hNfV9E5CYEj3jsllCw=="
            ),
        ),
        (
            "https://EXAMPLE.com:443/robots.txt",
            "string",
            AGENT,
            (
                "DSloS1qQYiv6THjudpspWZ+RGfFijb52R3GLcO/RwBM/"
                "DykfmJZ+jd6aMFhPQyR4X0OwKjMM/MXPW2NzDgd7AQ=="
            ),
        ),
        (
            "https://example.com:8443/a%20b/?page=2&x=%C3%BC",
            "string",
            AGENT,
            (
                "48qiuYDluASDY266e/h0hS23bo8lcoxT0zWQmEnVTc1N"
                "K6qxRg0DLz546hRVslFzzrNxL7OBKSix3Ul5hYphAw=="
            ),
        ),
        (
            "http://example.com:443",
            "string",
            AGENT,
            (
                "9MXtDcA4jfw3lsSJusrkOSBVJ0rchKoqHsZp1vKsda0g"
                "4ddqGpnVR04tJGTTjDppvdACSQdWqLU/nqYVBJGUAw=="
            ),
        ),
        (
            "https://[2001:db8::1]:8443/",
            "string",
            AGENT,
            (
                "YHbHIHpU9doQ1HzOwV41BDi3/hZSEcL6DiwbnlaR/vtU"
                "F7kYsjWoiYko2C/wV1d5CvUNE1UXrw6BtYVlduhtBw=="
            ),
        ),
        (
            "https://example.com./sitemap.xml",
            "string",
            AGENT,
            (
                "FvUBt6FibyPJx3meWFFnac9IRkniu2NwKn8lFYG/xYWL"
                "DWCsXJ9585mMiNybXoQ9ghyp2frbjj22ExU8o6h3Dw=="
            ),
        ),
        (
            "https://bücher.example/é.xml",
            "string",
            AGENT,
            (
                "Y2/83jOReLkxl8/G28uwKeyaef8TThLQBDMiX5x5YUMy"
                "v+5X1bIMSO90ZGxJCqLjME6vdBPbNYvRyczhuuErCw=="
            ),
        ),
    ],
)
def test_signatures_are_those_of_the_vectors(
    key_file: str, url: str, form: SignatureForm, agent: str, signature: str
) -> None:
    """Each form, port, address and international name gives the signature that others made."""
    identity = Identity(key_file, agent, form=form)
    headers = identity.sign_with(PARAMETERS, URL(url))
    assert headers["Signature"] == f"sig1=:{signature}:"
    assert f'keyid="{KEYID}"' in headers["Signature-Input"]


def test_a_directory_is_that_of_the_vectors(key_file: str) -> None:
    """Its document, digest and both signatures are those that others made."""
    identity = Identity(key_file, AGENT)
    parameters = SignatureParameters(PARAMETERS.created, PARAMETERS.expires)
    assert json.loads(identity.directory())["keys"][0]["kid"] == KEYID
    headers = identity.sign_directory(parameters)
    assert (
        headers["Content-Digest"]
        == "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"
    )
    first, second = headers["Signature-Input"].split(", ")
    assert first.startswith('sig1=("@authority";req "content-digest");')
    assert second.startswith('sig2=("@authority";req);')
    assert all(f'keyid="{KEYID}"' in each for each in (first, second))
    assert headers["Signature"] == (
        "sig1=:KQQHIS/IF7ICswZ7733E8uuume/FLPDaadE8ptM70V721JUFWpilDeronrLVGuhX+yDvQyDv8VQv81/"
        "sR4D0Dg==:, "
        "sig2=:93ccDbt9724KA5e7cbuqlJzVBhl5wLeLuF2OBd8xmCMUt0ww6R8IR6qkAdwucU7QhtHPe0pk0SYWswUq"
        "dHtkDw==:"
    )


def test_http_is_not_signed(key_file: str) -> None:
    """A signature over http could be copied by whoever carries it."""
    assert Identity(key_file, AGENT).sign("http://example.com/") == {}


@pytest.mark.parametrize("form", FORMS)
async def test_a_site_verifies_every_request_of_a_walk(
    server: FaultServer,
    key_file: str,
    form: SignatureForm,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Start page, robots.txt, guesses and sitemaps are each signed for where they arrive."""
    body = f"Sitemap: {server.base}/ok?a=%2Fb&c=%C3%BC\n".encode()
    monkeypatch.setitem(ROUTES, "robots.txt", always(*answered(body)))
    options = FetchOptions(
        identity=Identity(key_file, AGENT, form=form), max_attempts=1
    )
    async with walk(
        server.base, options=options, search=Search(probe="always")
    ) as entries:
        assert len([entry async for entry in entries]) == 200
    Verifier().verify_all(server.requests)
    assert len(server.requests) > 5


PATHS = st.lists(
    st.text("abZ09-._~!$&'()*+,;=:@", min_size=1, max_size=6)
    | st.sampled_from(
        ["%2F", "%C3%BC", "%25", "é", "日", "a%20b", "a;b", "%7E", "%3b"]
    ),
    max_size=4,
).map("/".join)


@settings(max_examples=60, deadline=None)
@given(path=PATHS, query=PATHS, form=st.sampled_from(FORMS))
def test_a_signature_fits_any_request_target(
    tmp_path_factory: pytest.TempPathFactory, path: str, query: str, form: SignatureForm
) -> None:
    """What a site reads from the request line is what was signed, however it is escaped."""
    identity = Identity(write_key(tmp_path_factory.mktemp("key")), AGENT, form=form)
    url = URL(f"https://localhost:8443/{path}?{query}")
    sent = {name.lower(): value for name, value in identity.sign(url).items()}
    headers = {"host": "localhost:8443", **sent}
    Verifier().verify(Request(url.raw_path_qs, headers, at=0, at_once=1, earlier=0))


async def test_each_redirect_is_signed_for_its_own_host(
    server: FaultServer, key_file: str, certificate: Path
) -> None:
    """A signature for one authority and path never reaches the next one."""
    options = FetchOptions(identity=Identity(key_file, AGENT))
    async with FaultServer("localhost", tls=make_server_context(certificate)) as other:
        async with HttpFetcher(options) as fetcher:
            fetcher.trust(server.base)
            fetcher.trust(other.base)
            url = server.url(f"to?url={other.base}/to?url={other.base}/ok")
            async with fetcher.open(url) as response:
                assert b"".join([piece async for piece in response.chunks()])
        Verifier().verify_all([*server.requests, *other.requests])
        assert len(server.requests) == 1
        assert len(other.requests) == 2


async def test_retries_are_signed_anew(
    server: FaultServer, key_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a retry after 503 nor a second sending on a new connection repeats a nonce."""

    def fail_once(request: Request) -> list[bytes | float | str]:
        failure = answered(b"", "503 Busy", "Retry-After: 0")
        return failure if request.earlier == 0 else answered()

    monkeypatch.setitem(ROUTES, "busy", fail_once)
    options = FetchOptions(identity=Identity(key_file, AGENT), retry_wait_seconds=0.01)
    # `stale` promises to keep its connection, and closes it
    results = await fetch_all(
        options, *map(server.url, ("busy", "stale", "ok", "stale", "ok"))
    )
    assert all(isinstance(result, int) for result in results)
    Verifier().verify_all(server.requests)
    assert len(server.requests) >= 6


async def test_a_request_is_signed_when_its_turn_has_come(
    server: FaultServer, key_file: str
) -> None:
    """A queue that is longer than the lifetime of a signature makes none expire."""
    options = FetchOptions(
        identity=Identity(key_file, AGENT, seconds=1), delay_seconds=0.4
    )
    verifier = Verifier()
    original = server.answer

    def verify(request: Request) -> object:
        verifier.verify(request)
        return original(request)

    server.answer = verify  # type: ignore[method-assign, assignment]
    results = await fetch_all(
        options, *[server.url(f"ok?{number}") for number in range(4)]
    )
    assert all(isinstance(result, int) for result in results)
    created = [
        int(
            request.headers["signature-input"]
            .partition("created=")[2]
            .partition(";")[0]
        )
        for request in server.requests
    ]
    assert created[-1] > created[0]


async def test_a_mapped_host_is_signed_for_where_it_is_asked(
    server: FaultServer, key_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A staging site verifies its own name, not that of production."""
    body = b"Sitemap: https://www.acme.example/ok\n"
    monkeypatch.setitem(ROUTES, "robots.txt", always(*answered(body)))
    options = FetchOptions(
        identity=Identity(key_file, AGENT),
        max_attempts=1,
        map_hosts={"https://www.acme.example": server.base},
    )
    async with walk("https://www.acme.example/", options=options) as entries:
        assert len([entry async for entry in entries]) == 200
    Verifier().verify_all(server.requests)
    assert len(server.requests) >= 2


async def test_visits_of_an_audit_are_signed(
    server: FaultServer, key_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site that checks its visitors sees the same crawler at its pages."""
    locs = "".join(
        f"<url><loc>{server.base}/page/{number}</loc></url>" for number in range(3)
    )
    sitemap = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locs}</urlset>'
    )
    robots = f"Sitemap: {server.base}/map.xml\n".encode()
    page = answered(b"<!doctype html><title>A page</title>", "200 OK")
    monkeypatch.setitem(ROUTES, "robots.txt", always(*answered(robots)))
    monkeypatch.setitem(ROUTES, "map.xml", always(*answered(sitemap.encode())))
    monkeypatch.setitem(ROUTES, "page", always(*page))
    options = FetchOptions(identity=Identity(key_file, AGENT))
    with await audit(server.base, options=options, pages="all"):
        pass
    Verifier().verify_all(server.requests)
    assert {request.path for request in server.requests} >= {
        f"/page/{n}" for n in range(3)
    }


async def test_all_sites_of_a_run_are_signed(
    server: FaultServer,
    key_file: str,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sites that are read at once share the key, and no nonce."""
    monkeypatch.setitem(ROUTES, "robots.txt", always(*answered(b"Sitemap: /ok\n")))
    async with FaultServer("localhost", tls=make_server_context(certificate)) as other:
        options = FetchOptions(
            identity=Identity(key_file, AGENT),
            allow_networks=("127.0.0.0/8", "::1/128"),
            allow_ports=(server.port, other.port),
        )
        sites = [server.base, other.base]
        async with walk_many(sites, options=options) as run:
            assert sum([len(entries) async for _, entries in run.batches()]) == 400
        Verifier().verify_all([*server.requests, *other.requests])


# -- what a refusal says


@pytest.mark.parametrize(
    ("status", "headers", "is_signed", "detail"),
    [
        (
            "401 Unauthorized",
            ('Accept-Signature: sig1=("@authority")',),
            False,
            "requires a signed request (Accept-Signature)",
        ),
        (
            "403 Forbidden",
            ('accept-signature: a=("@authority")',),
            False,
            "requires a signed request",
        ),
        ("403 Forbidden", (), True, f'though signed as "{AGENT}"'),
        (
            "429 Too Many Requests",
            ("Accept-Signature: sig1=()",),
            True,
            f'though signed as "{AGENT}"',
        ),
        (
            "401 Unauthorized",
            ("Date: Sun, 06 Nov 1994 08:49:37 GMT",),
            True,
            "s ahead of the server's",
        ),
        (
            "401 Unauthorized",
            ("Date: Fri, 06 Nov 2099 08:49:37 GMT",),
            True,
            "s behind the server's",
        ),
        (
            "400 Bad Request",
            ("Signature-Error: error=invalid_signature",),
            True,
            "Signature-Error: error=invalid_signature",
        ),
        ("403 Forbidden", ("Signature-Error: " + "x" * 5_000,), False, "x" * 120 + "…"),
    ],
)
async def test_a_refusal_says_what_it_has_to_do_with_signatures(
    server: FaultServer,
    key_file: str,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
    headers: tuple[str, ...],
    is_signed: bool,
    detail: str,
) -> None:
    """A signature is asked for, was refused, or the clock is off: the detail says which."""
    monkeypatch.setitem(ROUTES, "refused", always(*answered(b"", status, *headers)))
    options = FetchOptions(
        identity=Identity(key_file, AGENT) if is_signed else None, max_attempts=1
    )
    [error] = await fetch_all(options, server.url("refused"))
    assert isinstance(error, FetchError)
    assert detail in str(error)
    asks = any(header.lower().startswith("accept-signature") for header in headers)
    assert (error.code == "blocked-by-site") == asks
    assert len(str(error)) < 500


async def test_a_refusal_over_http_says_that_it_was_not_signed(key_file: str) -> None:
    """Otherwise a user would look for the fault in the key."""
    options = FetchOptions(identity=Identity(key_file, AGENT), max_attempts=1)
    async with FaultServer() as plain:
        [error] = await fetch_all(options, plain.url("status/403"))
        assert "not signed because it is http" in str(error)
        assert not any(
            name.startswith("signature") for name in plain.requests[0].headers
        )


async def test_a_refusal_without_an_identity_is_as_before(server: FaultServer) -> None:
    """Nobody who does not sign reads about signatures."""
    [error] = await fetch_all(FetchOptions(max_attempts=1), server.url("status/403"))
    assert "sign" not in str(error)


# -- keys and arguments


def write_rsa() -> bytes:
    key = generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


KEY = load_pem_private_key(PEM.encode(), None)
PUBLIC = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
ENCRYPTED = KEY.private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
)
OPENSSH = KEY.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
JWK = {"kty": "OKP", "crv": "Ed25519", "d": SEED}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (PUBLIC, "is a public key: name the file of the private key"),
        (ENCRYPTED, "is encrypted: remove the password with openssl pkey"),
        (OPENSSH, "has OpenSSH's format: convert it with ssh-keygen -p -m PKCS8"),
        (write_rsa(), "is not an Ed25519 key"),
        (b"-----BEGIN RSA PRIVATE KEY-----\nAA==\n", "is an RSA key"),
        (b"", "is neither PEM nor a private JWK"),
        (
            b"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
            "is neither PEM nor a private JWK",
        ),
        (b"{", "is neither PEM nor a private JWK"),
        (b'{"keys": []}', "is not an Ed25519 key"),
        (b"{" * 60_000, "is neither PEM nor a private JWK"),
        (
            json.dumps({**JWK, "d": SEED[:-4]}).encode(),
            "has a `d` that is not an Ed25519 key",
        ),
        (json.dumps({**JWK, "d": 7}).encode(), "has a `d` that is not an Ed25519 key"),
        (
            json.dumps({**JWK, "x": SEED}).encode(),
            "has an `x` that does not belong to its `d`",
        ),
        (
            json.dumps({"kty": "OKP", "crv": "Ed25519", "x": SEED}).encode(),
            "is a public key",
        ),
        (json.dumps({"kty": "RSA", "n": "AQAB"}).encode(), "is not an Ed25519 key"),
        (
            json.dumps({"kty": "OKP", "crv": "X25519", "d": SEED}).encode(),
            "is not an Ed25519 key",
        ),
    ],
)
def test_a_wrong_key_file_says_what_to_do(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    """Public, encrypted and foreign keys are named as such; no message repeats a file."""
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="key") as caught:
        Identity(str(file), AGENT)
    message = str(caught.value)
    assert problem in message
    assert SEED[:20] not in message
    assert len(message) < 300


@pytest.mark.parametrize("name", ["", "missing.pem", "."])
def test_a_key_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    """The message has the path and the system's reason."""
    with pytest.raises(ValueError, match="cannot be read: "):
        Identity(str(tmp_path / name), AGENT)


def test_a_private_jwk_is_the_same_key(tmp_path: Path, key_file: str) -> None:
    """PEM and JWK of one key give one key id."""
    jwk = tmp_path / "key.jwk"
    jwk.write_text(json.dumps(JWK))
    assert Identity(str(jwk), AGENT).keyid == Identity(key_file, AGENT).keyid == KEYID


@pytest.mark.parametrize(
    "agent",
    [
        "http://crawler.example",
        "crawler.example",
        "",
        "https://",
        "https://a b.example",
        'https://crawler.example/"',
        "https://b\u00fccher.example",
        "https://u:p@crawler.example",
        "https://crawler.example/#key",
        "https://crawler.example:99999",
        "https://[::1",
        "https://crawler.example/\\",
        "https://crawler.example\r\nX: y",
    ],
)
def test_an_agent_must_be_an_https_url(key_file: str, agent: str) -> None:
    """Anything else cannot be sent, or cannot be looked up; a password is not repeated."""
    with pytest.raises(ValueError, match="`agent` must be an https URL") as caught:
        Identity(key_file, agent)
    assert "u:p@" not in str(caught.value)


def test_the_published_test_key_signs_for_nobody(key_file: str) -> None:
    """With it anybody can sign, so it works for reserved names only."""
    with pytest.raises(ValueError, match="published test key of RFC 9421"):
        Identity(key_file, "https://crawler.com")


@pytest.mark.parametrize(
    "name", ["Signature", "signature-agent", "SIGNATURE-INPUT", "Host"]
)
def test_a_header_beside_an_identity_is_refused(key_file: str, name: str) -> None:
    """It would make every signature wrong."""
    identity = Identity(key_file, AGENT)
    with pytest.raises(
        ValueError, match=f"the header {name.lower()} is set by `identity`"
    ):
        FetchOptions(identity=identity, headers={name: "x"})
    assert FetchOptions(headers={name: "x"}).headers == {name: "x"}


def test_wrong_arguments_are_refused(key_file: str) -> None:
    """An identity of another type, form or lifetime is named."""
    with pytest.raises(TypeError, match="`identity` must be an Identity, got str"):
        FetchOptions(identity=key_file)  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match="`form` must be one of string, dictionary, got 'list'"
    ):
        Identity(key_file, AGENT, form="list")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds"):
        Identity(key_file, AGENT, seconds=100_000)


# -- where the key is not


def forms_of_the_key() -> list[bytes]:
    """List what would give the key away: raw, base64, base64url, hex, PEM."""
    raw = base64.urlsafe_b64decode(f"{SEED}=")
    pem = PEM.splitlines()[1].encode()
    return [
        raw,
        b64encode(raw),
        SEED.encode(),
        raw.hex().encode(),
        repr(raw).encode(),
        pem,
    ]


async def test_the_key_stays_in_its_file(
    server: FaultServer, key_file: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """No repr, pickle, log, report, state or error has any form of it."""
    from sitemapreader.distributed.options import ScaleOptions  # noqa: PLC0415 (an extra)

    caplog.set_level(logging.DEBUG)
    identity = Identity(key_file, AGENT)
    options = FetchOptions(identity=identity, max_attempts=1)
    state = tmp_path / "site.db"
    async with walk(
        sitemaps=[server.url("ok")], options=options, state=state
    ) as entries:
        assert len([entry async for entry in entries]) == 200
    [error] = await fetch_all(options, server.url("status/403"))
    scale = ScaleOptions(fetch=options)
    shown = [
        repr(identity),
        str(identity),
        repr(options),
        repr(entries.report),
        repr(error),
        str(error),
        caplog.text,
        json.dumps(scale.to_json()),
        json.dumps(entries.report.to_dict(), default=str),
    ]
    written = [text.encode() for text in shown]
    written += [pickle.dumps(identity), pickle.dumps(options), state.read_bytes()]
    written += [
        line.encode()
        for request in server.requests
        for line in request.headers.values()
    ]
    assert not any(form in data for form in forms_of_the_key() for data in written)
    assert pickle.loads(pickle.dumps(identity)) == identity  # noqa: S301 (it is our own)
    assert ScaleOptions.from_json(scale.to_json()) == scale


# -- the shell


@pytest.mark.parametrize(
    ("name", "reason"),
    [("none/key.pem", "No such file or directory"), ("a\0b", "it is not a path")],
)
def test_a_key_that_cannot_be_written(name: str, reason: str, tmp_path: Path) -> None:
    """The reason is said, and no key is printed."""
    done = run("identity", str(tmp_path / name))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"cannot be written: {reason}" in done.stderr


def test_the_shell_makes_a_key_once(tmp_path: Path) -> None:
    """The key is for its owner only; the same directory is printed again."""
    file = tmp_path / "crawler.pem"
    first = run("identity", str(file), "--sign-as", AGENT, "--headers", "30")
    assert (first.returncode, "made the key" in first.stderr) == (0, True)
    assert file.stat().st_mode & 0o777 == 0o600 or os.name == "nt"
    assert f"{AGENT}/.well-known/http-message-signatures-directory" in first.stderr
    assert "\nContent-Digest: sha-256=:" in first.stderr
    again = run("identity", str(file))
    assert (again.returncode, again.stdout) == (0, first.stdout)
    keyid, *others = again.stderr.splitlines()
    assert keyid.removeprefix("sitemapreader: keyid: ") in first.stderr
    place = "the URL that --sign-as will name"
    form = "application/http-message-signatures-directory+json"
    advice = (
        "register the key with Cloudflare or AWS, because sites ignore unknown keys"
    )
    assert others == [
        f"sitemapreader: serve standard output at {place} as {form}",
        f"sitemapreader: {advice}",
    ]
    assert json.loads(first.stdout)["keys"][0]["crv"] == "Ed25519"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("example.org", "--sign-key", "KEY"), "--sign-key requires --sign-as URL"),
        (("example.org", "--sign-as", AGENT), "--sign-as requires --sign-key FILE"),
        (
            ("example.org", "--sign-form", "string"),
            "--sign-form requires --sign-key FILE",
        ),
        (
            ("example.org", "--sign-key", "KEY", "--sign-as", "http://a.example"),
            "must be an https URL",
        ),
        (
            ("example.org", "--sign-key", "missing", "--sign-as", AGENT),
            "missing cannot be read",
        ),
        (
            (
                "audit",
                "example.org",
                "--sign-key",
                "KEY",
                "--sign-as",
                AGENT,
                "-H",
                "Signature: x",
            ),
            "the header signature is set by",
        ),
        (("identity", "KEY", "--headers", "3"), "--headers requires --sign-as URL"),
        (("identity", "."), "cannot be read"),
    ],
)
def test_the_shell_says_what_to_write(
    key_file: str, words: tuple[str, ...], message: str
) -> None:
    """A part of an identity, or one that cannot be used, is wrong usage."""
    done = run(*[key_file if word == "KEY" else word for word in words])
    assert done.returncode == 2
    assert message in done.stderr
