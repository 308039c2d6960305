"""Keys of signed requests, and a site's verification of what arrived."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import attrs
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, algorithms

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.faults import Request

AGENT = "https://crawler.example"
PEM = """\
-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
-----END PRIVATE KEY-----
"""
"""The test key that RFC 9421, section B.1.4 publishes."""
SEED = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
"""Its private half in base64url, as a JWK writes it."""
KEYID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"


def write_key(folder: Path, text: str = PEM) -> str:
    """Write a key file and return its path."""
    file = folder / "crawler.pem"
    file.write_text(text)
    return str(file)


@attrs.define
class Verifier:
    """A site's check of signed requests, from the Host header and the raw request target.

    Attributes:
        nonces: the nonces that have arrived.
    """

    nonces: list[str] = attrs.field(factory=list)
    _verifier: HTTPMessageVerifier = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        key = load_pem_private_key(PEM.encode(), None)
        assert isinstance(key, Ed25519PrivateKey)
        public = key.public_key()
        self._verifier = HTTPMessageVerifier(
            signature_algorithm=algorithms.ED25519,
            key_resolver=MappingKeyResolver(
                public_keys={KEYID: public}, private_keys={}
            ),
        )

    def verify(self, request: Request) -> None:
        """Raise InvalidSignature unless the request is signed for where it arrived."""
        host = request.headers["host"]
        message = SimpleNamespace(
            method="GET",
            url=f"https://{host}{request.path}",
            headers={name.title(): value for name, value in request.headers.items()},
        )
        verified = self._verifier.verify(message, expect_tag="web-bot-auth")
        covered = {
            component.partition(";")[0] for component in verified[0].covered_components
        }
        assert covered >= {'"@method"', '"@authority"', '"@path"', '"signature-agent"'}
        self.nonces.append(str(verified[0].parameters["nonce"]))

    def verify_all(self, requests: list[Request]) -> None:
        """Verify each request; raise if a nonce arrived twice."""
        for request in requests:
            self.verify(request)
        assert len(set(self.nonces)) == len(self.nonces) == len(requests)
