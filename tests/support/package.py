"""The package as text: its modules parsed, for the tests that read code instead of running it."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PACKAGE = ROOT / "sitemapreader"


def environment() -> dict[str, str]:
    """Return the environment of a test that runs itself as a script: it finds this checkout.

    It does not find aiodns, which closes its sockets a second later, in a thread that stays.
    """
    places = (ROOT, TESTS / "support" / "without_aiodns")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}


@cache
def paths() -> dict[str, Path]:
    """Find every module; names are relative to the package, as `_read.xml` (its own is "")."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


@cache
def parse(name: str) -> ast.Module:
    """Parse a module."""
    path = paths()[name]
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def modules() -> dict[str, ast.Module]:
    """Parse every module, which takes a second: not while tests are collected."""
    return {name: parse(name) for name in paths()}


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return every module that a module imports anywhere, for types as well."""
    return frozenset(imports(parse(name)))


@cache
def list_public() -> dict[str, set[str]]:
    """Return what the reference documents: modules, and of each the names that it exports."""
    public: dict[str, set[str]] = {}
    page = ast.parse((ROOT / "docs" / "conf.py").read_text(encoding="utf-8"))
    (table,) = (
        ast.literal_eval(node.value)
        for node in page.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PUBLIC"
    )
    for path in " ".join(table.values()).split():
        module, _, name = path.rpartition(".")
        if path in paths():
            public[path] = exports_of(path)
        else:
            public.setdefault(module, set()).add(name)
    return public


def exports_of(name: str) -> set[str]:
    """Return the names in a module's `__all__`."""
    return {
        each
        for node in parse(name).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for each in ast.literal_eval(node.value)
    }


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield every module that is imported anywhere in another, for types as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            yield node.module
            # `from sitemapreader import urls` imports a module too
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
