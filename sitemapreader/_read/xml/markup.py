"""Characters, references and tags: the ones that XML allows, and repairs of others."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from html.entities import html5
from itertools import islice, repeat
from typing import TYPE_CHECKING
from xml.parsers import expat

from sitemapreader._read.vocabulary import MAX_NAMESPACE_CHARS
from sitemapreader._types.issues import IssueCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_XML = {"lt": "<", "gt": ">", "quot": '"', "apos": "'", "amp": "&"}
_REPLACEMENT = "\ufffd"

ATTRIBUTES = r"""[^<>"']*+(?>(?:(?:"[^"<]*+"|'[^'<]*+')[^<>"']*+)*)"""
"""Everything between the name of a tag and its `>`, if all quotes are closed."""
COMMENT_START = "<!--"
COMMENT_END = "-->"
SECTION_START = "<![CDATA["
SECTION_END = "]]>"
CLOSINGS = {COMMENT_START: COMMENT_END, "<?": "?>", SECTION_START: SECTION_END}
"""Markup that holds no elements: how it begins, how it ends."""
HIDDEN = r"(?s:<(?:!--.*?(?:-->|\Z)|!\[CDATA\[.*?(?:\]\]>|\Z)|\?.*?(?:\?>|\Z)))"
"""The same from left to right, each up to the end of the text if nothing closes it.

So time is linear: what begins inside of another, or is not closed, is not searched for again.
"""

# -- well-formed text

_CONTENT = r"[^\]]*+(?>(?=\]\]>)|(?:\](?!\]>)[^\]]*+)*)"  # a set would take three times as long
SECTION = rf"<!\[CDATA\[{_CONTENT}\]\]>"
COMMENT = "<!--[^-]*+(?>(?:-(?!-)[^-]*+)*)-->"
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# Spaces apart, because one character is found three times as fast as a set
BLANKS = re.compile(r" *+[ \t\r\n]*+")
_SECTION = re.compile(rf"<!\[CDATA\[({_CONTENT})(?:\]\]>|\Z)")
_IN_LINES = bytes(code for code in range(256) if code >= 32 or code in b"\t\r")
"""The bytes of characters that XML allows, but for the ends of lines."""
_DIGITS = (
    "#(?:3[2-9]|[4-9][0-9]|1[016-9][0-9]|[2-9][0-9]{2}|[1-9][0-9]{3}"
    "|x[2-6A-Fa-f][0-9A-Fa-f]|x[1-9A-Fa-f][0-9A-Fa-f]{2}|x[1-9A-Ca-c][0-9A-Fa-f]{3})"
)
"""Common references to characters; not to characters that XML lacks."""
_HIGH = (
    "#0*(?:55(?:29[6-9]|[3-9][0-9]{2})|56(?:[0-2][0-9]{2}|3[01][0-9]))"
    "|#[xX]0*[dD][89aAbB][0-9a-fA-F]{2}"
)
_LOW = (
    "#0*(?:56(?:3[2-9][0-9]|[4-9][0-9]{2})|57(?:[0-2][0-9]{2}|3[0-3][0-9]|34[0-3]))"
    "|#[xX]0*[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""References to the two halves of a character in UTF-16: JavaScript writes a character beyond
U+FFFF so where it is escaped by halves."""
_BEHIND_AMPERSAND = (
    rf"(?:(?P<high>{_HIGH});&(?P<low>{_LOW});"
    r"|#(?:0*(?P<decimal>[0-9]{1,8})|[xX]0*(?P<hex>[0-9a-fA-F]{1,7}));"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]{1,31});)?"
)
ODD_REFERENCE = re.compile(rf"&(?!(?:{'|'.join(_XML)}|{_DIGITS});){_BEHIND_AMPERSAND}")
"""A rare reference, one that XML does not know, or a bare `&`."""
_HIDDEN_OR_REFERENCE = re.compile(rf"{HIDDEN}|{ODD_REFERENCE.pattern}", re.DOTALL)
_SOUND_REFERENCE = re.compile("&([^;&]++);")
_MANY_TAGS = 40_000
_ODD_CHARACTERS = (_REPLACEMENT, "\ufffe", "\uffff")


