"""Habits that a machine can see: read from the code itself."""

from __future__ import annotations

import ast
import re
import socket
import tomllib

import pytest

from tests.support import package

SCOPES = {"timeout", "timeout_at", "TaskGroup"}
GIVEN = {"aiohttp", "attrs", "defusedxml", "feedparser", "protego"}
TESTS = sorted(package.TESTS.rglob("test_*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """Walk a node without entering the functions that are defined in it."""
    found: list[ast.AST] = []
    for child in ast.iter_child_nodes(node):
        found.append(child)
        if not isinstance(child, Function | ast.Lambda):
            found += own_nodes(child)
    return found


def opens_scope(item: ast.withitem) -> bool:
    call = item.context_expr
    if not isinstance(call, ast.Call):
        return False
    name = (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else getattr(call.func, "id", "")
    )
    return name in SCOPES


def yields_in_scopes(tree: ast.AST) -> list[int]:
    """List the lines on which a generator yields inside a timeout or a task group."""
    return [
        inner.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncWith | ast.With)
        and any(map(opens_scope, node.items))
        for inner in own_nodes(node)
        if isinstance(inner, ast.Yield | ast.YieldFrom)
    ]


def passes_on(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler raises again, or hands the exception to a future that will."""
    last = handler.body[-1]
    raises = isinstance(last, ast.Raise) and last.exc is None
    return raises or any(
        isinstance(node, ast.Attribute) and node.attr == "set_exception"
        for node in ast.walk(handler)
    )


BARRIERS = {"_many.run": 1, "distributed.planning": 1, "fetch.client": 1}
"""Where a bug ends one site of many (its traceback is logged, its outcome is "error"), where a
decompressor that fsspec has chosen raises an error of its own, and where an error of the caller's
HTTP client has the status of a response; any other one is raised again."""


def broad_excepts(tree: ast.AST) -> list[int]:
    """List the lines on which everything is caught, and not passed on."""
    broad = {"Exception", "BaseException"}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and not passes_on(node):
            types = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = {t.id for t in types if isinstance(t, ast.Name)}
            if node.type is None or names & broad:
                found.append(node.lineno)
    return found


SMALL = "a bound is made small: its own size would take minutes, or memory that tests have not"
THERE = "what happens at this very moment cannot be made to happen from outside"
CUT = "a process dies, or two meet, at a place in the middle of a step"
INSIDES = {
    "audit/test_audit_cancelled.py::test_an_audit_that_is_cancelled": THERE,
    "audit/test_audit_clean_sites.py::look_often": SMALL,
    "fetching/test_turns.py::test_429_halves_the_rate_and_good_answers_restore_it": SMALL,
    "fetching/test_turns.py::test_only_so_many_idle_hosts_are_remembered": SMALL,
    "laws/test_invariants.py::test_a_limit_between_two_layers": SMALL,
    "many/test_many.py::small_bounds": SMALL,
    "outputs/test_record_batches.py::test_no_entry_is_made_for_a_plain_row": "no object is made",
    "outputs/test_workbook.py::test_a_full_sheet_is_followed_by_another": SMALL,
    "reading/test_feedparser_fallback.py::stuck": "feedparser is never stuck by itself",
    "scale/scale_processes.py::die_at_write": CUT,
    "scale/test_partition.py::run_at_once": CUT,
    "scale/test_partition.py::test_an_attempt_ends_when_another_one_has_committed": CUT,
    "scale/test_runs.py::test_a_packed_state_is_checked": SMALL,
    "scale/test_storage.py::test_a_request_whose_response_is_lost_is_repeated": THERE,
    "shell/test_lists.py::test_time_for_each_site": SMALL,
    "slow/fuzz/properties.py::reads_alike": "three ways of reading are compared",
    "slow/test_fuzz.py::test_the_fuzzer_finds_what_is_wrong": "the package is broken on purpose",
    "state/test_file.py::test_a_full_disk": SMALL,
    "state/test_filters.py::small_chunks": SMALL,
    "state/test_publication.py::set_trap": CUT,
    "support/auditing.py::limit_memory": SMALL,
    "support/clock.py::PassingTime": "days of waiting",
    "support/launcher.py::shorten_waits": "seconds of waiting in hundreds of tests",
    "support/reading.py::pages_with": SMALL,
    "support/reading.py::read_with": SMALL,
    "support/reading.py::without_patterns": "two ways of reading are compared",
    "walking/test_host_breaker.py::test_a_host_that_asks_for_a_long_wait_holds_up_no_other": SMALL,
    "walking/test_states.py::ways": "no report has states",
    "walking/test_walk_filters.py::test_bytes_a_url": "tracing all memory takes ten times as long",
    "walking/test_walk_objects.py::test_a_child_is_few_objects_afterwards": SMALL,
}
"""Function of tests that patches the package, or uses what is private in it -> why it has to."""
FOREIGN = {
    "self",
    "cls",
    "os",
    "threading",
    "asyncio",
    "encodings",
    "ClientSession",
    "aiohttp.ClientSession",
}
"""Objects whose private names are not ours, though some of ours are called so."""


PATCHES = {"setattr", "object", "multiple"}
"""Last names of what patches: of `monkeypatch`, and of `mock.patch`."""


def list_private() -> set[str]:
    """List the private names that the package has."""
    texts = (path.read_text("utf-8") for path in package.paths().values())
    found = {name for text in texts for name in re.findall(r"\b_[A-Za-z]\w*", text)}
    return found - {"_asdict", "_replace"}


def touches_insides(function: ast.AST, ours: set[str], private: set[str]) -> bool:
    """Tell whether code patches one of our names, or uses a private one of another object."""
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in private:
            if getattr(node.value, "id", "") not in FOREIGN:
                return True
        elif isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            target = ast.unparse(node.args[0]) if name in PATCHES else ""
            if target.startswith("'sitemapreader.") or target.split(".")[0] in ours:
                return True
    return False


def test_few_tests_touch_insides() -> None:
    """Tests use the package as users do, but for a few functions that have a reason."""
    found, private = set(), list_private()
    for path in package.TESTS.rglob("*.py"):
        text = path.read_text("utf-8")
        if not re.search(r"setattr|patch\.|\w\._[A-Za-z]", text):
            continue  # parsing takes a second for all
        tree = ast.parse(text)
        ours = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and str(node.module).startswith("sitemapreader")
            for alias in node.names
        }
        found |= {
            f"{path.relative_to(package.TESTS).as_posix()}::{node.name}"
            for node in tree.body
            if isinstance(node, Function | ast.ClassDef)
            and touches_insides(node, ours, private)
        }
    assert found == INSIDES.keys()
    assert len(found) <= 30


def test_no_yield_inside_a_cancel_scope() -> None:
    """No generator yields inside a timeout or task group: its consumer would be cancelled.

    https://peps.python.org/pep-0789/
    """
    found = {name: yields_in_scopes(tree) for name, tree in package.modules().items()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_bugs_are_not_caught() -> None:
    """Nothing catches `Exception` and goes on as if it were data, but for `BARRIERS`."""
    found = {name: len(broad_excepts(tree)) for name, tree in package.modules().items()}
    assert {name: count for name, count in found.items() if count} == BARRIERS


def test_the_core_uses_what_it_is_built_on() -> None:
    """Five libraries are given: each is a dependency, and a module imports it."""
    project = tomllib.loads((package.ROOT / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    needed = {requirement.partition(">")[0] for requirement in project["dependencies"]}
    used = {
        each.partition(".")[0]
        for name in package.paths()
        for each in package.imports_of(name)
    }
    assert needed & used >= GIVEN


def test_every_test_says_what_it_proves() -> None:
    """Each test function has a docstring that begins with a sentence."""
    for path in TESTS:
        _, *tests = re.split(
            r"^(?:async )?def (?=test_)", path.read_text("utf-8"), flags=re.MULTILINE
        )
        assert tests, path.name
        for test in tests:
            signature, _, text = test.partition('    """')
            first = text.partition("\n")[0].removesuffix('"""')
            ending = signature.rstrip().splitlines()[-1]
            says = "-> None:" in ending and first.endswith((".", ":"))
            assert says, f"{path.name}: {test[:60]}"


def test_the_scans_see_what_they_look_for() -> None:
    """The two scans above find the faults in code that has them."""
    faulty = ast.parse(
        "async def f():\n"
        "    async with asyncio.timeout(1), other():\n"
        "        for x in y:\n"
        "            yield x\n"
        "        async def inner():\n"
        "            yield\n"
        "    try:\n"
        "        pass\n"
        "    except (ValueError, Exception):\n"
        "        pass\n"
        "    except:\n"
        "        pass\n"
        "    except BaseException:\n"
        "        clean_up()\n"
        "        raise\n"
    )
    assert yields_in_scopes(faulty) == [4]
    assert broad_excepts(faulty) == [9, 11]


@pytest.mark.parametrize(
    "address", [("192.0.2.1", 80), ("8.8.8.8", 53), ("2001:db8::1", 80, 0, 0)]
)
def test_no_test_reaches_beyond_this_machine(address: tuple[object, ...]) -> None:
    """A connection to an address that is not loopback is refused before it leaves."""
    family = socket.AF_INET6 if len(address) == 4 else socket.AF_INET
    with (
        socket.socket(family) as unbound,
        pytest.raises(RuntimeError, match="loopback only"),
    ):
        unbound.connect(address)
