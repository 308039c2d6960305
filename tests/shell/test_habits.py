"""Options, commands, arguments and names that are typed by habit: what to write here instead."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

import sitemapreader
from sitemapreader import discover_sync, newest_sync, walk_many, walk_sync
from sitemapreader._cli.commands import COMMANDS
from sitemapreader._cli.options import FLAGS
from sitemapreader._types.habits import advise_option
from tests.support import package
from tests.support.commands import run

if TYPE_CHECKING:
    from collections.abc import Callable

VERIFIED = "there is none: certificates are always verified"
REDIRECTS = "there is none: up to five redirects"
TRIES = "there is none: a document that fails is requested up to three times"
GET = "there is none: documents are only requested, with GET"

OPTIONS = {
    # curl
    "--insecure -k --cacert --cert --ssl-verify --no-verify-ssl --skip-tls-check": VERIFIED,
    "-L --location --max-redirs --no-redirects --max-redirects --follow-redirects": REDIRECTS,
    "--retry --retries --retry-delay --retry-max-time --max-retries": TRIES,
    "--data -d -X --request --form --data-urlencode -sd": "",
    "-I --head --spider": "write sitemapreader discover SITE",
    "-b --cookie --cookie-file": "write -H 'Cookie: NAME=VALUE'",
    "--connect-timeout --timeouts": "write --timeout SECONDS",
    "-e --referer --oauth2-bearer --headers": "write -H 'NAME: VALUE'",
    "-s --silent --no-progress -nv --quiet-mode": "write -q",
    "--socks5": "there is none: only HTTP proxies",
    "--noproxy": "there is none: no proxy is used",
    "--proxy-user": "write --proxy http://USER:PASSWORD@HOST:PORT",
    "--resolve --remap": "write --map-host A=B",
    "-O --remote-name --outfile --output-dir": "write -o FILE",
    "--as-json --output-json": "write --format json",
    # wget
    "--level -l --max-depth --max_depth --maxdepth": "write --depth N",
    "--recursive --no-parent -np": "there is none: sitemaps are followed",
    "--wait --random-wait -w --rate-limit --rps --download-delay": "write --delay SECONDS",
    "--accept --accept-regex --include-paths --regexp -g --glob": "write --include PATTERN",
    "--reject --exclude-paths --skip-urls": "write --exclude PATTERN",
    "--span-hosts --allow-external-links --include-subdomains": "write --hosts any",
    "--no-check-certificate": VERIFIED,
    "-U --useragent --ua": "write -A NAME",
    "--continue --resume --cache --timestamping": "write --state FILE",
    "-a --append-output": "write >> FILE",
    # HTTPie, jq, ripgrep
    "--auth --basic-auth --password": "write -u USER:PASSWORD",
    "--verify": VERIFIED,
    "--compact-output --slurp --ndjson": "write --format json",
    "--raw-output --only-matching --no-heading": "there is none: the URLs are printed one a line",
    "--sort --sort-keys": "write | sort",
    "--count --stats": "write --count-by folder, or | wc -l",
    "--max-count --max-urls --max-pages --limit-urls": "write --limit N",
    "--color --no-color --pretty": "there is none: the output has no colours",
    "--ignore-case": "write --include '(?i)REGEX'",
    "--threads --jobs -j --max-concurrency --concurrent": "write --concurrency N, or --parallel N",
    "--null-data --print0": "write --null",
    # Scrapy, Firecrawl, lychee
    "--obey-robots --ignore-robots --robots-txt": "write --no-robots",
    "--debug": "write -v",
    "--loglevel --log-level": "write -q for errors alone, -v for more",
    "--files-from --list": "write -i FILE",
    "--base --root-dir": "write --base-url URL",
    "--offline": "write sitemapreader read FILE",
    "--exclude-private": "there is none: private addresses are refused",
    "--check-links --validate": "write sitemapreader audit SITE",
    "--diff": "write --state FILE --changes",
    "--since-date --after --newer-than": "write --since WHEN",
    "--unique-urls --dedupe": "write --unique",
    "--config": "there is none: settings are read from sitemapreader.toml",
    "--pages": "it is an option of audit",
}
"""What is typed -> the beginning of the advice, for the command `urls`."""

OTHERS = [
    ("audit", "--strict", "write --fail-on warning"),
    ("audit", "--exit-zero", "write --fail-on never"),
    ("audit", "--severity", "in the table [audit.severity]"),
    ("newest", "--limit", "write --number N"),
    ("audit", "--limit", "it is an option of urls, read"),
    ("discover", "--max-urls", "write | head -n N"),
    ("audit", "--include-paths", "there is none here; urls, why, newest"),
    ("discover", "--workers", "write --parallel N"),
    ("watch", "--json", "write --format jsonl;"),
    ("audit", "--compare", "write -o today.json (or --baseline FILE"),
    ("audit", "--include", "write --ignore 'CODE:PATTERN'"),
    ("audit", "--csv", "write --hits FILE.csv"),
    ("mcp", "--allow", "write --allow-network 127.0.0.0/8"),
]

ERRORS = {
    "--include": "--inculde",
    "--format": "--formt",
    "--output": "--ouput",
    "--since": "--sinc",
    "--exclude": "--exlude",
    "--limit": "--limt --lim",
    "--user-agent": "--user-agnet --user-agents",
    "--concurrency": "--concurency",
    "--timeout": "--timout",
    "--parallel": "--parralel",
    "--delay": "--dealy",
    "--header": "--heder",
    "--proxy": "--proxi",
    "--verbose": "--verbos",
    "--quiet": "--queit",
    "--unique": "--unqiue",
    "--no-robots": "--no-robts",
}
"""Option -> typing errors of it."""

NO_ADVICE = "--version-check --where --banana --no-feeds --no-state --he"


def say(command: str, *words: str) -> str:
    """Return what is said about unknown words of a command."""
    needed = ["--state", "s.db"] if command == "watch" else []
    done = run(command, "example.org", *needed, *words)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.splitlines()[-1].partition("unknown option: ")[2]


def test_options_typed_by_habit(subtests: pytest.Subtests) -> None:
    """Each is answered with what to write here, or with the reason why there is none."""
    for typed, advice in OPTIONS.items():
        with subtests.test(typed=typed):
            for name in typed.split():
                said = say("urls", name)
                assert advice in said, (name, said)
                assert "did you mean" not in said
                assert re.search(r"; (there is none|write|it is)", said), (name, said)


@pytest.mark.cases(11)
@pytest.mark.parametrize(("command", "typed", "advice"), OTHERS)
def test_advice_is_for_the_command(command: str, typed: str, advice: str) -> None:
    """No command is told to take an option that it has not."""
    assert advice in say(command, typed)


@pytest.mark.cases(17)
@pytest.mark.parametrize(("meant", "typed"), ERRORS.items())
def test_typing_errors(meant: str, typed: str) -> None:
    """The option that was meant is named."""
    for name in typed.split():
        assert f"did you mean {meant}?" in say("urls", name)


@pytest.mark.cases(6)
@pytest.mark.parametrize("typed", NO_ADVICE.split())
def test_no_advice_is_better_than_a_wrong_one(typed: str) -> None:
    """What nothing here is like gets no hint, nor does the opposite of an option."""
    assert say("urls", typed) == f"{typed}; see sitemapreader urls --help"


def test_each_of_several_options_gets_its_advice() -> None:
    """The advice names the option that it is about."""
    said = say("urls", "--insecure", "--max-depth", "2")
    assert f"--insecure: {VERIFIED}" in said
    assert "; --max-depth: write --depth N;" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_is_told_an_option_that_it_has_not(command: str) -> None:
    """The rows of the table name only options that exist, with values that they have."""
    path = package.PACKAGE / "_types" / "habits.toml"
    table = tomllib.loads(path.read_text("utf-8"))
    every = {flag for flags in FLAGS.values() for flag in flags}
    for row in table["option"]:
        for text in row.get("write", []):
            named = re.findall(r"(?<!\S)--[a-z][a-z-]*", text)
            assert every >= set(named), text
        for name in row.get("names", "").split():
            said = advise_option(name, command, FLAGS)
            for text in re.findall(r"write (-[\w-]+)", said):
                assert text in FLAGS[command], (name, said)


@pytest.mark.cases(17)
@pytest.mark.parametrize(
    ("word", "advice"),
    {
        "check": "write sitemapreader audit",
        "validate": "write sitemapreader audit",
        "lint": "write sitemapreader audit",
        "list": "write sitemapreader SITE",
        "crawl": "write sitemapreader SITE",
        "diff": "write sitemapreader compare BEFORE AFTER",
        "find": "write sitemapreader discover",
        "parse": "write sitemapreader read",
        "monitor": "write sitemapreader watch",
        "help": "write sitemapreader --help --all",
        "latest": "write sitemapreader newest",
        "generate": "there is none: sitemaps are read here",
        "gone": "write sitemapreader state FILE --gone",
        "moved": "write sitemapreader state FILE --unlisted",
        "update": "there is none: use pip, as in pip install --upgrade . in",
        "discoverr": "did you mean discover?",
        "banana": "the commands are urls, discover",
    }.items(),
)
def test_commands_typed_by_habit(word: str, advice: str) -> None:
    """A word that is no source is answered with the command that does it."""
    done = run(word, "example.org")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"; {advice}" in done.stderr


SITE = "https://example.org/"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "walk": walk_sync,
    "walk_many": lambda site, **given: walk_many([site], **given),
    "discover": discover_sync,
    "newest": newest_sync,
}
ARGUMENTS = {
    "timeout": "options=FetchOptions(total_seconds=...)",
    "connect_timeout": "options=FetchOptions(connect_seconds=...)",
    "retries": "options=FetchOptions(max_attempts=...)",
    "max_retries": "options=FetchOptions(max_attempts=...)",
    "auth": "the site as 'https://USER:PASSWORD@example.org/'",
    "verify": VERIFIED,
    "ssl": VERIFIED,
    "cookies": "FetchOptions(headers={'Cookie': ...})",
    "headers": "options=FetchOptions(headers=...)",
    "proxies": "options=FetchOptions(proxy=...)",
    "user_agent": "options=FetchOptions(user_agent=...)",
    "allow_redirects": "options=FetchOptions(max_redirects=...)",
    "follow_redirects": "options=FetchOptions(max_redirects=...)",
    "session": "fetcher=...",
    "client": "fetcher=...",
    "max_depth": "limits=Limits(depth=...)",
    "max_workers": "options=FetchOptions(concurrency=...)",
    "concurrent_requests": "options=FetchOptions(concurrency=...)",
    "delay": "options=FetchOptions(delay_seconds=...)",
    "ignore_robots": "options=FetchOptions(respect_robots=False)",
    "obey_robots": "options=FetchOptions(respect_robots=False)",
    "recursive": "there is none: indexes are always followed",
    "params": "there is none: documents are only requested, with GET",
    "verbose": "there is none: use logging.getLogger",
    "output": "there is none: write the entries with open_output",
    "raise_on_error": "there is none: the content of documents never raises",
    "url": "the site as the first argument",
    "delay_second": "options=FetchOptions(delay_seconds=...)",
}


@pytest.mark.cases(28)
@pytest.mark.parametrize(("name", "advice"), ARGUMENTS.items())
def test_arguments_given_by_habit(name: str, advice: str) -> None:
    """Each function answers with what to write instead."""
    for function, call in FUNCTIONS.items():
        said = f"{function} has no argument '{name}':.*{re.escape(advice)}"
        with pytest.raises(TypeError, match=said):
            call(SITE, **{name: 1})


def test_advice_is_for_the_function() -> None:
    """No function is told to take an argument that it has not."""
    for function, advice in (
        ("walk", r"limits=Limits\(max_urls=...\)"),
        ("walk_many", r"limits=Limits\(max_urls=...\)"),
        ("newest", "write number=..."),
        ("discover", "there is none"),
    ):
        with pytest.raises(TypeError, match=advice):
            FUNCTIONS[function](SITE, max_pages=1)


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("name", "advice"),
    {
        "parse": ": write read",
        "sitemap_tree_for_homepage": ": write walk",
        "sitemap_to_df": ": write from sitemapreader.tables import to_dataframe",
        "wlak": ": did you mean walk?",
        "qqq": "no attribute 'qqq'",
    }.items(),
)
def test_names_of_other_libraries(name: str, advice: str) -> None:
    """A name that the package has not is answered with the one that does it."""
    with pytest.raises(AttributeError) as caught:
        getattr(sitemapreader, name)
    assert str(caught.value).endswith(advice)
