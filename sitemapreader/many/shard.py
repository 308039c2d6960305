"""Shards: parts of a list of sites, the same in every run and on every machine."""

from __future__ import annotations

from hashlib import blake2b


def is_in_shard(domain: str, number: int, shards: int) -> bool:
    """Tell whether a registrable domain belongs to a shard; each belongs to one.

    Args:
        domain: the registrable domain.
        number: of the shard, from 0.
        shards: how many there are.
    """
    return (
        int.from_bytes(blake2b(domain.encode(), digest_size=8).digest(), "big") % shards == number
    )
