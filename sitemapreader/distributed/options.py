"""Options of a run over many hosts, as JSON that every worker reads.

Functions are never pickled.
"""

from __future__ import annotations

from typing import Any

import attrs
from attrs.validators import ge, le, optional

from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch import Identity


def _check_fetch(
    _: object,
    field: attrs.Attribute[FetchOptions],
    value: FetchOptions,
) -> None:
    has_password = value.proxy is not None and "@" in value.proxy
    if value.headers or has_password:
        raise ValueError(
            f"{field.name} cannot have headers or a proxy with a password, because they would be "
            "written into the output, and headers would go to every host of the list: let the "
            "proxy identify its clients by their addresses"
        )


_MAX_PATIENCE_SECONDS = 366 * 24 * 3600


@attrs.frozen(kw_only=True)
class ScaleOptions:
    """Options for reading the hosts of a run.

    Attributes:
        hosts_at_once: hosts that a process of four threads reads at the same time.
        site_seconds: time for one host; URLs that were read until then are kept.
        site_urls: URLs of one host; URLs that were read until then are kept.
        revisit: how many sitemaps of the known hosts are fetched; sitemaps whose changes have
            waited longest come first. The number is divided among partitions by their hosts; each
            partition has one at least. `None` for all sitemaps.
        gone: how many pages of missing URLs are requested from each host, to see if they are gone.
        confirm_seconds: how far apart two readings are that lack a URL before it is unlisted. With
            a run a month, another one a day later tells a loss a month earlier.
        fetch: how the network is used, without headers and passwords: these hosts are strangers.
        limits: how much of one host is read.
    """

    hosts_at_once: int = attrs.field(default=64, validator=[ge(1), le(1_024)])
    site_seconds: float = attrs.field(default=900.0, validator=ge(1))
    site_urls: int = attrs.field(default=10_000_000, validator=ge(1))
    revisit: int | None = attrs.field(default=None, validator=optional(ge(1)))
    gone: int = attrs.field(default=0, validator=ge(0))
    confirm_seconds: float = attrs.field(
        default=82_800.0, validator=[ge(0), le(_MAX_PATIENCE_SECONDS)]
    )
    fetch: FetchOptions = attrs.field(factory=FetchOptions, validator=_check_fetch)
    limits: Limits = attrs.field(factory=Limits)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that differ from the defaults, as JSON for `from_json`.

        An identity is written as the path of its key file, and each worker reads its own file.
        """
        return attrs.asdict(
            self,
            filter=lambda field, value: field.init and value not in (field.default, {}),
        )

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> ScaleOptions:
        """Make options from the JSON of `to_json`; raise as a call does for anything else."""
        fetch = dict(content["fetch"])
        for name, value in fetch.items():
            if isinstance(value, list):  # JSON has lists in place of tuples
                fetch[name] = tuple(value)
        if identity := fetch.get("identity"):
            fetch["identity"] = Identity(**identity)
        limits = Limits(**content["limits"])
        return cls(**content | {"fetch": FetchOptions(**fetch), "limits": limits})
