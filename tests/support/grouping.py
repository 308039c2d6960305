"""Arguments of walks, written flat by the tests of many small cases, in their option objects."""

from __future__ import annotations

from typing import Any

import attrs

from sitemapreader import Changes, FetchOptions, Follow, Limits, Sample, Search

_CLASSES = {
    "search": Search,
    "follow": Follow,
    "limits": Limits,
    "options": FetchOptions,
}
_LIMITS = ("max_urls", "max_time", "site_seconds", "sites_at_once")
_OPTIONS = ("respect_robots", "map_hosts")
_CHANGES = ("unlisted", "gone", "revisit")


def grouped(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of a walk, with fields such as `probe` or `changes` in their objects."""
    given = dict(arguments)
    fields = {
        "search": attrs.fields_dict(Search),
        "follow": ("hosts", "prune", "order"),
        "limits": _LIMITS,
        "options": _OPTIONS,
    }
    for group, names in fields.items():
        taken = {name: given.pop(name) for name in names if name in given}
        if not taken:
            continue
        base = given.get(group)
        if base is not None and not attrs.has(type(base)):
            base = Follow(base)
        given[group] = attrs.evolve(base or _CLASSES[group](), **taken)
    if "seed" in given:
        given["sample"] = Sample(given["sample"], given.pop("seed"))
    if "state" not in given:  # which the function refuses
        return given
    taken = {name: given.pop(name) for name in _CHANGES if name in given}
    if given.pop("changes", False):
        given["state"] = Changes(given["state"], **taken)
    elif any(taken.values()):
        given["state"] = attrs.evolve(given["state"], **taken)
    return given
