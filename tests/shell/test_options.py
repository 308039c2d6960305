"""The options of the shell: each is understood, reaches the library, and is in docs/options.md."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import package
import pytest
from each_case import for_each

import sitemapreader
from sitemapreader import FetchOptions, Limits
from sitemapreader.cli.commands import COMMANDS
from sitemapreader.cli.config import RunConfig

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.cli.parser import Parser

PAGE = package.ROOT / "docs" / "options.md"
INTRODUCTION = """\
# Options of the shell

The options of `sitemapreader`, grouped by purpose. `sitemapreader COMMAND --help --all` shows
those of one command, and [the shell](shell.md) explains the most important ones.

| option | commands | what it does |
|---|---|---|
"""
MANY = {"--html-sitemap"}
"""Options without a value that make a list."""
LEAVING = {"--help", "--version"}
"""Options that print something and end the program; `test_leaving` has them."""

VALUES: dict[str, tuple[str, object]] = {
    "--input-file": ("sites.txt", ["sites.txt"]),
    "--base-url": ("https://a.example/", "https://a.example/"),
    "--since": ("2026-01-31", "2026-01-31 00:00:00+00:00"),
    "--until": ("2026-01", "2026-01-31 23:59:59.999999+00:00"),
    "--undated": ("drop", "drop"),
    "--number": ("3", 3),
    "--documents": ("9", 9),
    "--include": ("a", [re.compile("a")]),
    "--exclude": ("b", [re.compile("b")]),
    "--limit": ("3", 3),
    "--sample": ("3", 3),
    "--language": ("en,de", ("en", "de")),
    "--expand": ("alternates", "alternates"),
    "--count-by": ("folder", "folder"),
    "--seed": ("7", 7),
    "--state": ("site.db", "site.db"),
    "--pace": ("2.5", 2.5),
    "--for": ("8h", timedelta(hours=8)),
    "--kinds": ("new,changed", ("new", "changed")),
    "--revisit": ("3", 3),
    "--gone-pages": ("3", 3),
    "--plan": ("3", 3),
    "--fields": ("loc,title", ("loc", "title")),
    "--report": ("sites.csv", "sites.csv"),
    "--shard": ("3/16", (2, 16)),
    "--probe": ("few", "few"),
    "--map-host": ("a.example=b.example", [("a.example", "b.example")]),
    "--depth": ("3", 3),
    "--site-timeout": ("90", 90),
    "--max-time": ("90", timedelta(seconds=90)),
    "--order": ("newest", "newest"),
    "--hosts": ("any", "any"),
    "--follow": ("a", [re.compile("a")]),
    "--no-follow": ("b", [re.compile("b")]),
    "--concurrency": ("3", 3),
    "--parallel": ("3", 3),
    "--delay": ("0.5", 0.5),
    "--timeout": ("9", 9.0),
    "--proxy": ("proxy.example:3128", "http://proxy.example:3128"),
    "--user-agent": ("NewsBot/2.1", "NewsBot/2.1"),
    "--header": ("X-A: b", [("X-A", "b")]),
    "--user": ("me:secret", "me:secret"),
    "--allow-network": ("10.0.0.0/8", ["10.0.0.0/8"]),
    "--allow-port": ("8080", [8080]),
    "--urls": ("gsc.csv", "gsc.csv"),
    "--pages": ("400", 400),
    "--was": ("old.xml", "old.xml"),
    "--title": ("Our shop", "Our shop"),
    "--since-audit": ("last.duckdb", "last.duckdb"),
    "--select": ("url-*", ("url-*",)),
    "--ignore": ("hreflang,url-fragment", ("hreflang", "url-fragment")),
    "--fail-on": ("never", "never"),
    "--robots": ("Googlebot,Bingbot", ("Googlebot", "Bingbot")),
    "--rules": ("rules/", "rules/"),
    "--baseline": ("known.json", "known.json"),
    "--write-baseline": ("known.json", "known.json"),
    "--explain": ("url-fragment", "url-fragment"),
    "--examples": ("5", 5),
    "--hits": ("hits.csv", "hits.csv"),
    "--database": ("audit.duckdb", "audit.duckdb"),
    "--key-file": ("key.txt", "key.txt"),
    "--endpoint": ("https://a.example/now", "https://a.example/now"),
    "--scheduler": ("tls://10.0.0.5:8786", "tls://10.0.0.5:8786"),
    "--workers": ("3", 3),
}
"""Option that takes a value -> one as it is typed, and as a command gets it."""
DIFFERING: dict[str, dict[str, object]] = {
    "--format": {"discover": "jsonl", "tree": "json", "audit": "sarif", "compare": "json"},
    "--output": {"audit": ["urls.jsonl"]},
}
"""Options whose values depend on the command; others get jsonl and urls.jsonl."""

CONFIGURED: dict[str, tuple[str, object]] = {
    "--since 2026-01-31": ("walk since", "2026-01-31 00:00:00+00:00"),
    "--until 2026-01-31": ("walk until", "2026-01-31 23:59:59.999999+00:00"),
    "--undated drop": ("walk undated", "drop"),
    "--include a": ("walk include", [re.compile("a")]),
    "--exclude b": ("walk exclude", [re.compile("b")]),
    "--site-timeout 90": ("limits walk_seconds", 90),
    "--max-time 2h": ("walk max_time", timedelta(hours=2)),
    "--order newest": ("walk order", "newest"),
    "--language en,de": ("walk language", ("en", "de")),
    "--expand alternates": ("walk expand", "alternates"),
    "--sample 3": ("walk sample", 3),
    "--sample 3 --seed 7": ("walk seed", 7),
    "--hosts any": ("walk hosts", "any"),
    "--probe few": ("walk probe", "few"),
    "--feeds": ("walk feeds", True),
    "--map-host a.example=b.example": ("walk map_hosts", [("a.example", "b.example")]),
    "--html-sitemap": ("walk extra_formats", ["html"]),
    "--no-robots": ("walk respect_robots", False),
    "--state site.db": ("walk state", "site.db"),
    "--state site.db --changes": ("walk changes", True),
    "--state site.db --unique": ("walk unique", True),
    "--state site.db --changes --revisit 3": ("walk revisit", 3),
    "--depth 3": ("limits depth", 3),
    "--concurrency 3": ("options concurrency", 3),
    "--delay 0.5": ("options delay_seconds", 0.5),
    "--timeout 9": ("options total_seconds", 9.0),
    "--proxy http://proxy.example:3128": ("options proxy", "http://proxy.example:3128"),
    "--user-agent NewsBot": ("options user_agent", "NewsBot"),
    "--header X-A:b": ("options headers", {"X-A": "b"}),
    "--user me:secret": ("options headers", {"Authorization": "Basic bWU6c2VjcmV0"}),
    "--allow-network 10.0.0.0/8": ("options allow_networks", ("10.0.0.0/8",)),
    "--allow-port 8080": ("options allow_ports", (8080,)),
}
"""Options of `urls` -> where their value is in the `RunConfig`, and the value."""


def list_options(parser: Parser) -> Iterator[argparse.Action]:
    return (action for action in parser.list_actions() if action.option_strings)


CASES = [
    (name, flag, action.option_strings[-1], action)
    for name, command in COMMANDS.items()
    for action in list_options(command.make_parser())
    for flag in action.option_strings
    if action.option_strings[-1] not in LEAVING
]


OPERANDS = {
    **dict.fromkeys(("newest", "submit", "watch"), "a.example"),
    "mcp": "folder",
    "state": "site.db",
    "compare": "before.json after.json",
}
NEEDED = {
    "submit": "--state site.db --key-file key.txt",
    "watch": "--state site.db",
    "scale": "--output crawl",
}
"""Command -> operands, and options, without which it is wrong usage."""


def test_each_option_has_its_case() -> None:
    """No option with a value is removed, or added, without this table."""
    assert {long for *_, long, a in CASES if a.nargs != 0} == VALUES.keys() | DIFFERING.keys()


@for_each("name, flag, long, action", CASES)
def test_an_option_is_understood(name: str, flag: str, long: str, action: argparse.Action) -> None:
    """Each command gets the value of each of its options, written short or long."""
    typed, expected = VALUES.get(long, ("", action.const))
    if action.nargs == 0:
        expected = [expected] if long in MANY else expected
    elif long in DIFFERING:
        typed = "jsonl" if long == "--format" else "urls.jsonl"
        expected = DIFFERING[long].get(name, typed)
        typed = expected if isinstance(expected, str) else typed
    # of an option that is given twice, the last one counts
    words = [*NEEDED.get(name, "").split(), flag, *filter(None, [typed])]
    parsed = COMMANDS[name].make_parser().parse([*words, *OPERANDS.get(name, "").split()])
    value = getattr(parsed, action.dest)
    assert (str(value) if long in ("--since", "--until") else value) == expected


@for_each("words", CONFIGURED)
def test_an_option_reaches_the_library(words: str) -> None:
    """What a command passes to walks and fetchers has the value, and is the default without it."""
    place, expected = CONFIGURED[words]
    assert find(words, place) == expected
    default = find("", place)
    assert default != expected
    part, _, name = place.partition(" ")
    if part != "walk":
        assert default == getattr({"limits": Limits(), "options": FetchOptions()}[part], name)


def find(words: str, place: str) -> Any:
    """Return a part of the configuration that the words of a command line give."""
    parser = COMMANDS["urls"].make_parser()
    config = RunConfig.from_arguments(parser.parse([*words.split(), "a.example"]))
    part, _, name = place.partition(" ")
    found = getattr(config, part)
    value = found.get(name) if part == "walk" else getattr(found, name)
    return str(value) if name in ("since", "until") else value


@pytest.mark.parametrize("flag", ["-h", "--help", "--version"])
def test_leaving(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command shows its help and the version, and ends with 0."""
    for command in COMMANDS.values():
        with pytest.raises(SystemExit) as ending:
            command.make_parser().parse([flag])
        assert ending.value.code == 0
        shown = capsys.readouterr().out
        assert (sitemapreader.__version__ if flag == "--version" else "usage: ") in shown


