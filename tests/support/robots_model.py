"""A model of RFC 9309, written from its text alone, and random files and paths to ask it about.

It is slow and plain on purpose. It knows what the grammar of section 2.2 knows, and nothing of the
misspellings and additions that the package reads besides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from random import Random

UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
RESERVED = ":/?#[]@!$&'()*+,;="
"""RFC 3986, sections 2.2 and 2.3."""
ANYTHING, END = "anything", "end"


@attrs.define
class Group:
    """A group: its product tokens, and its rules as (field, path)."""

    tokens: list[str] = attrs.field(factory=list)
    rules: list[tuple[str, str]] = attrs.field(factory=list)


def read_groups(data: bytes) -> list[Group]:
    """Read a file by the grammar (section 2.2); lines that it does not have are ignored."""
    groups: list[Group] = []
    for line in re.split("\r\n|\r|\n", data.decode("utf-8-sig")):
        match = re.fullmatch(
            r"[ \t]*(user-agent|allow|disallow)[ \t]*:[ \t]*([^ \t#]*)[ \t]*(?:#.*)?",
            line,
            re.IGNORECASE,
        )
        if not match:
            continue
        field, value = match[1].lower(), match[2]
        if field == "user-agent":
            if not groups or groups[-1].rules:
                groups.append(Group())
            groups[-1].tokens.append(value.lower())
        elif groups:  # 2.2.2: rules that are in no group are ignored
            groups[-1].rules.append((field, value))
    return groups


def find_rules(groups: list[Group], token: str) -> list[tuple[str, str]]:
    """Return the rules for a robot (section 2.2.1): groups of one token are combined."""
    for wanted in (token.lower(), "*"):
        found = [group for group in groups if wanted in group.tokens]
        if found:
            return [rule for group in found for rule in group.rules]
    return []


def list_octets(text: str, *, is_rule: bool) -> list[str]:
    """Write a path as the octets that are compared (sections 2.2.2 and 2.2.3).

    A `%` without two digits is no escape, and a URL cannot have it, so it is escaped. At the end of
    a rule, or before a star, it may be the beginning of one.
    """
    found: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if re.fullmatch("%[0-9A-Fa-f]{2}", text[position : position + 3]):
            octet = int(text[position + 1 : position + 3], 16)
            is_read = chr(octet) in UNRESERVED
            found += chr(octet) if is_read else f"%{octet:02X}"
            position += 3
            continue
        if is_rule and character == "*":
            found.append(ANYTHING)
        elif is_rule and character == "$" and position == len(text) - 1:
            found.append(END)
        elif is_rule and (
            half := re.match(r"(%[0-9A-Fa-f]?)(?:\*|\Z)", text[position:])
        ):
            found += half[1].upper()
            position += len(half[1]) - 1
        elif character in "*$" or character not in UNRESERVED + RESERVED:
            found += "".join(f"%{octet:02X}" for octet in character.encode())
        else:
            found.append(character)
        position += 1
    return found


def is_match(rule: str, path: str) -> bool:
    """Return whether a rule matches a path: all places are kept that its beginning may end at."""
    octets, places = list_octets(path, is_rule=False), {0}
    for each in list_octets(rule, is_rule=True):
        if each == ANYTHING:
            places = set(range(min(places), len(octets) + 1)) if places else places
        elif each == END:
            places &= {len(octets)}
        else:
            places = {at + 1 for at in places if octets[at : at + 1] == [each]}
    return bool(places)


def is_allowed(groups: list[Group], token: str, path: str) -> bool:
    """Return whether a robot may fetch a path (section 2.2.2)."""
    if path.partition("?")[0] == "/robots.txt":
        return True
    found = [
        (len(rule.encode()), field == "allow")
        for field, rule in find_rules(groups, token)
        if rule.startswith(("/", "*")) and is_match(rule, path)
    ]
    return max(found, default=(0, True))[1]


# -- random files and paths

TOKENS = ("alpha", "beta-bot", "gamma_x", "delta")
PLAIN = ("a", "b", "ab", "shop", "/", "/", ".", "-", "=", "index", "~u")
"""Pieces that all parsers read alike."""
ODD = (
    *("?", "&", "+", ":", "@", ";", ",", "!", "(", "'", "[", "|", '"', "<"),
    *("%3F", "%26", "%2B", "%2F", "%2f", "%3A", "%25", "%20", "%00", "%ff"),
    *("%61", "%62", "%7E", "%2D", "%2A", "%24", "%2a", "%", "%4", "%zz"),
    *("é", "%C3%A9", "%c3%a9", "ツ", "%E3%83%84", "$", "$a"),
)
OTHER_LINES = (
    "Sitemap: https://x.example/s.xml",
    "Host: x.example",
    "Noindex: /",
    "# a comment",
)
LINE_ENDS = ("\n", "\r\n", "\r")


@attrs.define
class Sampler:
    """Random files and paths.

    Args:
        random: where they come from.
        is_plain: True for pieces that all parsers read alike.
    """

    random: Random
    is_plain: bool = False

    def make_path(self) -> str:
        """Make the path of a rule, with stars, and perhaps with an end."""
        pieces = PLAIN if self.is_plain else (*PLAIN, *self.random.sample(ODD, 6))
        chosen = self.random.choices((*pieces, "*"), k=self.random.randint(0, 6))
        start = self.random.choice(("/", "/", "/", "/*", "*"))
        return start + "".join(chosen) + self.random.choice(("", "", "", "$", "*"))

    def make_file(self) -> tuple[bytes, list[str]]:
        """Make a file; return it and the paths of its rules."""
        random, paths, lines = self.random, [], []
        for _ in range(random.randint(1, 4)):
            for token in random.sample((*TOKENS, "*"), random.randint(1, 2)):
                lines += [self._write("User-agent", token), *self._write_others()]
            for _ in range(random.choice((*range(6),) * 20 + (150,))):
                path = self.make_path() if random.random() < 0.95 else ""
                paths.append(path)
                field = random.choice(("Allow", "Disallow"))
                lines += [self._write(field, path), *self._write_others()]
        end = random.choice(LINE_ENDS)
        text = end.join(lines) + random.choice(("", end))
        return random.choice(("", "\ufeff")).encode() + text.encode(), paths

    def _write(self, field: str, value: str) -> str:
        random = self.random
        field = random.choice((field, field.lower(), field.upper()))
        blank, comment = (
            random.choice(("", " ", "\t")),
            random.choice(("", "", " # why", "#why")),
        )
        return f"{blank}{field}{blank}:{random.choice(('', ' '))}{value}{comment}"

    def _write_others(self) -> list[str]:
        is_there = not self.is_plain and self.random.random() < 0.2
        return [self.random.choice((*OTHER_LINES, "", "   "))] if is_there else []

    def make_url_path(self, paths: list[str]) -> str:
        """Make the path of a URL that one of the rules may match, in this or another spelling."""
        rule = self.random.choice(paths or ["/"])
        path = ""
        for character in rule.removesuffix("$"):
            path += (
                "".join(self.random.choices(PLAIN, k=1))
                if character == "*"
                else character
            )
        if self.random.random() < 0.4:
            path += "".join(self.random.choices(PLAIN if self.is_plain else ODD, k=1))
        if not self.is_plain and self.random.random() < 0.3:
            path = "".join(map(self._respell, path))
        path = "/" + path.lstrip("/")
        return path.replace("#", "")

    def _respell(self, character: str) -> str:
        if character == "%" or self.random.random() < 0.7:
            return character
        return "".join(f"%{octet:02x}" for octet in character.encode())
