"""Links of Atom and XHTML: which of them lead to the page itself, or to another version of it."""

from __future__ import annotations


def choose_link(links: list[dict[str, str]]) -> dict[str, str] | None:
    """Choose the link that has the URL of an Atom entry, given the attributes of its links."""
    found = [link for link in links if is_alternate(link) and link.get("href", "").strip()]
    html = [link for link in found if link.get("type", "text/html") == "text/html"]
    return (html or found)[0] if found else None


def is_alternate(link: dict[str, str]) -> bool:
    """Tell whether a link's `rel` says "alternate", as it does where there is none."""
    return is_alternate_relation(link.get("rel", "alternate"))


def is_alternate_relation(relation: str) -> bool:
    """Tell whether a `rel` says "alternate".

    RFC 4287, section 4.2.7.2: a relation may be written as an IRI.
    """
    return "alternate" in relation.lower().removeprefix(_RELATIONS).split()


_RELATIONS = "http://www.iana.org/assignments/relation/"
