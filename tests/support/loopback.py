"""No test reaches beyond this machine: other connections are refused before they leave."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name is this machine's own."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host in {"", "localhost", "localhost."} or host.endswith((".invalid", ".localhost"))
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        if isinstance(address, tuple) and not is_loopback(str(address[0])):
            raise RuntimeError(f"{event} {address}: tests connect to loopback only")


sys.addaudithook(_refuse)