def count_sound_lines(text: str) -> int | None:
    """Return the number of line ends; `None` if not all characters are XML's (section 2.2).

    The character for lost ones is a reason to look closer.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:  # a byte that was not UTF-8
        return None
    left = data.translate(None, _IN_LINES)
    lines = left.count(b"\n")
    if lines < len(left):
        return None
    if not text.isascii() and any(odd in text for odd in _ODD_CHARACTERS):
        return None
    return lines


def are_closed(outside: str) -> bool:
    """Return whether sections were closed, by the text outside of them."""
    # one character is found ten times as fast as three
    return not (
        ("[" in outside and SECTION_START in outside)
        or ("]" in outside and SECTION_END in outside)
    )


def cut_sections(text: str) -> str:
    """Return a text without its sections; all of it, if one begins in another."""
    if "[" not in text:
        return text
    before, *sections = text.split(SECTION_START)
    parts = [section.partition(SECTION_END) for section in sections]
    if not all(end for _, end, _ in parts):
        return text
    return "".join([before, *(behind for *_, behind in parts)])


def has_open_section(text: str) -> bool:
    """Return whether a CDATA section begins before the one before it ends."""
    _, *sections = text.split(SECTION_START)
    return not all(map(str.__contains__, sections, repeat(SECTION_END)))


def find_odd_references(texts: Sequence[str]) -> list[int]:
    """Find the places of sound texts that have a rare reference or a bare `&`."""
    outside = cut_sections("\0".join(texts))
    if not has_odd_reference(outside):
        return []
    places = enumerate(outside.split("\0"))
    return [place for place, text in places if has_odd_reference(text)]


def has_odd_reference(text: str) -> bool:
    """Return whether there is a rare reference or a bare `&` in a text without sections."""
    # one character is found a hundred times as fast
    return "&" in text and ODD_REFERENCE.search(text) is not None


def find_coded(texts: Sequence[str]) -> list[int]:
    """Find the places of texts that may have a reference, or the beginning or end of a section."""
    joined = "\0".join(texts)  # a character that no text of XML has
    if "&" not in joined and "[" not in joined and "]" not in joined:
        return []
    return [
        place
        for place, text in enumerate(texts)
        if "&" in text or "[" in text or "]" in text
    ]


def decode_texts(texts: list[str], places: Sequence[int]) -> None:
    """Decode sound texts at these places, without odd references."""
    coded = "\0".join([texts[place] for place in places])
    pieces = _SECTION.split(coded) if "<" in coded else [coded]
    # every other one is what a section holds
    pieces[::2] = map(_resolve_sound, pieces[::2])
    for place, text in zip(places, "".join(pieces).split("\0"), strict=True):
        texts[place] = text


def _resolve_sound(text: str) -> str:
    if "&" not in text:
        return text
    pieces = _SOUND_REFERENCE.split(text)  # every second one is the name of a reference
    pieces[1::2] = map(_CHARACTERS.__getitem__, pieces[1::2])
    return "".join(pieces)


class _Characters(dict[str, str]):
    """Name of a sound reference -> its character."""

    def __missing__(self, name: str) -> str:
        return chr(int(name[1:].replace("x", "0x"), 0))


_CHARACTERS = _Characters(_XML)


def is_well_formed(text: str, *, in_namespaces: bool = True) -> bool:
    """Return whether a text is a well-formed document.

    A DOCTYPE may stand behind its first tag only, where it is none. Of very many tags, it is.
    """
    # SECURITY: a parser takes 160 bytes for each that is open
    if text.count("<") > _MANY_TAGS:
        return True
    try:
        # The separator must be a character that no namespace may have
        parser = expat.ParserCreate(namespace_separator="\1" if in_namespaces else None)
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError):  # ValueError: a byte that is not UTF-8
        return False
    return True


def pass_nothing(text: str, position: int) -> int:
    """Return where blanks and well-formed comments end that begin at a place."""
    # SECURITY: an expression would keep a state for each hyphen of a long comment
    while blanks := BLANKS.match(text, position):
        position = blanks.end()
        if not text.startswith(COMMENT_START, position):
            return position
        end = text.find("--", position + len(COMMENT_START))
        is_comment = end >= 0 and text.startswith(COMMENT_END, end)
        if not is_comment or ILLEGAL.search(text, position, end):
            return position
        position = end + len(COMMENT_END)
    return position


# -- broken text

_ANY_REFERENCE = re.compile(f"&{_BEHIND_AMPERSAND}")
# XML 1.0, section 2.2: what a document may not contain, not even as a reference
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NONCHARACTER = re.compile("[\ufffe\uffff]")
"""No character: what was meant by one is unknown."""


def unescape(text: str, repairs: set[IssueCode]) -> str:
    """Resolve the references of XML and of HTML; keep a bare `&`.

    Control characters are removed. The codes of what was repaired are added to `repairs`.
    """
    text = remove_controls(text, repairs)
    if ODD_REFERENCE.search(text):
        return _ANY_REFERENCE.sub(partial(resolve_reference, repairs), text)
    return _resolve_sound(text)


def _read_code(number: str) -> int:
    """Read the number of a reference, `#55356` or `#xD83C`."""
    digits = number[1:].lower()
    if digits[0] == "x":
        return int(digits[1:], 16)
    return int(digits)


def resolve_reference(repairs: set[IssueCode], match: re.Match[str]) -> str:
    """Resolve a reference of XML or of HTML; keep a bare `&`."""
    if match["high"]:
        repairs.add(IssueCode.NOT_WELL_FORMED)
        high = _read_code(match["high"])
        low = _read_code(match["low"])
        return chr(0x10000 + (high - 0xD800) * 0x400 + low - 0xDC00)
    if name := match["name"]:
        if name in _XML:
            return _XML[name]
        if f"{name};" in html5:
            repairs.add(IssueCode.HTML_ENTITY)
            return html5[f"{name};"]
    elif match["decimal"] or match["hex"]:
        if match["decimal"]:
            code = int(match["decimal"])
        else:
            code = int(match["hex"], 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return _REPLACEMENT
        one = chr(code)
        if one.isprintable():
            return one
        return remove_controls(one, repairs)
    repairs.add(IssueCode.BARE_AMPERSAND)
    return match[0]


def mend_references(text: str, repairs: set[IssueCode]) -> str:
    """Write references that XML lacks, and each bare `&`, as it knows them.

    A reference to no character stays. So does one whose removal could join two parts of a tag.
    """

    def write(match: re.Match[str]) -> str:
        if match[0][0] == "<":
            return match[0]
        said = resolve_reference(repairs, match).replace(_REPLACEMENT, "")
        return "".join(f"&#{ord(one)};" for one in said) or match[0]

    return _HIDDEN_OR_REFERENCE.sub(write, text)


def remove_controls(text: str, repairs: set[IssueCode]) -> str:
    """Remove control characters that XML forbids, and replace noncharacters."""
    clean = _CONTROL.sub("", text)
    if len(clean) != len(text):
        repairs.add(IssueCode.CONTROL_CHARACTER)
    return _NONCHARACTER.sub(_REPLACEMENT, clean)


def replace_bad_bytes(text: str) -> str:
    """Replace bytes that were not UTF-8 by the replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


