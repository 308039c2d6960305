"""Identity of a crawler: a name that sites can verify, because its requests are signed.

Follows Web Bot Auth, a profile of HTTP Message Signatures (RFC 9421):
https://datatracker.ietf.org/doc/draft-ietf-webbotauth-httpsig-protocol/
"""

from __future__ import annotations

import json
import os
import secrets
import time
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from yarl import URL

from sitemapreader._types.errors import name_extra
from sitemapreader._types.fields import bounded, one_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SignatureForm: TypeAlias = Literal["string", "dictionary"]
"""Forms of the header Signature-Agent: a string until the drafts of 2025-10, then a dictionary."""

DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
"""Path at which verifiers look for the keys of an agent that is an origin."""
DIRECTORY_TYPE = "application/http-message-signatures-directory+json"

_REQUEST_TAG = "web-bot-auth"
_DIRECTORY_TAG = "http-message-signatures-directory"
_LABEL = "sig1"
_NONCE_BYTES = 64
_MAX_SECONDS = 86_400
"""Draft, section "Signature Parameters": at most 24 hours are recommended."""
_MAX_KEY_FILE_BYTES = 65_536

_TEST_KEY = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
"""Public half of the key that RFC 9421, section B.1.4 publishes together with its private half."""
_RESERVED_NAMES = ("example", "test", "invalid", "localhost")
"""Top-level names that belong to nobody (RFC 2606, section 2)."""

_WRONG_KEYS = (
    (b"BEGIN PUBLIC", "is a public key: name the file of the private key"),
    (
        b"BEGIN ENCRYPTED",
        "is encrypted: remove the password with openssl pkey -in FILE -out FILE",
    ),
    (
        b"BEGIN OPENSSH",
        "has OpenSSH's format: convert it with ssh-keygen -p -m PKCS8 -f FILE",
    ),
    (
        b"BEGIN RSA",
        "is an RSA key: sites verify Ed25519 only, so make a key of that kind",
    ),
)
"""Text in a key file that cannot be used -> what is wrong and what to do."""
_NEW_KEY = "make one with openssl genpkey -algorithm ed25519 -out FILE"


@attrs.frozen
class SignatureParameters:
    """Times and nonce of one signature.

    Attributes:
        created: seconds since 1970.
        expires: seconds since 1970.
        nonce: text that no other signature has; "" if there is none.
    """

    created: int
    expires: int
    nonce: str = ""

    @classmethod
    def make(cls, seconds: int) -> SignatureParameters:
        """Make the parameters of a signature that is made now and holds this long."""
        created = int(time.time())
        nonce = b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        return cls(created, created + seconds, nonce)

    def write(
        self,
        covered: Mapping[str, str],
        keyid: str,
        tag: str,
    ) -> str:
        """Write the value of a Signature-Input (RFC 9421, section 2.3)."""
        components = " ".join(covered)
        value = (
            f"({components});created={self.created};expires={self.expires}"
            f';keyid="{keyid}"'
        )
        if self.nonce:
            value += f';nonce="{self.nonce}"'
        return f'{value};tag="{tag}"'


def _check_agent(
    _: object,
    field: attrs.Attribute[str],
    value: str,
) -> None:
    """Raise ValueError unless the value can be sent as a URL of the crawler."""
    problem = (
        f"`{field.name}` must be an https URL in ASCII, such as https://crawler.example"
    )
    is_plain = (
        value.isascii() and value.isprintable() and not set(value) & set(' "\\<>')
    )
    if not is_plain:
        raise ValueError(f"{problem}, got {value!r}")
    try:
        url = URL(value)
    except ValueError:
        raise ValueError(f"{problem}, got {value!r}") from None
    if url.user is not None or url.password is not None:  # do not repeat a password
        raise ValueError(f"{problem}: remove the user name and the password from it")
    if url.scheme != "https" or not url.host or url.fragment:
        raise ValueError(f"{problem}, got {value!r}")


