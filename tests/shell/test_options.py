"""The options of the shell: each is understood, reaches the library, and is in docs/options.md."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sitemapreader
from sitemapreader import FetchOptions, Follow, Limits, Sample, Search
from sitemapreader._cli import types
from sitemapreader._cli.commands import COMMANDS
from sitemapreader._cli.config import make_keywords
from tests.support import package

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader._cli.parser import Parser

PAGE = package.ROOT / "docs" / "options.md"
INTRODUCTION = """\
# Options of the shell

The options of `sitemapreader`, grouped by purpose. `sitemapreader COMMAND --help --all` shows
those of one command, and [the shell](shell.md) explains the most important ones.

| option | commands | what it does |
|---|---|---|
"""
LEAVING = {"--help", "--version"}
"""Options that print something and end the program; `test_leaving` has them."""

TYPED: dict[Any, tuple[str, object]] = {
    None: ("some text", "some text"),
    int: ("7", 7),
    types.parse_since_option: ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
    types.parse_until_option: (
        "2026-01",
        datetime(2026, 1, 31, 23, 59, 59, 999_999, UTC),
    ),
    types.parse_duration: ("8h", timedelta(hours=8)),
    types.parse_patience: ("12h", timedelta(hours=12)),
    types.parse_pattern: ("a+", re.compile("a+")),
    types.parse_whole_number: ("3", 3),
    types.parse_depth: ("3", 3),
    types.parse_seconds: ("2.5", 2.5),
    types.parse_delay: ("0", 0.0),
    types.parse_pages: ("400", 400),
    types.parse_shard: ("3/16", (2, 16)),
    types.parse_ports: ("8080", 8080),
    types.parse_header: ("X-A: b", ("X-A", "b")),
    types.parse_pair: ("a.example=b.example", ("a.example", "b.example")),
    types.parse_proxy: ("proxy.example:3128", "http://proxy.example:3128"),
    types.parse_base_url: ("https://a.example/", "https://a.example/"),
    types.parse_file: ("urls.jsonl", "urls.jsonl"),
    types.parse_fields: ("loc, title", ("loc", "title")),
    types.parse_reasons: ("template, dns", ("template", "dns")),
}
"""Type of a value -> one as it is typed, and as a command gets it."""

CONFIGURED: dict[str, tuple[str, object]] = {
    "--since 2026-01-31": ("walk since", "2026-01-31 00:00:00+00:00"),
    "--until 2026-01-31": ("walk until", "2026-01-31 23:59:59.999999+00:00"),
    "--since 7d --undated drop": ("walk undated", "drop"),
    "--include a": ("walk include", [re.compile("a")]),
    "--exclude b": ("walk exclude", [re.compile("b")]),
    "--site-timeout 90": ("limits walk_seconds", 90),
    "--max-time 2h": ("limits max_time", timedelta(hours=2)),
    "--order newest": ("follow order", "newest"),
    "--language en,de": ("walk language", ("en", "de")),
    "--sample 3": ("walk sample", Sample(3)),
    "--sample 3 --seed 7": ("walk sample", Sample(3, 7)),
    "--hosts any": ("follow hosts", "any"),
    "--probe few": ("search probe", "few"),
    "--feeds": ("search feeds", True),
    "--map-host a.example=b.example": (
        "options map_hosts",
        (("a.example", "b.example"),),
    ),
    "--html-sitemap": ("search extra_formats", {"html"}),
    "--no-robots": ("options respect_robots", False),
    "--state site.db": ("walk state", Path("site.db")),
    "--state site.db --changes": ("state state", "site.db"),
    "--state site.db --unique": ("walk unique", True),
    "--state site.db --changes --revisit 3": ("state revisit", 3),
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
    "--allow-port 8000-8002 --allow-port 9": (
        "options allow_ports",
        (8000, 8001, 8002, 9),
    ),
}
"""Options of `urls` -> where their value is in the keywords of `walk`, and the value."""


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
    "identity": "crawler.pem",
    "why": "https://a.example/",
}
NEEDED = {
    "submit": "--state site.db --key-file key.txt",
    "watch": "--state site.db",
    "scale": "--output crawl",
}
"""Command -> operands, and options, without which it is wrong usage."""


def test_an_option_is_understood(subtests: pytest.Subtests) -> None:
    """Each command gets the value of each of its options, written short or long."""
    for name, flag, long, action in CASES:
        with subtests.test(name=name):
            typed, expected = (
                TYPED[action.type] if action.nargs != 0 else ("", action.const)
            )
            if action.choices:
                typed, expected = list(action.choices)[-1:] * 2
            # of an option that is given twice, the last one counts
            words = [*NEEDED.get(name, "").split(), flag, *filter(None, [typed])]
            parsed = (
                COMMANDS[name]
                .make_parser()
                .parse([*words, *OPERANDS.get(name, "").split()])
            )
            value = getattr(parsed, action.dest)
            assert value == ([expected] if isinstance(value, list) else expected), long


DEFAULTS: dict[str, Any] = {
    "search": Search(),
    "follow": Follow(),
    "limits": Limits(),
    "options": FetchOptions(),
}


@pytest.mark.cases(31)
@pytest.mark.parametrize("words", CONFIGURED)
def test_an_option_reaches_the_library(words: str) -> None:
    """What a command passes to walks and fetchers has the value, and is the default without it."""
    place, expected = CONFIGURED[words]
    assert find(words, place) == expected
    part, _, name = place.partition(" ")
    if part == "state":
        return
    default = find("", place)
    assert default != expected
    if part != "walk":
        assert default == getattr(DEFAULTS[part], name)


def find(words: str, place: str) -> Any:
    """Return a part of the configuration that the words of a command line give."""
    parser = COMMANDS["urls"].make_parser()
    keywords = make_keywords(parser.parse([*words.split(), "a.example"]))
    part, _, name = place.partition(" ")
    value = keywords.get(name) if part == "walk" else getattr(keywords[part], name)
    return str(value) if name in ("since", "until") else value


def test_until_a_time() -> None:
    """`--until 7d` ends at the moment at which `--since 7d` begins; a day, when it is over."""
    assert types.parse_until_option("7d") - types.parse_since_option("7d") < timedelta(
        minutes=1
    )
    assert (
        types.parse_until_option("2026-01-31").isoformat()
        == "2026-01-31T23:59:59.999999+00:00"
    )


@pytest.mark.parametrize("flag", ["-h", "--help", "--version"])
def test_leaving(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command shows its help and the version, and ends with 0."""
    for command in COMMANDS.values():
        with pytest.raises(SystemExit) as ending:
            command.make_parser().parse([flag])
        assert ending.value.code == 0
        shown = capsys.readouterr().out
        assert (
            sitemapreader.__version__ if flag == "--version" else "usage: "
        ) in shown


def write_page() -> str:
    """Write the page of all options from the parsers."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, command in COMMANDS.items():
        for group in command.make_parser()._action_groups:
            for action in group._group_actions:
                if action.option_strings:
                    rows = groups.setdefault(str(group.title), {})
                    rows.setdefault(
                        (_write_flags(action), _write_help(action)), []
                    ).append(name)
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
    return ", ".join(f"`{flag}{shown}`" for flag in action.option_strings).replace(
        "|", r"\|"
    )


def _write_help(action: argparse.Action) -> str:
    text = (action.help or "").replace(sitemapreader.__version__, "VERSION")
    return re.sub(
        r"--[a-z][a-z-]*", r"`\g<0>`", text.replace("|", r"\|").replace("*", r"\*")
    )


def test_the_page_is_made_from_the_parsers(*, regenerate: bool) -> None:
    """docs/options.md has every option of every command."""
    if regenerate:
        PAGE.write_text(write_page(), encoding="utf-8", newline="\n")
    assert PAGE.read_text(encoding="utf-8") == write_page()
