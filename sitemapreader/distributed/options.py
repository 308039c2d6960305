"""Options of a run over many hosts, as JSON that every worker reads.

Functions are never pickled.
"""

from __future__ import annotations

from typing import Any

import attrs

from sitemapreader._types.fields import NESTED_ARGUMENTS, bounded, of_type
from sitemapreader._types.instead import answer_keywords
from sitemapreader._types.options import FetchOptions, Limits
from sitemapreader.fetch import Identity


def _check_secrets(
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


_LONGEST_SECONDS = 366 * 24 * 3600
_LARGEST = 2**63 - 1


SCALE_ARGUMENTS = {
    "options": "fetch=...",
    "limits": "limits=...",
    **{
        name: written.replace("options=", "fetch=", 1)
        for name, written in NESTED_ARGUMENTS.items()
        if written.startswith(("options=FetchOptions(", "limits=Limits("))
    },
    "headers": "fetch=FetchOptions(user_agent=...), because other headers would go to strangers",
    "max_urls": "site_urls=...",
    "max_time": "site_seconds=...",
    "sites_at_once": "hosts_at_once=...",
}
"""Arguments of a walk, and their fields -> how they are written in `ScaleOptions`."""


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

    hosts_at_once: int = attrs.field(default=64, validator=bounded(1, 1_024, "64"))
    site_seconds: float = attrs.field(
        default=900.0, validator=bounded(1.0, _LONGEST_SECONDS, "900")
    )
    site_urls: int = attrs.field(
        default=10_000_000, validator=bounded(1, _LARGEST, "1_000_000")
    )
    revisit: int | None = attrs.field(
        default=None, validator=bounded(1, _LARGEST, "10_000")
    )
    gone: int = attrs.field(default=0, validator=bounded(0, _LARGEST, "100"))
    confirm_seconds: float = attrs.field(
        default=82_800.0, validator=bounded(0.0, _LONGEST_SECONDS, "82_800")
    )
    fetch: FetchOptions = attrs.field(
        factory=FetchOptions,
        validator=[
            of_type(FetchOptions, ": write fetch=FetchOptions(...)"),
            _check_secrets,
        ],
    )
    limits: Limits = attrs.field(
        factory=Limits, validator=of_type(Limits, ": write limits=Limits(...)")
    )

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


ScaleOptions.__init__ = answer_keywords(SCALE_ARGUMENTS)(ScaleOptions.__init__)  # type: ignore[method-assign]
RUN_ARGUMENTS = {
    name: f"options=ScaleOptions({written})"
    for name, written in {
        **SCALE_ARGUMENTS,
        **{name: f"{name}=..." for name in attrs.fields_dict(ScaleOptions)},
    }.items()
}
"""The same, and the fields of `ScaleOptions` -> how they are written for a run."""
