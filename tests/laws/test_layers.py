"""No import runs in a circle, and each foreign power lives in one place."""

from __future__ import annotations

import ast
from collections import Counter
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support import package

CONFINED = {
    "aiohttp": {"fetch", "recipes"},
    "asyncio": {
        "pages",
        "audit",
        "distributed",
        "_event_loop",
        "fetch",
        "changes",
        "_walk",
        "_many",
        "_mcp",
        "_cli",
        "recipes",
    },
    "dask": {"distributed"},
    "distributed": {"distributed"},
    "duckdb": {"audit"},
    "feedparser": {"_read"},
    "fsspec": {"distributed"},
    "jinja2": {"audit"},
    "mcp": {"_mcp"},
    "protego": {"_read"},
    "scrapy": {"recipes"},
    "sqlite3": {"changes"},
    "argparse": {"_cli"},
    "pyarrow": {
        "_columns",
        "audit",
        "distributed",
        "_many",
        "output",
        "tables",
        "_walk",
    },
    "xlsxwriter": {"output"},
    "pandas": {"audit", "tables", "_walk"},
}
"""Foreign modules, and the only rooms that import them."""

NOT_FOR_READERS = {
    "socket",
    "ssl",
    "http",
    "urllib.request",
    "tempfile",
    "shutil",
    "os",
}
OPENERS = {"open", "open_code", "open_text", "FileIO"} | {
    *("read_text", "read_bytes", "write_text", "write_bytes"),
}
OTHER_PROCESS = {"_read.feedparser"}
"""A script that is run: it starts itself as a child process with limits, and reads there."""
SHARED_NAMES = {"T", "__all__", "__getattr__", "__dir__", "main"}
"""Names that mean the same thing in each module that has them."""
MODULES = list(package.paths())


def room_of(module: str) -> str:
    return module.partition(".")[0]


def is_reader(module: str) -> bool:
    return room_of(module) == "_read" and module not in OTHER_PROCESS


def used_modules(name: str) -> set[str]:
    """Return the modules of the package that a module imports, or imports names from."""
    used = set()
    for node in ast.walk(package.parse(name)):
        if isinstance(node, ast.ImportFrom):
            module = f"{node.module}.".partition("sitemapreader.")[2].rstrip(".")
            several = (f"{module}.{alias.name}".lstrip(".") for alias in node.names)
            used |= {each if each in package.paths() else module for each in several}
    return used & package.paths().keys() - {""}


def test_no_import_circle() -> None:
    """No module imports itself by way of others, types and packages included."""
    graph = {name: used_modules(name) for name in MODULES if name}
    with_circle = TopologicalSorter({"a": {"b"}, "b": {"a"}})
    with pytest.raises(CycleError):
        with_circle.prepare()
    TopologicalSorter(graph).prepare()


def test_class_names_are_unique() -> None:
    """No public class has the name of another one."""
    names = Counter(
        node.name
        for name in MODULES
        for node in ast.walk(package.parse(name))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_names_have_one_meaning() -> None:
    """No two modules give one name to different constants or functions of their own."""
    owners: dict[str, list[str]] = {}
    for module in MODULES:
        for node in package.parse(module).body:
            for name in _names_given(node) - SHARED_NAMES:
                owners.setdefault(name, []).append(module)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}


def _names_given(node: ast.stmt) -> set[str]:
    """Return the names that a statement of a module gives to constants and functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_foreign_powers_are_confined(subtests: pytest.Subtests) -> None:
    """The network, the event loop, the database and the fallbacks have one room each."""
    for module in MODULES:
        with subtests.test(module=module):
            foreign = {room_of(name) for name in package.imports_of(module)}
            rooms = [CONFINED[name] for name in foreign & CONFINED.keys()]
            assert all(room_of(module) in allowed for allowed in rooms)


@pytest.mark.parametrize("module", [name for name in MODULES if is_reader(name)])
def test_readers_touch_nothing(module: str) -> None:
    """A reader opens no file and no socket, and awaits nothing: bytes in, events out."""
    assert NOT_FOR_READERS.isdisjoint(package.imports_of(module))
    for node in ast.walk(package.parse(module)):
        assert not isinstance(node, ast.AsyncFunctionDef | ast.Await)
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            assert called not in OPENERS


@pytest.mark.parametrize(
    "module", [name for name in MODULES if room_of(name) == "recipes"]
)
def test_recipes_use_public_doors(module: str) -> None:
    """A recipe that is copied into another project imports each name from where it is public."""
    imported = {
        node.module or ""
        for node in ast.walk(package.parse(module))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("sitemapreader")
        and not (node.module or "").startswith("sitemapreader.recipes")
    }
    assert imported <= {
        f"sitemapreader.{door}".rstrip(".") for door in package.list_public()
    }
