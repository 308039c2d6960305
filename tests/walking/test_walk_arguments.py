"""The arguments of `walk` and of its relatives: one list, shown in full, and short to read."""

from __future__ import annotations

import inspect
import pydoc
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import sitemapreader
from sitemapreader import (
    FetchOptions,
    HttpFetcher,
    discover,
    discover_sync,
    newest,
    newest_sync,
    walk,
    walk_sync,
)
from sitemapreader._walk.config import WalkArguments, WalkConfig

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_list_is_that_of_the_config() -> None:
    """`WalkArguments` has the names that a walk checks; all are documented."""
    listed = WalkArguments.__annotations__.keys()
    inner = {"site", "is_page", "gate", "reads", "base_url", "logins"}
    assert listed == attrs.fields_dict(WalkConfig).keys() - inner
    described = inspect.getdoc(walk) or ""  # Python 3.13 takes the indentation away
    for name in WalkArguments.__annotations__:
        assert f"\n    {name}: " in described


@pytest.mark.parametrize(
    ("blocking", "function"), [(discover_sync, discover), (newest_sync, newest)]
)
def test_what_blocks_has_the_same_signature(
    blocking: Callable[..., Any], function: Callable[..., Any]
) -> None:
    """`discover_sync` takes what `discover` takes, with a name and words of its own."""
    assert inspect.signature(blocking) == inspect.signature(function)
    assert blocking.__name__ == f"{function.__name__}_sync"
    assert f"Run `{function.__name__}` without" in (blocking.__doc__ or "")


@pytest.mark.parametrize("name", ["walk", "walk_sync", "to_dataframe", "read_batches"])
def test_relatives_take_that_list(name: str) -> None:
    """An editor sees the arguments of `walk`: the signature is not made at run time."""
    if "walk" not in name:
        pytest.importorskip("pandas", reason="no pandas: pip install .[pandas]")
    function: Callable[..., Any] = getattr(sitemapreader, name)
    assert not hasattr(function, "__signature__")
    assert not hasattr(function, "__wrapped__")
    passed = [*inspect.signature(function).parameters.values()][-1]
    assert (passed.kind, passed.annotation) == (
        passed.VAR_KEYWORD,
        "Unpack[WalkArguments]",
    )


@pytest.mark.parametrize("thing", [walk, walk_sync, discover, HttpFetcher.__init__])
def test_help_begins_with_a_readable_signature(thing: Callable[..., Any]) -> None:
    """No default is written out field by field: the options are named, their values are not."""
    signature = str(inspect.signature(thing))
    assert "raw_bytes" not in signature
    assert "user_agent" not in signature
    assert len(signature) < 1_070
    shown = pydoc.plain(pydoc.render_doc(thing))
    # Python 3.13 writes a long signature over several lines, with a comma behind the last argument.
    assert _squeeze(signature) in _squeeze(shown)


def _squeeze(text: str) -> str:
    return "".join(text.split()).replace(",)", ")")


def test_options_show_no_password() -> None:
    """Values of headers and the login at a proxy stay out of tracebacks and notebooks."""
    options = FetchOptions(
        headers={"Authorization": "Bearer hunter2"},
        proxy="http://me:hunter2@proxy.example:3128",
    )
    assert "hunter2" not in repr(options)
    assert "Authorization" in repr(options)
    assert "proxy.example:3128" in repr(options)
