"""The options of all commands, in one table.

From it come the parsers, their help, the completion scripts, the arguments of the library, and the
words of messages (`name_options`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sitemapreader import __version__
from sitemapreader.cli.types import (
    parse_base_url,
    parse_count,
    parse_delay,
    parse_depth,
    parse_duration,
    parse_fields,
    parse_file,
    parse_header,
    parse_pages,
    parse_pair,
    parse_pattern,
    parse_proxy,
    parse_seconds,
    parse_shard,
    parse_since,
    parse_until,
)
from sitemapreader.options import SITE_SECONDS, FetchOptions, Limits
from sitemapreader.output import FILE_FORMATS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARALLEL = 8
"""Sites that are read at once, by default."""
SHELLS = ("bash", "zsh", "fish", "tcsh")
LIST_FORMATS = ("urls", "jsonl")
COUNT_KINDS = ("sitemap", "folder", "host", "month", "language", "extension")
TREE_FORMATS = ("tree", "json")
WHY_FORMATS = ("text", "jsonl")
WATCH_FORMATS = ("plain", "jsonl")
AUDIT_FORMATS = ("text", "json", "sarif", "html", "markdown", "junit")
COMPARE_FORMATS = ("text", "markdown", "json")
FAIL_ON = ("error", "warning", "info", "never")


class Option:
    """An option, or an operand, of some commands.

    Args:
        flags: its names, the long one last; or the name of the operand.
        commands: those that have it.
        help: what it does.
        field: the name of its value: where it is one, that of the library's argument. By default
            the long name.
        says: what messages of the library call it, besides `field`.
        rivals: options with the same word here exclude each other.
        file: "read" or "written": its values are names of files, none of which may be another's.
        settings: other arguments of argparse's `add_argument`; with none it takes no value.
    """

    def __init__(
        self,
        flags: str,
        commands: str,
        help: str,  # noqa: A002 (as argparse calls it)
        field: str = "",
        says: tuple[str, ...] = (),
        *,
        rivals: str = "",
        file: Literal["", "read", "written"] = "",
        **settings: Any,
    ) -> None:
        self.flags, self.commands = flags.split(), commands.split()
        self.says, self.rivals, self.file = says, rivals, file
        self.name = self.flags[-1]
        self.key = field or self.name.removeprefix("--").replace("-", "_")
        self.settings = {"help": help, **(settings or {"action": "store_true"})}
        if self.name.startswith("--"):
            self.settings["dest"] = self.key
        self.choices: tuple[str, ...] | None = settings.get("choices")
        self.type: Callable[[str], Any] | None = settings.get("type")


_WALK = "urls tree audit"
_WEB = "urls tree audit discover newest submit watch"
_NETWORK = f"{_WEB} why"
_ROWS = "urls read"
_ENTRIES = "urls read newest"
_NOT_STATE = "urls why discover newest tree read audit submit scale watch"
_ALL = f"{_NOT_STATE} compare mcp state identity completion"
_FILE: dict[str, Any] = {"metavar": "FILE", "type": parse_file}
_READ: dict[str, Any] = {**_FILE, "file": "read"}
_WRITTEN: dict[str, Any] = {**_FILE, "file": "written"}
_REGEX: dict[str, Any] = {"metavar": "REGEX", "type": parse_pattern, "action": "append"}
_WHEN: dict[str, Any] = {"metavar": "WHEN"}
_WORDS: dict[str, Any] = {"metavar": "CODE,...", "type": parse_fields}
_COUNT: dict[str, Any] = {"metavar": "N", "type": parse_count}
_SECONDS: dict[str, Any] = {"metavar": "SECONDS", "type": parse_seconds}
_LIMITS, _FETCH = Limits(), FetchOptions()

# A table; formatted, each option would take ten lines.
# fmt: off
OPTIONS: dict[str, tuple[Option, ...]] = {
    "what to read": (
        Option("sources", "urls tree", "site, sitemap, page, folder or file", metavar="SOURCE",
               file="read", nargs="*"),
        Option("sources", "newest", "site, such as example.org, or the URL of a sitemap",
               metavar="SITE", nargs=1),
        Option("sources", "discover watch", "site, such as example.org", metavar="SITE", nargs="*"),
        Option("sources", "read", "sitemap, compressed or not; - is standard input (the default)",
               metavar="FILE", file="read", default=["-"], nargs="*"),
        Option("source", "audit", "site, sitemap, folder or file", metavar="SOURCE",
               file="read", nargs="?"),
        Option("list", "scale", "file of hosts and URLs, one a line, or its URL; - is standard "
               "input (default: the list of the last run); the word status shows the last run",
               metavar="HOSTS", nargs="?"),
        Option("sources", "submit", "your site, such as example.org", metavar="SITE",
               nargs=1),
        Option("--key-file", "submit", "file with the key, as it lies on the site at /KEY.txt",
               required=True, **_READ),
        Option("--endpoint", "submit", "URL of the service (default: api.indexnow.org)",
               metavar="URL", type=parse_base_url),
        Option("--dry-run", "submit", "print the URLs, one a line; submit and remember nothing"),
        Option("-i --input-file", "urls tree discover watch",
               "read sites and sitemaps from FILE, one a line; - is standard input (may be "
               "repeated)", action="append", **_READ),
        Option("urls", "why", "URL that should be listed, such as https://example.org/page",
               metavar="URL", nargs="*"),
        Option("-i --input-file", "why", "read URLs from FILE, one a line; - is standard input "
               "(may be repeated)", action="append", **_READ),
        Option("--in", "why", "look in the sitemaps of SITE, a site, a folder or a sitemap "
               "(default: the site of each URL)", "inside", metavar="SITE"),
        Option("--visits", "why", "request N of the pages to see what they answer (default: 100)",
               "max_visits", metavar="N|all", type=parse_pages, default=100),
        Option("--site", _WALK, "treat URLs as sites", "kind", action="store_const", const="site",
               rivals="kind"),
        Option("--sitemap", _WALK, "treat URLs as sitemaps", "kind", ("sitemaps=",),
               action="store_const", const="sitemap", rivals="kind"),
        Option("--base-url", "urls tree audit read",
               "URL at which the folder or file would be served", "", ("url",), metavar="URL",
               type=parse_base_url),
        Option("--urls", "audit", "known URLs to compare with, from a crawl, a log or Search "
               "Console: text, CSV, TSV, JSON lines or Parquet, by the suffix", **_READ),
        Option("--pages", "audit", "visit so many of the listed pages, or all: what do they "
               "answer? (default: none of a site, all of a built folder; 0: none)", metavar="N|all",
               type=parse_pages),
        Option("--was", "audit", "sitemap, folder, URL or list of the old site: do its URLs lead "
               "to listed pages? (all of them, or as many as --pages says)", metavar="OLD"),
        Option("--since-audit", "audit", "database of an earlier audit with --pages: which dates "
               "are newer, and the text is the same?", **_READ),
        Option("--full", "scale", "forget what was read: write every URL of every host"),
        Option("--retry", "scale", "read also hosts that failed and are not due yet"),
        Option("--failed", "scale", "with status: print the hosts that were not read"),
    ),
    "what to show": (
        Option("file", "state", "file that --state wrote", **_READ),
        Option("--unlisted", "state",
               "print only the URLs that no sitemap lists any more, one a line"),
        Option("--gone", "state",
               "print only the URLs whose page was asked and is gone, one a line"),
        Option("--plan", "state", "print the next N sitemaps of --revisit, when and why",
               **_COUNT),
        Option("folder", "mcp", "folder for what is remembered from call to call; made if missing",
               metavar="FOLDER"),
        Option("before", "compare", "report of an audit, made by -o report.json",
               **_READ | {"metavar": "BEFORE"}),
        Option("after", "compare", "report of a later one", **_READ | {"metavar": "AFTER"}),
        Option("key_file", "identity", "file with an Ed25519 key; made if missing",
               metavar="KEY_FILE"),
        Option("--headers", "identity", "print headers for a static server, valid for N days",
               metavar="N", type=parse_count),
        Option("shell", "completion", f"one of {', '.join(SHELLS)}", metavar="SHELL",
               choices=SHELLS),
    ),
    "which URLs": (
        Option("--since", "urls read tree why",
               "only URLs changed since a date, or within a time: 2026-01-31, 30m, 12h, 7d, 2w",
               type=parse_since, **_WHEN),
        Option("--until", "urls read tree why",
               "only URLs last changed until a date (that day included), or longer ago than a time",
               type=parse_until, **_WHEN),
        Option("--undated", "urls read tree why",
               "what --since and --until do with URLs that have no lastmod or news date "
               "(default: keep; the summary counts them)",
               choices=("keep", "drop")),
        Option("-n --number", "newest", "how many URLs (default: 10)", default=10, **_COUNT),
        Option("--include", f"{_ENTRIES} submit watch why",
               "only URLs that contain a match (may be repeated)", **_REGEX),
        Option("--exclude", f"{_ENTRIES} submit watch why",
               "no URLs that contain a match (may be repeated)", **_REGEX),
        Option("--limit", _ROWS, "stop after N URLs", "", ("max_urls",), **_COUNT),
        Option("--language", f"{_ENTRIES} why",
               "only URLs whose record says that they are in one of these languages",
               metavar="CODE,...", type=parse_fields),
        Option("--sample", _ROWS, "print N URLs that are drawn from all, each with the same chance",
               **_COUNT),
        Option("--seed", _ROWS, "with --sample: draw another sample (default: 0)", metavar="N",
               type=int),
        Option("--unique", _ROWS, "print each URL once (/#a counts as /)"),
    ),
    "rules": (
        Option("--select", "audit",
               "only these rules: codes, categories (hreflang) or prefixes (url-*)", **_WORDS),
        Option("--ignore", "audit", "not these rules; wins over --select", **_WORDS),
        Option("--fail-on", "audit",
               "exit with 5 for findings of this severity or above (default: error)",
               choices=FAIL_ON),
        Option("--fail-on", "compare",
               "exit with 5 if findings this severe are new or worse (default: error)",
               choices=FAIL_ON, default="error"),
        Option("--robots", "audit",
               "robots whose rules in robots.txt are judged (default: Googlebot)",
               metavar="NAME,...", type=parse_fields),
        Option("--rules", "audit", "more rules: files of SQL", metavar="FOLDER"),
        Option("--baseline", "audit", "known hits: only new ones cause exit code 5", **_READ),
        Option("--write-baseline", "audit", "write the hits as a baseline", **_WRITTEN),
        Option("--list-rules", "audit", "list all rules"),
        Option("--explain", "audit", "show what a rule means", metavar="CODE"),
    ),
    "state": (
        Option("--state", "urls", "remember in FILE what was read: the next run prints only the "
               "URLs of sitemaps that have changed, and resumes this run if it was interrupted",
               **_WRITTEN),
        Option("--state", "why", "say which URLs FILE knows as unlisted or gone",
               "state_file", **_READ),
        Option("--state", "submit", "remember in FILE what the service has accepted", "state_file",
               required=True, **_WRITTEN),
        Option("--state", "watch", "remember the sites in FILE", "state_file",
               required=True, **_WRITTEN),
        Option("--pace", "watch", "requests an hour for each site, on average (default: 6)",
               metavar="N", type=parse_seconds, default=6.0),
        Option("--for", "watch", "how long to watch, such as 8h (default: until Ctrl-C)",
               "max_time", metavar="TIME", type=parse_duration),
        Option("--initial", "watch", "print all URLs of a site when it is read for the first time"),
        Option("--kinds", "watch", "what is printed: new, gone, unlisted, changed "
               "(default: new,gone)", metavar="KIND,...", type=parse_fields,
               default=("new", "gone")),
        Option("--all", "submit", "on the first run, submit all URLs (default: only record them)",
               "submit_all"),
        Option("--changes", "urls",
               "print only what is new or changed; needs --state"),
        Option("--exit-code", "urls", "with --changes: exit with 7 if there are any, else with 0"),
        Option("--revisit", "urls", "with --changes: ask only for N of the sitemaps that are "
               "known, those in which news has waited longest", **_COUNT),
        Option("--revisit", "scale", "ask only for N of the sitemaps that are known, those in "
               "which news has waited longest", "revisit_all", **_COUNT),
        Option("--gone-pages", "scale", "ask N pages of unlisted URLs of each host "
               "whether they are gone", default=0, **_COUNT),
        Option("--unlisted", "urls", "with --changes: at the end, print the URLs that no sitemap "
               "lists any more; needs a format with the field `change`, such as jsonl"),
        Option("--gone", "urls", "with --changes: at the end, ask the pages of unlisted URLs, and "
               "print those that answer 404 or 410"),
    ),
    "output": (
        *(
            Option(
                "--format",
                commands,
                f"format (default: by the suffix of -o, else {names[0]})",
                choices=names,
            )
            for commands, names in (
                ("urls", (*FORMATS, *FILE_FORMATS)),
                ("read newest", (*FORMATS, "xlsx")),
                ("discover", LIST_FORMATS),
                ("tree", TREE_FORMATS),
            )
        ),
        Option("--format", "audit", "format on standard output (default: text)",
               choices=AUDIT_FORMATS),
        Option("--format", "state", "format of --unlisted and --gone: urls, one a line (the "
               "default), or jsonl, with the site, the last sitemap, since when and why",
               choices=LIST_FORMATS),
        Option("--format", "why", "text for people (the default), or jsonl, a line for each URL",
               choices=WHY_FORMATS, default="text"),
        Option("--format", "compare", "format (default: text)", choices=COMPARE_FORMATS,
               default="text"),
        Option("--format", "watch", "plain: moment, kind and URL, with tabs between (the default)",
               choices=WATCH_FORMATS, default="plain"),
        Option("-o --output", "watch", "feed to write instead, such as changes.atom", **_WRITTEN),
        Option("-o --output", "urls read newest discover tree",
               "file to write (default, or -: standard output)", **_WRITTEN),
        Option("-o --output", "audit",
               "file to write; its suffix is the format: .html .json .sarif .md .xml (JUnit) .txt "
               "(may be repeated)",
               action="append", **_WRITTEN),
        Option("-o --output", "scale", "folder to write, or its URL, such as s3://bucket/crawl",
               metavar="FOLDER", required=True),
        Option("--fields", _ENTRIES,
               "write only these fields, in this order, such as loc,lastmod or loc,date,title",
               metavar="NAME,...", type=parse_fields),
        Option("-0 --null", _ENTRIES, "end each record with NUL instead of a newline, for xargs "
               "-0", "", ("null_terminated",)),
        Option("--no-header", _ENTRIES, "omit the first line of csv and tsv, to append with >> "
               "FILE", "header", action="store_false"),
        Option("--title", "audit", "title of the report in HTML or Markdown", metavar="TEXT"),
        Option("--count-by", _ROWS, "print how many URLs there are of each kind, the most frequent "
               "first, in place of the URLs", choices=COUNT_KINDS),
        Option("--examples", "audit", "hits to show for a rule (default: 20)", **_COUNT),
        Option("--hits", "audit",
               "write all hits: .parquet, .csv, .jsonl, or the last two with .gz", **_WRITTEN),
        Option("--database", "audit", "keep the DuckDB database of the audit", **_WRITTEN),
    ),
    "many sites": (
        Option("--report", "urls", "write one row for each site, how it ended and why: FILE ends "
               "with .jsonl, .csv or .parquet; with .json, all that is known of a single source",
               **_WRITTEN),
        Option("--shard", "scale", "read the Kth of N parts in one process, for arrays of jobs",
               metavar="K/N", type=parse_shard, rivals="workers"),
        Option("--scheduler", "scale", "scheduler of a Dask cluster, such as tls://10.0.0.5:8786",
               metavar="ADDRESS", rivals="workers"),
        Option("--workers", "scale", "processes on this machine (default: one for each core)",
               rivals="workers", **_COUNT),
        Option("--parallel", "scale", "hosts that one process reads at once (default: 64)",
               **_COUNT),
        Option("--parallel", "urls tree discover watch", f"sites at once (default: {PARALLEL})",
               default=PARALLEL, **_COUNT),
    ),
    "where to look": (
        Option("--probe", _WEB, "when to try the well-known paths: auto (the default), if nothing "
               "else is found; few, the same with two paths; always; never",
               choices=("auto", "few", "always", "never")),
        Option("--map-host", _WEB, "ask host B for what is named on host A, as for a staging site: "
               "www.example.org=https://staging.example.org (may be repeated)", "map_hosts",
               metavar="A=B", type=parse_pair, action="append"),
        Option("--feeds", _WEB, "read the feeds of the start page as well"),
        Option("--no-robots", _NETWORK, "also fetch what robots.txt disallows", "respect_robots",
               action="store_false"),
    ),
    "formats": (
        Option("--html-sitemap", f"{_WEB} read", "read the links to the same site in HTML pages "
               "that are named as sitemaps (default: pages are only searched for sitemaps)",
               "extra_formats", action="append_const", const="html"),
    ),
    "how far": (
        Option("--depth", _WALK, f"levels of indexes inside indexes (default: {_LIMITS.depth})",
               metavar="N", type=parse_depth),
        Option("--documents", "newest", "sitemaps that are read at most (default: 20)", "most",
               default=20, **_COUNT),
        Option("--site-timeout", "audit", "longest time for the walk and the pages; what was read "
               "until then is judged (default: a day)", "walk_seconds", **_SECONDS),
        Option("--site-timeout", "urls tree", "longest time for one site; what was read until then "
               f"is printed (default: {SITE_SECONDS:g} for each of several sites, a day for a "
               "single one)", "walk_seconds", **_SECONDS),
        *(
            Option("--max-time", commands, "longest time for the whole run, such as 90s, 30m or "
                   f"2h; what was read until then is {done}", metavar="TIME", type=parse_duration)
            for commands, done in (("audit", "judged"), ("urls tree", "printed"))
        ),
        Option("--order", "urls tree", "order of the sitemaps of an index: as listed (document, "
               "the default), or the newest lastmod first, so that --limit prints new URLs",
               choices=("document", "newest")),
        Option("--hosts", f"{_WALK} submit",
               "read sitemaps on the same host, on the same site (the default), or on any host",
               choices=("host", "site", "any")),
        Option("--follow", _WALK,
               "only sitemaps of an index whose URL contains a match (may be repeated)", "wanted",
               **_REGEX),
        Option("--no-follow", _WALK,
               "no sitemaps of an index whose URL contains a match (may be repeated)", "unwanted",
               **_REGEX),
    ),
    "network": (
        Option("-c --concurrency", f"{_WALK} discover", f"documents of one site at once (default: "
               f"{_FETCH.concurrency}; never more than {_FETCH.per_host} from one host)", **_COUNT),
        Option("--delay", f"{_NETWORK} scale mcp",
               "wait between two requests to one host; robots.txt may demand more", "delay_seconds",
               metavar="SECONDS", type=parse_delay),
        Option("-m --timeout", f"{_NETWORK} scale mcp",
               "longest time for one document, and for its first byte (default: "
               f"{_FETCH.total_seconds:g} and {_FETCH.headers_seconds:g})", "",
               ("headers_seconds", "total_seconds"), **_SECONDS),
        Option("-x --proxy", f"{_NETWORK} scale", "HTTP proxy; the environment is not consulted",
               metavar="URL", type=parse_proxy),
        Option("-A --user-agent", f"{_NETWORK} scale mcp",
               "the User-Agent header of all requests, and the name whose rules in robots.txt "
               "are obeyed; recommended: your crawler and a page about it, "
               f"'NewsBot/2.1 (+https://...)' (default: {_FETCH.user_agent})", metavar="NAME"),
        Option("--sign-key", f"{_NETWORK} scale mcp",
               "sign https requests with the Ed25519 key in FILE; "
               "requires --sign-as", "sign_key", **_READ),
        Option("--sign-as", f"{_NETWORK} scale mcp identity",
               "name URL as the place of the public key, in signed requests",
               "sign_as", metavar="URL"),
        Option("--sign-form", f"{_NETWORK} scale mcp",
               "write the name as a string or as a dictionary; "
               "Cloudflare requires string, the default", "sign_form",
               choices=("string", "dictionary")),
        Option("-H --header", _NETWORK,
               "header for the sites named here, and no others (may be repeated)", "header_lines",
               metavar="'NAME: VALUE'", type=parse_header, action="append"),
        Option("-u --user", _NETWORK,
               "login for the sites named here, and no others; prompts for a missing password", "",
               ("headers",), metavar="USER[:PASSWORD]"),
        Option("--allow-network", f"{_NETWORK} scale mcp",
               "allow a network that is not public, such as 10.0.0.0/8 (may be repeated)",
               "allow_networks", metavar="NETWORK", action="append"),
        Option("--allow-port", f"{_NETWORK} scale mcp",
               "allow a port besides 80, 443 and those of the sources (may be repeated)",
               "allow_ports", metavar="PORT", type=parse_count, action="append"),
    ),
    "messages": (
        Option("-q --quiet", _NOT_STATE,
               "print only the error that ends the program, if any"),
        Option("-v --verbose", _NOT_STATE, "also print Issues of severity info"),
    ),
    "general": (
        Option("-h --help", _ALL, "show the help; with --all behind it, all options",
               action="help"),
        Option("--version", _ALL, "show the version", action="version",
               version=f"sitemapreader {__version__}"),
    ),
}
# fmt: on
"""Group of the help -> its options, in the order of the help."""


_EVERYDAY = """
--input-file --since --include --exclude --limit --number --sample --unique --count-by --state
--changes --format --output --fields --user --quiet --verbose --urls --pages --select --ignore
--fail-on --hits --workers --retry --full
"""
EVERYDAY = frozenset(_EVERYDAY.split())
"""The options that `--help` shows where a command has many."""


def list_options(command: str) -> Iterator[tuple[str, list[Option]]]:
    """Yield the groups of a command, with their options."""
    for group, options in OPTIONS.items():
        if chosen := [each for each in options if command in each.commands]:
            yield group, chosen