@attrs.frozen
class Identity:
    """A crawler's name and the Ed25519 key that signs its requests.

    Two identities are equal if their arguments are. Pickling keeps the arguments, and loading the
    identity reads the key file again.

    Args:
        key_file: PKCS#8 PEM or a private JWK.
        agent: https URL sent in Signature-Agent: the origin that serves the key directory at
            its well-known path, or (drafts since 2026-10) the address of the directory itself.
        form: the form of Signature-Agent. Cloudflare reads only "string".
        seconds: lifetime of a signature.

    Attributes:
        keyid: the JWK thumbprint of the key (RFC 7638).

    Raises:
        ValueError: for an argument or a key file that cannot be used. The message never repeats
            the content of the file.
    """

    key_file: str = attrs.field(converter=os.fspath)
    agent: str = attrs.field(validator=_check_agent)
    form: SignatureForm = attrs.field(
        default="string", kw_only=True, validator=one_of(SignatureForm)
    )
    seconds: int = attrs.field(
        default=60, kw_only=True, validator=bounded(1, _MAX_SECONDS, "60")
    )
    keyid: str = attrs.field(init=False, eq=False)
    _key: Ed25519PrivateKey = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        key = _read_key(Path(self.key_file))
        public = _public_jwk(key)
        host = URL(self.agent).host or ""
        if public["x"] == _TEST_KEY and host.rpartition(".")[2] not in _RESERVED_NAMES:
            raise ValueError(
                f"{self.key_file} is the published test key of RFC 9421, with which anybody can "
                f"sign: {_NEW_KEY}"
            )
        canonical = json.dumps(public, separators=(",", ":"), sort_keys=True)
        thumbprint = sha256(canonical.encode()).digest()
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "keyid", _encode_base64(thumbprint))

    def __reduce__(self) -> tuple[Any, ...]:
        make = partial(Identity, form=self.form, seconds=self.seconds)
        return make, (self.key_file, self.agent)

    @property
    def directory_url(self) -> str:
        """The address at which verifiers look for the directory."""
        url = URL(self.agent)
        if url.path in ("", "/"):
            return str(url.with_path(DIRECTORY_PATH))
        return self.agent

    def sign(self, url: str | URL, method: str = "GET") -> dict[str, str]:
        """Return the headers that sign one request; none unless its URL is https.

        The headers are valid once: sign each retry and each redirect anew.
        """
        parsed = URL(url)
        if parsed.scheme != "https":
            return {}
        return self.sign_with(SignatureParameters.make(self.seconds), parsed, method)

    def sign_with(
        self,
        parameters: SignatureParameters,
        url: URL,
        method: str = "GET",
    ) -> dict[str, str]:
        """Return the headers that sign a request with these parameters."""
        agent = f'"{self.agent}"'
        header = agent
        component = '"signature-agent"'
        if self.form == "dictionary":
            header = f"{_LABEL}={agent}"
            component += f';key="{_LABEL}"'
        covered = {
            '"@method"': method,
            '"@authority"': _write_authority(url),
            '"@path"': _write_path(url),
            component: agent,
        }
        signature_input = parameters.write(covered, self.keyid, _REQUEST_TAG)
        signature = self._sign_base(covered, signature_input)
        return {
            "Signature-Agent": header,
            "Signature-Input": f"{_LABEL}={signature_input}",
            "Signature": f"{_LABEL}=:{signature}:",
        }

    def directory(self) -> bytes:
        """Return the JWK Set in which sites look the key up."""
        public = _public_jwk(self._key)
        key = {
            "kty": public["kty"],
            "crv": public["crv"],
            "kid": self.keyid,
            "x": public["x"],
            "use": "sig",
        }
        return json.dumps({"keys": [key]}, separators=(",", ":")).encode()

    def sign_directory(self, parameters: SignatureParameters) -> dict[str, str]:
        """Return headers with which a static server can serve the directory.

        The first signature covers the content (drafts of the working group), the second does
        not (Cloudflare's guide).
        """
        digest = b64encode(sha256(self.directory()).digest()).decode()
        authority = {'"@authority";req': _write_authority(URL(self.directory_url))}
        content = {'"content-digest"': f"sha-256=:{digest}:"}
        inputs = []
        signatures = []
        for label, covered in (("sig1", authority | content), ("sig2", authority)):
            signature_input = parameters.write(covered, self.keyid, _DIRECTORY_TAG)
            signature = self._sign_base(covered, signature_input)
            inputs.append(f"{label}={signature_input}")
            signatures.append(f"{label}=:{signature}:")
        return {
            "Content-Type": DIRECTORY_TYPE,
            "Content-Digest": content['"content-digest"'],
            "Signature-Input": ", ".join(inputs),
            "Signature": ", ".join(signatures),
        }

    def _sign_base(self, covered: Mapping[str, str], parameters: str) -> str:
        """Return the signature of a signature base (RFC 9421, section 2.5) in base64."""
        lines = [f"{component}: {value}" for component, value in covered.items()]
        lines.append(f'"@signature-params": {parameters}')
        return b64encode(self._key.sign("\n".join(lines).encode())).decode()


