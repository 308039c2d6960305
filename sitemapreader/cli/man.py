"""`sitemapreader man`: the manual page, written from the parsers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemapreader import __version__
from sitemapreader.cli.commands import SOURCES
from sitemapreader.cli.exit_codes import MEANINGS
from sitemapreader.cli.inventory import COMMANDS, DEFAULT, PROGRAM, Group, Option, list_groups
from sitemapreader.cli.process import print_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from sitemapreader.cli.commands import Command

EXAMPLES = {
    "Every URL of a site, and those of last week:": (
        "sitemapreader example.org",
        "sitemapreader example.org --since 7d",
    ),
    "Two hundred sites, each URL once, as a table:": (
        "sitemapreader -i sites.txt --unique --format csv -o urls.csv",
    ),
    "Which sitemaps there are, and which of them cannot be read:": (
        "sitemapreader tree example.org",
    ),
    "The first ten posts of a blog behind a login, in JSON:": (
        "sitemapreader -u reader: https://example.org/ --include /blog/ --limit 10 --format jsonl",
    ),
    "What is new since yesterday, behind what was new before:": (
        "sitemapreader example.org --state site.db --changes --format csv --no-header >> new.csv",
    ),
    "A sitemap that something else has fetched:": (
        "curl -s https://example.org/sitemap.xml.gz | sitemapreader read",
    ),
}
NOTES = {
    "CREDENTIALS": (
        "What -H and -u give goes to the origins (scheme, host and port) of the sources that are "
        "named, and never along with a redirect or to a sitemap elsewhere. Other users can see the "
        "arguments of a process: leave the password out, and it is asked for."
    ),
    "ENVIRONMENT": (
        "No proxy is taken from HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, and no password from .netrc: "
        "behind a proxy it is the proxy that decides which addresses are reached, so that private "
        'ones cannot be kept from the sitemaps of strangers. Name it: -x "$HTTPS_PROXY".'
    ),
    "FILES": (
        "A file named with -o is written beside its place and renamed when it is whole: after a "
        "failure, or a signal, there is the old one or none. Pipes get whole lines only."
    ),
}


def run(arguments: argparse.Namespace) -> int:
    """Print the page; return the exit code."""
    del arguments
    return print_text(write_page())


def write_page() -> str:
    """Write the page in the man macros of roff (groff_man(7))."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield f'.TH {PROGRAM.upper()} 1 "" "{PROGRAM} {__version__}" "User Commands"'
    yield from (".SH NAME", f"{PROGRAM} \\- {_roff(DEFAULT.purpose)}")
    yield from (".SH SYNOPSIS", f".B {PROGRAM}", "[\\fICOMMAND\\fR]", "[\\fIOPTION\\fR]...")
    yield "\\fISOURCE\\fR..."
    yield from (".SH DESCRIPTION", _roff(SOURCES.replace("\n", " ")), ".SH COMMANDS")
    for name, command in COMMANDS.items():
        default = " This is meant if no command is named." if command is DEFAULT else ""
        yield from (".TP", f".B {name}", _roff(f"{_sentence(command.purpose)}{default}"))
    for name, command in COMMANDS.items():
        yield f'.SH "OPTIONS OF {name.upper()}"'
        yield from _options(command)
    yield '.SH "EXIT STATUS"'
    for code, meaning in MEANINGS.items():
        yield from (".TP", f".B {_roff(code)}", _roff(_sentence(meaning)))
    for title, text in NOTES.items():
        yield from (f".SH {title}", _roff(text))
    yield ".SH EXAMPLES"
    for purpose, commands in EXAMPLES.items():
        yield from (".PP", _roff(purpose), ".PP", ".RS 4", ".nf")
        yield from map(_roff, commands)
        yield from (".fi", ".RE")


def _options(command: Command) -> Iterator[str]:
    """Write the options that are this command's own, and refer to the default one's for others."""
    known = set(list_groups(DEFAULT)) if command is not DEFAULT else set[Group]()
    same = [group.title for group in list_groups(command) if group in known]
    for group in list_groups(command):
        if group in known:
            continue
        yield f'.SS "{_roff(group.title)}"'
        for option in group.options:
            yield from (".TP", _head(option), _roff(_sentence(option.help)))
    if same:
        yield from (".PP", _roff(f"As with {DEFAULT.name}: {', '.join(same)}."))


def _head(option: Option) -> str:
    value = "|".join(option.choices) or option.value
    if not option.flags:
        return f".I {_roff(value)}"
    flags = ", ".join(f"\\fB{_roff(flag)}\\fR" for flag in option.flags)
    return f"{flags} \\fI{_roff(value)}\\fR" if value else flags


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _roff(text: str) -> str:
    """Escape what roff would act on."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha")
    return f"\\&{text}" if text.startswith((".", "'")) else text
