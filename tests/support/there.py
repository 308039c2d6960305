"""A value that a test knows to be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def known(value: T | None) -> T:
    """Return a value that is not `None`."""
    assert value is not None
    return value