# -- tags

_XML_ATTRIBUTE = re.compile(
    r"""(?<![^\s=/>"'])([^\s=/>"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
)
_NAMESPACE_PREFIX = re.compile(r"xmlns(?::(?!xml(?:ns)?\Z)([^\W\d][\w.\xb7-]*+))?")
NORMAL_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")
"""XML 1.0, section 3.3.3: how blanks in an attribute's value are read."""
_RESERVED_URIS = (
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
)
"""Namespaces in XML, section 3: no other prefix may be bound to them, which no parser takes."""


@lru_cache(maxsize=16)
def write_tag_pattern(records: frozenset[str]) -> re.Pattern[str]:
    """Write the pattern of how a record's tags begin."""
    return re.compile(rf"</?{write_name(records)}(?=[\s/>])")


def write_name(records: frozenset[str]) -> str:
    """Write the pattern of a record's name."""
    return rf"(?:[\w.\xb7-]++:)?(?ai:{'|'.join(map(re.escape, sorted(records)))})"


def expand_name(uri: str, local: str) -> str:
    """Write a name as `{uri}local`."""
    return f"{{{uri}}}{local}" if uri else local


def parse_attributes(
    text: str,
    repairs: set[IssueCode],
    limit: int,
) -> dict[str, str]:
    """Read the attributes of a tag, quoted or not; of a repeated one, the first.

    No more than one past the limit: that tells that it is broken, and more is not needed.
    """
    attributes: dict[str, str] = {}
    for match in islice(_XML_ATTRIBUTE.finditer(text), limit + 1):
        name, double, single, bare = match.groups("")
        if bare or name in attributes:
            repairs.add(IssueCode.NOT_WELL_FORMED)
        value = double or single or bare
        attributes.setdefault(name, unescape(value.translate(NORMAL_BLANKS), repairs))
    return attributes


def find_namespaces(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the namespaces that a tag's attributes declare, by their prefixes."""
    bound = {}
    for name, value in attributes.items():
        if (match := _NAMESPACE_PREFIX.fullmatch(name)) and value not in _RESERVED_URIS:
            # SECURITY: the name of each element is made with its namespace
            uri = value[: MAX_NAMESPACE_CHARS + 1]
            prefix = match[1] or ""
            if not prefix or (
                uri and (prefix.isascii() or is_well_formed(f"<{prefix}/>"))
            ):
                bound[prefix] = uri.replace("}", "%7D")  # which ends it there
    return bound
