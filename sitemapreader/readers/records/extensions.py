"""Extension elements of a record -> images, videos, news, alternates and extras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sitemapreader.issues import IssueCode
from sitemapreader.models import Alternate, Extra
from sitemapreader.readers.records.elements import has_name, make_extra, read_attributes
from sitemapreader.readers.records.feeds import is_alternate
from sitemapreader.readers.records.fields import EXTENSIONS, Extension, Field
from sitemapreader.readers.records.names import NO_NAME
from sitemapreader.readers.records.namespaces import ATOM, OWN, XHTML
from sitemapreader.urls import parse_reference

if TYPE_CHECKING:
    from collections import defaultdict
    from typing import TypeAlias
    from xml.etree.ElementTree import Element

    from sitemapreader.readers.records.context import RecordContext
    from sitemapreader.readers.records.names import Name

    Found: TypeAlias = defaultdict[str, list[Any]]
    """The values of a record, by the attribute of its entry."""

_LINK_KEYS = (XHTML, OWN, ATOM)


def add_extension(
    context: RecordContext, found: Found, name: Name, element: Element, url: str
) -> None:
    """Add the value of an element to `found`, under the name of its slot."""
    extension = EXTENSIONS.get(name.key)
    if extension and extension.tag == name.tag:
        value = _read_extension(context, found, extension, element, url)
        if value is None:
            return
        if extension.slot == "news" and "news" in found:
            context.add_issue(IssueCode.REPEATED_FIELD, element, url=url, value=name.local)
        found[extension.slot].append(value)
        return
    is_link = name.tag == "link" and name.key in _LINK_KEYS
    attributes = read_attributes(element) if is_link else {}
    if href := attributes.get("href", "").strip():
        _add_link(context, found, element, {**attributes, "href": href}, url)
        return
    if is_link and name.key == XHTML:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=f"<{name.local}>")
    _add_extra(context, found, element)


def _add_extra(context: RecordContext, found: Found, element: Element) -> None:
    for one in filter(has_name, element.iter()):
        context.names.count_extra(one.tag)
    found["extras"].append(make_extra(element))


def _add_link(
    context: RecordContext, found: Found, element: Element, attributes: dict[str, str], url: str
) -> None:
    href = attributes["href"]
    if not is_alternate(attributes):
        uri = context.names[element.tag].uri
        found["extras"].append(Extra(uri, attributes["rel"], href, dict(element.items())))
    elif parse_reference(href) is None:
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=href)
    else:
        link = Alternate(href, attributes.get("hreflang"), attributes.get("media"))
        found["alternates"].append(link)


def _read_extension(
    context: RecordContext, found: Found, extension: Extension, element: Element, url: str
) -> Any | None:
    names = context.names
    own = names[element.tag]
    values: dict[str, Any] = {}
    kept: set[Element] = set()
    for child in element.iter():
        name = names[child.tag]
        if child is element or name is NO_NAME:
            continue
        is_known = name.own or name.key == own.key
        field = extension.by_tag.get(name.tag) if is_known else None
        if field:
            _read_field(context, values, field, child, url)
        elif name.tag not in extension.containers and child not in kept:
            _add_extra(context, found, child)
            kept.update(child.iter())
    if extension.required and not values.get(extension.required):
        context.add_issue(IssueCode.EXTENSION, element, url=url, value=f"<{own.local}>")
        return None
    for field in extension.fields:
        if field.many and field.name in values:
            values[field.name] = tuple(values[field.name])
    return extension.make(**values)


def _read_field(
    context: RecordContext, values: dict[str, Any], field: Field, element: Element, url: str
) -> None:
    if field.attributes:
        attributes = read_attributes(element)
        for attribute, slot, parse in field.attributes:
            if attribute in attributes:
                values[slot] = parse(attributes[attribute])
                if values[slot] is None:
                    text = attributes[attribute]
                    context.add_issue(IssueCode.EXTENSION, element, url=url, value=text)
    if field.build:
        text = context.read_field(element, url, IssueCode.EXTENSION)
        value: Any = field.build(text, read_attributes(element)) if text else None
    else:
        value, _ = context.read_value(element, url, field.parse, IssueCode.EXTENSION)
    if value is None:
        return
    if field.many:
        values.setdefault(field.name, []).append(value)
        return
    if field.name in values:
        name = context.names[element.tag].local
        context.add_issue(IssueCode.REPEATED_FIELD, element, url=url, value=name)
    values[field.name] = value
