"""Names that version 0.3 had at the top of the package, and their public modules now."""

_ROOMS = {
    "changes": "StateError",
    "fetch": "HttpFetcher Identity",
    "output": "open_output",
    "presence": "Explanation why why_sync",
    "records": "Alternate DateSource Extra Image News Video",
    "robots": "Robots parse_robots usage_of",
    "tables": "IncompleteWarning read_batches to_dataframe",
}
"""Public module -> the names that it has now."""
MOVED_NAMES = {
    name: f"from sitemapreader.{room} import {name}"
    for room, names in _ROOMS.items()
    for name in names.split()
} | {"WalkArguments": "the arguments themselves, as `inspect.signature(walk)` has them"}
"""Name of 0.3 -> its replacement."""
