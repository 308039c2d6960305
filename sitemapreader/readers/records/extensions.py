"""The elements of extensions in a record's tree -> images, videos, news, alternates and extras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.issues import IssueCode
from sitemapreader.models import Alternate, Extra
from sitemapreader.readers.locs import parse_reference
from sitemapreader.readers.records.feeds import is_alternate
from sitemapreader.readers.records.fields import EXTENSIONS, Extension, Field
from sitemapreader.readers.records.namespaces import ATOM, OWN, XHTML

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from sitemapreader.readers.elements import Element
    from sitemapreader.readers.records.context import RecordContext

_EXTENSIONS = {(extension.key, extension.tag): extension for extension in EXTENSIONS}
_LINKS = frozenset({(XHTML, "link"), (OWN, "link"), (ATOM, "link")})


def add_extension(
    context: RecordContext, found: dict[str, list[Any]], element: Element, url: str
) -> Iterator[None]:
    """Add what an element of a record stands for to `found`, under the name of its slot."""
    extension = _EXTENSIONS.get((element.key, element.tag))
    if extension:
        value = yield from _read_extension(context, found, extension, element, url)
        if value is None:
            return
        if extension.slot == "news" and "news" in found:
            context.note(IssueCode.REPEATED_FIELD, element, url=url, value=element.name)
        _add(found, extension.slot, value)
    elif (element.key, element.tag) in _LINKS and element.attributes.get("href"):
        _add_link(context, found, element, url)
    else:
        if (element.key, element.tag) == (XHTML, "link"):
            context.note(IssueCode.EXTENSION, element, url=url, value=f"<{element.name}>")
        _add(found, "extras", *map(_make_extra, (element, *element.walk())))


def _add(found: dict[str, list[Any]], slot: str, *values: Any) -> None:
    found.setdefault(slot, []).extend(values)


def _make_extra(element: Element) -> Extra:
    return Extra(element.uri, element.name, element.own_text)


def _add_link(
    context: RecordContext, found: dict[str, list[Any]], element: Element, url: str
) -> None:
    attributes = element.attributes
    if is_alternate(attributes):
        if parse_reference(attributes["href"]) is None:
            context.note(IssueCode.EXTENSION, element, url=url, value=attributes["href"])
            return
        link = Alternate(attributes["href"], attributes.get("hreflang"), attributes.get("media"))
        _add(found, "alternates", link)
    else:
        _add(found, "extras", Extra(element.uri, attributes["rel"], attributes["href"]))


def _read_extension(
    context: RecordContext,
    found: dict[str, list[Any]],
    extension: Extension,
    element: Element,
    url: str,
) -> Generator[None, None, Any | None]:
    by_tag = {field.tag: field for field in extension.fields}
    values: dict[str, Any] = {}
    for child in element.walk():
        yield
        field = by_tag.get(child.tag) if child.key in (extension.key, OWN) else None
        if field:
            _read_field(context, values, field, child, url)
        elif child.tag not in extension.containers:
            _add(found, "extras", _make_extra(child))
    if extension.required and not values.get(extension.required):
        context.note(IssueCode.EXTENSION, element, url=url, value=f"<{element.name}>")
        return None
    for field in extension.fields:
        if field.many and field.name in values:
            values[field.name] = tuple(values[field.name])
    return extension.make(**values)


def _read_field(
    context: RecordContext, values: dict[str, Any], field: Field, element: Element, url: str
) -> None:
    for attribute, slot, parse in field.attributes:
        if attribute in element.attributes:
            text = element.attributes[attribute]
            values[slot] = parse(text)
            if values[slot] is None:
                context.note(IssueCode.EXTENSION, element, url=url, value=text)
    if field.build:
        text = context.field_text(element, url, IssueCode.EXTENSION)
        value: Any = field.build(element) if text else None
    else:
        value = context.read_value(element, url, field.parse, IssueCode.EXTENSION)
    if value is None:
        return
    if field.many:
        values.setdefault(field.name, []).append(value)
        return
    if field.name in values:
        context.note(IssueCode.REPEATED_FIELD, element, url=url, value=element.name)
    values[field.name] = value