def _write_authority(url: URL) -> str:
    """Write a URL's authority as aiohttp writes Host: no default port, no trailing dot."""
    return (url.host_port_subcomponent or "").lower()


def _write_path(url: URL) -> str:
    """Write the path that is sent, without the query (RFC 9421, section 2.2.6).

    The path of a URL that is sent byte for byte has the query in it (`urls.RequestUrl`).
    """
    return url.raw_path.partition("?")[0] or "/"


def _encode_base64(data: bytes) -> str:
    """Return base64url without padding (RFC 7515, section 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _public_jwk(key: Ed25519PrivateKey) -> dict[str, str]:
    """Return the required members of the public key (RFC 8037, section 2)."""
    public = key.public_key().public_bytes_raw()
    return {"crv": "Ed25519", "kty": "OKP", "x": _encode_base64(public)}


# -- key files


def _load_key_type() -> type[Ed25519PrivateKey]:
    """Import the class of keys; raise ModuleNotFoundError that names the extra."""
    with name_extra("an identity needs", "signing"):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 (an extra)
            Ed25519PrivateKey,
        )
    return Ed25519PrivateKey


def make_key_file(path: Path) -> None:
    """Make a key and write it to a file that only its owner can read.

    Raises:
        FileExistsError: for a file that exists: a key is never overwritten.
        OSError: for a file that cannot be written.
    """
    key_type = _load_key_type()
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 (an extra)

    text = key_type.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)


def _read_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key; raise ValueError with a message that never repeats the file."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEY_FILE_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or "it is not a path"
        raise ValueError(f"{path} cannot be read: {reason}") from None
    is_jwk = data.lstrip().startswith(b"{")
    if is_jwk:
        return _parse_jwk(data, path)
    return _parse_pem(data, path)


def _parse_pem(data: bytes, path: Path) -> Ed25519PrivateKey:
    """Parse an unencrypted PKCS#8 key (RFC 8410, section 7)."""
    key_type = _load_key_type()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 (an extra)
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 (the same)
        load_pem_private_key,
    )

    for mark, problem in _WRONG_KEYS:
        if mark in data:
            raise ValueError(f"{path} {problem}")
    try:
        key = load_pem_private_key(data, None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise ValueError(
            f"{path} is neither PEM nor a private JWK: {_NEW_KEY}"
        ) from None
    if not isinstance(key, key_type):
        raise ValueError(  # noqa: TRY004 (the argument is a path)
            f"{path} is not an Ed25519 key, and sites verify no other: {_NEW_KEY}"
        )
    return key


def _parse_jwk(data: bytes, path: Path) -> Ed25519PrivateKey:
    """Parse a private JWK (RFC 8037, section 2)."""
    try:
        members = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError(
            f"{path} is neither PEM nor a private JWK: {_NEW_KEY}"
        ) from None
    if members.get("crv") != "Ed25519":
        raise ValueError(
            f"{path} is not an Ed25519 key, and sites verify no other: {_NEW_KEY}"
        )
    if "d" not in members:
        raise ValueError(
            f"{path} is a public key, without `d`: name the file of the private key"
        )
    try:
        seed = urlsafe_b64decode(members["d"] + "==")
        key = _load_key_type().from_private_bytes(seed)
    except (TypeError, ValueError):
        raise ValueError(
            f"{path} has a `d` that is not an Ed25519 key: {_NEW_KEY}"
        ) from None
    if members.get("x") not in (None, _public_jwk(key)["x"]):
        raise ValueError(
            f"{path} has an `x` that does not belong to its `d`: {_NEW_KEY}"
        )
    return key