def write_page() -> str:
    """Write the page of all options from the parsers."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, command in COMMANDS.items():
        for group in command.make_parser()._action_groups:
            for action in group._group_actions:
                if action.option_strings:
                    rows = groups.setdefault(str(group.title), {})
                    rows.setdefault((_write_flags(action), _write_help(action)), []).append(name)
    lines = []
    for title, rows in groups.items():
        lines.append(f"| **{title[0].upper()}{title[1:]}** | | |")
        for (flags, what), names in rows.items():
            commands = "all" if len(names) == len(COMMANDS) else ", ".join(names)
            lines.append(f"| {flags} | {commands} | {what} |")
    return INTRODUCTION + "".join(f"{line}\n" for line in lines)


def _write_flags(action: argparse.Action) -> str:
    value = "|".join(action.choices) if action.choices else action.metavar
    shown = f" {value}" if value and action.nargs != 0 else ""
    return ", ".join(f"`{flag}{shown}`" for flag in action.option_strings).replace("|", r"\|")


def _write_help(action: argparse.Action) -> str:
    text = (action.help or "").replace(sitemapreader.__version__, "VERSION")
    return re.sub(r"--[a-z][a-z-]*", r"`\g<0>`", text.replace("|", r"\|").replace("*", r"\*"))


def test_the_page_is_made_from_the_parsers(*, regenerate: bool) -> None:
    """docs/options.md has every option of every command."""
    if regenerate:
        PAGE.write_text(write_page(), encoding="utf-8", newline="\n")
    assert PAGE.read_text(encoding="utf-8") == write_page()
