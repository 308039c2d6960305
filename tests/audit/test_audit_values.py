"""Findings, facts and differences have types: nothing of a result is an unknown value."""

from __future__ import annotations

import json
from typing import Any, get_type_hints

import attrs
import pytest

from sitemapreader.audit import (
    AuditOptions,
    Difference,
    Facts,
    Finding,
    audit_sync,
    values,
)
from tests.support.auditing import NOW
from tests.support.golden import SITE

CLASSES = [
    each
    for each in vars(values).values()
    if isinstance(each, type) and attrs.has(each) and each.__module__ == values.__name__
]


@pytest.mark.cases(20)
@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_each_field_has_a_type(kind: type[attrs.AttrsInstance]) -> None:
    """A type checker knows each field, and its text in the docstring names it."""
    hints = get_type_hints(kind)
    for field in attrs.fields(kind):
        assert "Any" not in str(hints[field.name]), field.name
    assert {Finding, Facts, Difference} <= {*CLASSES}


def name_keys(value: Any) -> Any:
    """Return the names of a value's fields, however deep."""
    if attrs.has(type(value)):
        return {
            field.name: name_keys(getattr(value, field.name))
            for field in attrs.fields(type(value))
        }
    if isinstance(value, list):
        return [name_keys(each) for each in value]
    return None


def test_the_json_has_the_names_of_the_fields() -> None:
    """The JSON of an audit is its values, as they are written."""
    with audit_sync(SITE, figures=AuditOptions(now=NOW)) as result:
        written = json.loads(result.format("json"))
        assert written == {"schema": 1, **result.describe()}
        for key in ("findings", "facts"):
            described = result.describe()[key]
            assert type(described) in (dict, list)
            assert json.loads(json.dumps(described)) == written[key]
        assert [*written["facts"]] == [*name_keys(result.facts)]
        assert [[*each] for each in written["findings"]] == [
            [*each] for each in name_keys(result.findings)
        ]
        with pytest.raises(AttributeError):
            _ = result.findings[0].no_such_field  # type: ignore[attr-defined]
