"""The options of all commands, in one table.

From it come the parsers, their help, the completion scripts, the arguments of the library, and the
words of messages (`name_options`).
"""

from __future__ import annotations

from argparse import SUPPRESS
from typing import TYPE_CHECKING, Any, Literal

from sitemapreader import __version__
from sitemapreader._cli.types import (
    parse_base_url,
    parse_delay,
    parse_depth,
    parse_duration,
    parse_fields,
    parse_file,
    parse_header,
    parse_pages,
    parse_pair,
    parse_patience,
    parse_pattern,
    parse_ports,
    parse_proxy,
    parse_reasons,
    parse_seconds,
    parse_shard,
    parse_since_option,
    parse_until_option,
    parse_whole_number,
)
from sitemapreader._types.options import SITE_SECONDS, FetchOptions, Limits
from sitemapreader.output import FILE_FORMATS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PARALLEL = 8
"""Sites that are read at once, by default."""
SHELLS = ("bash", "zsh", "fish", "tcsh")
LIST_FORMATS = ("urls", "jsonl", "json")
COUNT_KINDS = (
    *("sitemap", "folder", "folder:2", "folder:3"),
    *("host", "month", "language", "extension"),
)
TREE_FORMATS = ("tree", "json")
WHY_FORMATS = ("text", "jsonl", "json", "csv", "tsv")
SCALE_FORMATS = ("text", "json")
WATCH_FORMATS = ("plain", "jsonl")
AUDIT_FORMATS = ("text", "json", "sarif", "html", "markdown", "junit")
COMPARE_FORMATS = ("text", "markdown", "json", "csv")
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
        self.says = says
        self.rivals = rivals
        self.file = file
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
_ROW_COMMANDS = "urls read"
_ENTRY_COMMANDS = "urls read newest"
_NOT_STATE = "urls why discover newest tree read audit submit scale watch"
_ALL = f"{_NOT_STATE} compare mcp state identity completion"
_FILE: dict[str, Any] = {"metavar": "FILE", "type": parse_file}
_READABLE: dict[str, Any] = {**_FILE, "file": "read"}
_WRITTEN: dict[str, Any] = {**_FILE, "file": "written"}
_PATTERN: dict[str, Any] = {
    "metavar": "PATTERN",
    "type": parse_pattern,
    "action": "append",
}
_WHEN: dict[str, Any] = {"metavar": "WHEN"}
_CODE_LIST: dict[str, Any] = {"metavar": "CODE,...", "type": parse_fields}
_COUNTED: dict[str, Any] = {"metavar": "N", "type": parse_whole_number}
_DURATION: dict[str, Any] = {"metavar": "SECONDS", "type": parse_seconds}
_SHOWN_LIMITS = Limits()
_FETCH = FetchOptions()

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
        Option("list", "scale", "file of hosts and URLs, one a line, or the URL of such a file; "
               "- is standard input (default: the list of the last run). The word status shows "
               "the last run",
               metavar="HOSTS", nargs="?"),
        Option("sources", "submit", "your site, such as example.org", metavar="SITE",
               nargs=1),
        Option("--key-file", "submit", "read the key from FILE, as the site serves it at /KEY.txt",
               required=True, **_READABLE),
        Option("--endpoint", "submit", "submit to the service at URL (default: api.indexnow.org)",
               metavar="URL", type=parse_base_url),
        Option("--dry-run", "submit", "print the URLs, one a line; submit and remember nothing"),
        Option("-i --input-file", "urls tree discover watch",
               "read sites and sitemaps from FILE, one a line; - is standard input (may be "
               "repeated)", action="append", **_READABLE),
        Option("urls", "why", "URL that should be listed, such as https://example.org/page; with "
               "--in, also a path such as /page",
               metavar="URL", nargs="*"),
        Option("-i --input-file", "why", "read URLs from FILE, one a line; - is standard input "
               "(may be repeated)", action="append", **_READABLE),
        Option("--in", "why", "search the sitemaps of SITE, which is a site, a folder or a sitemap "
               "(default: the site of each URL)", "inside", metavar="SITE"),
        Option("--visits", "why", "request N of the pages for their status, or all (default: 100)",
               "max_visits", metavar="N|all", type=parse_pages, default=100),
        Option("--site", _WALK, "treat each URL as a site", "kind", action="store_const",
               const="site",
               rivals="kind"),
        Option("--sitemap", _WALK, "treat each URL as a sitemap", "kind", ("sitemaps=",),
               action="store_const", const="sitemap", rivals="kind"),
        Option("--base-url", "urls tree audit read",
               "read the folder or file as if it were served at URL", "", ("url",), metavar="URL",
               type=parse_base_url),
        Option("--urls", "audit", "compare with the known URLs in FILE (from a crawl, a log or "
               "Search Console, as text, CSV, TSV, JSON lines or Parquet)", **_READABLE),
        Option("--pages", "audit", "check the response of N listed pages, or all "
               "(default: none of a site, all of a built folder; 0: none)", metavar="N|all",
               type=parse_pages),
        Option("--page-seed", "audit", "with --pages N: draw the sample number N (default: 0)",
               metavar="N", type=int),
        Option("--was", "audit", "check whether old URLs lead to listed pages: all of the old "
               "site, or as many as --pages allows. OLD is a sitemap, folder, URL or list; "
               "with columns old and new, hits of a baseline move with their URLs",
               metavar="OLD"),
        Option("--was", "compare", "follow the URLs in FILE that moved: columns old and new",
               **_READABLE),
        Option("--since-audit", "audit", "report pages whose date is newer though their text is "
               "the same: FILE is the database of an earlier audit with --pages", **_READABLE),
        Option("--full", "scale", "forget what was read: write every URL of every host"),
        Option("--retry", "scale", "read also hosts that failed and are not due yet"),
        Option("--only-failed", "scale", "read only the hosts that the last run did not read "
               "completely, due or not"),
        Option("--failed", "scale", "with the word status: print the hosts that were not read"),
    ),
    "what to show": (
        Option("file", "state", "file that --state wrote", **_READABLE),
        Option("--unlisted", "state",
               "print only the URLs that no sitemap lists any more, one a line"),
        Option("--gone", "state",
               "print only the URLs whose page is gone (404 or 410), one a line"),
        Option("--plan", "state", "print the next N sitemaps of --revisit, with time and reason",
               **_COUNTED),
        Option("folder", "mcp", "folder for the states of sites; made if missing",
               metavar="FOLDER"),
        Option("before", "compare", "report of an audit, made by -o report.json; or a list of "
               "URLs: .csv .jsonl .txt .parquet and others, or a sitemap",
               **_READABLE | {"metavar": "BEFORE"}),
        Option("after", "compare", "report of a later audit, or a later list",
               **_READABLE | {"metavar": "AFTER"}),
        Option("key_file", "identity", "file with an Ed25519 key; made if missing",
               metavar="KEY_FILE"),
        Option("--headers", "identity", "print headers for a static server, valid for N days",
               metavar="N", type=parse_whole_number),
        Option("shell", "completion", f"one of {', '.join(SHELLS)}", metavar="SHELL",
               choices=SHELLS),
    ),
    "which URLs": (
        Option("--since", "urls read tree why",
               "keep URLs changed since WHEN: a date (2026-01-31), or a time ago (30m, 12h, 7d, "
               "2w)",
               type=parse_since_option, **_WHEN),
        Option("--until", "urls read tree why",
               "keep URLs last changed until WHEN: a date (that day included), or a time ago",
               type=parse_until_option, **_WHEN),
        Option("--no-prune", "urls tree", "with --since: also read sitemaps that their index dates "
               "before WHEN; with --changes: also request sitemaps whose date there is the same",
               "prune", action="store_false"),
        Option("--undated", "urls read tree why",
               "keep or drop URLs without a lastmod or news date, with --since or --until "
               "(default: keep; the summary counts them)",
               choices=("keep", "drop")),
        Option("-n --number", "newest", "print N URLs (default: 10)", default=10, **_COUNTED),
        Option("--include", f"{_ENTRY_COMMANDS} submit watch why",
               "keep URLs that match PATTERN: a regular expression, or a glob such as '/blog/*' "
               "(may be repeated)", **_PATTERN),
        Option("--exclude", f"{_ENTRY_COMMANDS} submit watch why",
               "drop URLs that match PATTERN (may be repeated)", **_PATTERN),
        Option("--limit", _ROW_COMMANDS, "stop after N URLs", "", ("Limits.max_urls",), **_COUNTED),
        Option("--language", f"{_ENTRY_COMMANDS} why",
               "keep URLs whose record names one of these languages; und: none",
               metavar="CODE,...", type=parse_fields),
        Option("--sample", _ROW_COMMANDS,
               "print a random sample of N URLs, each URL with the same chance", **_COUNTED),
        Option("--seed", _ROW_COMMANDS, "with --sample: draw the sample number N (default: 0)",
               metavar="N", type=int),
        Option("--unique", _ROW_COMMANDS, "print each URL once (/#a counts as /)"),
    ),
    "rules": (
        Option("--select", "audit",
               "run only these rules: codes, categories or prefixes (url-*)", **_CODE_LIST),
        Option("--ignore", "audit", "skip these rules, even if --select names them; "
               "or hits of a rule at URLs that match a pattern: page-noindex:/en/*",
               **_CODE_LIST),
        Option("--fail-on", "audit",
               "exit with 5 for findings this severe, or more severe (default: error)",
               choices=FAIL_ON),
        Option("--fail-on", "compare",
               "exit with 5 if findings this severe are new or worse (default: error)",
               choices=FAIL_ON, default="error"),
        Option("--robots", "audit",
               "judge the robots.txt rules for robots NAME (default: Googlebot)",
               metavar="NAME,...", type=parse_fields),
        Option("--rules", "audit", "add the rules in FOLDER: files of SQL", metavar="FOLDER"),
        Option("--baseline", "audit", "exit with 5 only for hits that are not in FILE",
               **_READABLE),
        Option("--write-baseline", "audit",
               "write the hits to FILE, for --baseline; none of them fails", **_WRITTEN),
        Option("--list-rules", "audit", "list all rules"),
        Option("--explain", "audit", "explain the rule CODE", metavar="CODE"),
    ),
    "state": (
        Option("--state", "urls", "remember in FILE what was read: the next run prints only the "
               "URLs of "
               "sitemaps that have changed, and resumes this run if it was interrupted",
               **_WRITTEN),
        Option("--state", "why", "report which URLs are unlisted or gone, by the state FILE",
               "state_file", **_READABLE),
        Option("--state", "submit", "remember in FILE what the service has accepted", "state_file",
               required=True, **_WRITTEN),
        Option("--state", "watch", "keep the state of the sites in FILE", "state_file",
               required=True, **_WRITTEN),
        Option("--pace", "watch", "send N requests an hour to each site, on average (default: 6)",
               metavar="N", type=parse_seconds, default=6.0),
        Option("--for", "watch", "watch for TIME, such as 8h (default: until Ctrl-C)",
               "max_time", metavar="TIME", type=parse_duration),
        Option("--initial", "watch", "print all URLs of a site when it is read for the first time"),
        Option("--kinds", "watch", "print these kinds of changes: new, gone, unlisted, changed "
               "(default: new,gone)", metavar="KIND,...", type=parse_fields,
               default=("new", "gone")),
        Option("--all", "submit", "on the first run, submit all URLs (default: only record them)",
               "submit_all"),
        Option("--changes", "urls",
               "print only new and changed URLs; requires --state", "", ("Changes",)),
        Option("--exit-code", "urls", "with --changes: exit with 7 if there are changes, "
               "otherwise with 0"),
        Option("--revisit", "urls", "with --changes: fetch only N of the known sitemaps, those "
               "where "
               "changes have probably waited longest", **_COUNTED),
        Option("--confirm-after", "urls scale", "report a URL as unlisted when readings TIME apart "
               "lack it, such as 12h (default: 23h, so run again a day later; 0: at once)",
               metavar="TIME", type=parse_patience),
        Option("--revisit", "scale", "fetch only N of the known sitemaps, those where changes "
               "have probably waited longest", "revisit_all", **_COUNTED),
        Option("--gone-pages", "scale", "check whether N pages of missing URLs of each host "
               "are gone", default=0, **_COUNTED),
        Option("--unlisted", "urls", "with --changes: at the end, print the URLs that no sitemap "
               "lists any more; requires a format with the field `change`, such as jsonl"),
        Option("--gone", "urls", "with --changes: at the end, request the pages of missing URLs, "
               "and print the pages that return 404 or 410 in two walks"),
    ),
    "output": (
        Option("--json", "urls read newest discover why tree state audit compare scale",
               "print JSON: short for --format json", "format", action="store_const",
               const="json", default=SUPPRESS, rivals="format"),
        *(
            Option(
                "--format",
                commands,
                f"write this format (default: suffix of -o, else {names[0]})",
                choices=names,
                rivals="format",
            )
            for commands, names in (
                ("urls", (*FORMATS, *FILE_FORMATS)),
                ("read newest", (*FORMATS, "xlsx")),
                ("discover", LIST_FORMATS),
                ("tree", TREE_FORMATS),
            )
        ),
        Option("--format", "audit", "print the report in this format (default: text)",
               rivals="format", choices=AUDIT_FORMATS),
        Option("--format", "state", "print text (the default), or JSON with all fields of each "
               "site and document; with --unlisted and --gone, of each URL",
               rivals="format", choices=LIST_FORMATS),
        Option("--format", "why", "print text (the default), JSON (one line for each URL, or "
               "one array), or a table with a row for each URL",
               rivals="format", choices=WHY_FORMATS),
        Option("--format", "compare", "print the comparison in this format (default: text)",
               rivals="format", choices=COMPARE_FORMATS),
        Option("--format", "scale", "with the word status: print text (the default), or JSON",
               rivals="format", choices=SCALE_FORMATS, default="text"),
        Option("--format", "watch", "print moment, kind and URL, separated by tabs (plain, the "
               "default), or JSON lines",
               choices=WATCH_FORMATS, default="plain"),
        Option("-o --output", "watch", "write a feed to FILE instead, such as changes.atom",
               **_WRITTEN),
        Option("-o --output", "urls read newest discover tree why",
               "write the result to FILE (default, or -: standard output)", **_WRITTEN),
        Option("-o --output", "audit",
               "write the report to FILE, in the format of its suffix: .html .json .sarif .md "
               ".xml (JUnit) .txt .xlsx (all hits, and visited pages); or a row for each visited "
               "page: .csv .jsonl .parquet (may be repeated)",
               action="append", **_WRITTEN),
        Option("-o --output", "compare",
               "write the comparison to FILE, in the format of its suffix: .txt .md .json .csv",
               **_WRITTEN),
        Option("-o --output", "scale", "write to FOLDER, or to its URL, such as s3://bucket/crawl",
               metavar="FOLDER", required=True),
        Option("--fields", _ENTRY_COMMANDS,
               "write only these fields, in this order, such as loc,lastmod or loc,date,title",
               metavar="NAME,...", type=parse_fields),
        Option("-0 --null", _ENTRY_COMMANDS,
               "end each record with NUL instead of a newline, for xargs -0",
               "", ("null_terminated",)),
        Option("--no-header", _ENTRY_COMMANDS,
               "omit the first line of csv and tsv, to append with >> FILE",
               "header", action="store_false"),
        Option("--title", "audit", "set the title of an HTML or Markdown report to TEXT",
               metavar="TEXT"),
        Option("--count-by", _ROW_COMMANDS,
               "count the URLs by kind: print the number of each kind, the most frequent first; "
               "folder:2 is the first two folders",
               choices=COUNT_KINDS),
        Option("--examples", "audit", "show N hits for each rule (default: 20)", **_COUNTED),
        Option("--hits", "audit",
               "write the hits to FILE: .csv or .jsonl (also .gz), or .parquet; of an Issue, ten "
               "for each document", **_WRITTEN),
        Option("--database", "audit", "keep the DuckDB database of the audit in FILE", **_WRITTEN),
    ),
    "many sites": (
        Option("--report", "urls", "write one row for each site to FILE (.jsonl, .csv or "
               ".parquet): "
               "how it ended and why. With .json, write the whole report of a single source",
               **_WRITTEN),
        Option("--issues", "urls", "write one row for each Issue to FILE (.jsonl, .csv or "
               ".parquet), so for each record that was dropped", **_WRITTEN),
        Option("--shard", "scale", "read the Kth of N parts in one process, for arrays of jobs",
               metavar="K/N", type=parse_shard, rivals="workers"),
        Option("--scheduler", "scale", "use the Dask scheduler at ADDRESS, such as "
               "tls://10.0.0.5:8786",
               metavar="ADDRESS", rivals="workers"),
        Option("--workers", "scale", "run N processes on this machine (default: one for each core)",
               rivals="workers", **_COUNTED),
        Option("--parallel", "scale", "read N hosts at once in each process (default: 64)",
               **_COUNTED),
        Option("--parallel", "urls tree discover watch", f"read N sites at once (default: "
               f"{PARALLEL})",
               default=PARALLEL, **_COUNTED),
    ),
    "where to look": (
        Option("--probe", _WEB, "try the well-known paths: if nothing else is found (auto, the "
               "default), likewise but only two of them (few), always, or never",
               choices=("auto", "few", "always", "never")),
        Option("--map-host", _NETWORK, "fetch URLs of host A from host B, such as a staging site: "
               "www.example.org=https://staging.example.org (may be repeated)", "map_hosts",
               metavar="A=B", type=parse_pair, action="append"),
        Option("--feeds", _WEB, "read the feeds of the start page as well"),
        Option("--no-robots", _NETWORK, "also fetch URLs that robots.txt disallows",
               "respect_robots",
               action="store_false"),
    ),
    "formats": (
        Option("--html-sitemap", f"{_WEB} read", "read the links to the same site in HTML pages "
               "that are named as sitemaps (default: pages are only searched for sitemaps)",
               "extra_formats", action="append_const", const="html"),
    ),
    "how far": (
        Option("--depth", _WALK, f"follow indexes inside indexes to depth N (default: "
               f"{_SHOWN_LIMITS.depth})",
               metavar="N", type=parse_depth),
        Option("--documents", "newest", "read at most N sitemaps (default: 20)", "most",
               default=20, **_COUNTED),
        Option("--site-timeout", "audit", "stop the walk and the pages after SECONDS, and judge "
               "what was read (default: a day)", "walk_seconds", **_DURATION),
        Option("--site-timeout", "urls tree", "stop each site after SECONDS, and print what was "
               "read "
               f"(default: {SITE_SECONDS:g} for each of several sites, a day for a single one)",
               "walk_seconds", **_DURATION),
        *(
            Option("--max-time", commands, "stop the run after TIME, such as 90s, 30m or 2h, "
                   f"and {act} what was read", metavar="TIME", type=parse_duration)
            for commands, act in (("audit", "judge"), ("urls tree", "print"))
        ),
        Option("--order", "urls tree", "read the sitemaps of an index as listed (document, the "
               "default), or the newest lastmod first, so that --limit prints new URLs",
               choices=("document", "newest")),
        Option("--hosts", f"{_WALK} submit why",
               "read sitemaps on the same host, on the same site (the default), or on any host",
               choices=("host", "site", "any")),
        Option("--follow", _WALK,
               "read only the sitemaps of an index that match PATTERN (may be repeated)", "wanted",
               says=("follow",), **_PATTERN),
        Option("--no-follow", _WALK,
               "skip the sitemaps of an index that match PATTERN (may be repeated)", "unwanted",
               **_PATTERN),
    ),
    "network": (
        Option("-c --concurrency", f"{_WALK} discover", f"fetch N documents of one site at once "
               f"(default: "
               f"{_FETCH.concurrency}; at most {_FETCH.per_host} from one host)", **_COUNTED),
        Option("--delay", f"{_NETWORK} scale mcp",
               "wait SECONDS between two requests to one host; robots.txt may require more",
               "delay_seconds",
               metavar="SECONDS", type=parse_delay),
        Option("-m --timeout", f"{_NETWORK} scale mcp",
               "give up after SECONDS without the whole document, or without its first byte "
               f"(default: {_FETCH.total_seconds:g} and {_FETCH.headers_seconds:g})", "",
               ("headers_seconds", "total_seconds"), **_DURATION),
        Option("-x --proxy", f"{_NETWORK} scale", "send requests through the HTTP proxy at URL, "
               "or through the ones that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name if URL is the "
               "word environment",
               metavar="URL", type=parse_proxy),
        Option("-A --user-agent", f"{_NETWORK} scale mcp",
               "send the User-Agent NAME, and obey the robots.txt rules for it; "
               "recommended: your crawler and a page about it, "
               f"'NewsBot/2.1 (+https://...)' (default: {_FETCH.user_agent})", metavar="NAME"),
        Option("--sign-key", f"{_NETWORK} scale mcp",
               "sign https requests with the Ed25519 key in FILE; "
               "requires --sign-as", "sign_key", **_READABLE),
        Option("--sign-as", f"{_NETWORK} scale mcp identity",
               "name URL as the place of the public key, in signed requests",
               "sign_as", ("agent",), metavar="URL"),
        Option("--sign-form", f"{_NETWORK} scale mcp",
               "write the name as a string or as a dictionary; "
               "Cloudflare requires string, the default", "sign_form",
               choices=("string", "dictionary")),
        Option("-H --header", _NETWORK,
               "send a header to the sites named here, to no others (may be repeated)",
               "header_lines",
               metavar="'NAME: VALUE'", type=parse_header, action="append"),
        Option("-u --user", _NETWORK,
               "log in to the sites named here, to no others; a missing password is taken "
               "from SITEMAPREADER_PASSWORD, or prompted for", "",
               ("headers",), metavar="USER[:PASSWORD]"),
        Option("--allow-network", f"{_NETWORK} scale mcp",
               "allow NETWORK though it is not public, such as 10.0.0.0/8 (may be repeated)",
               "allow_networks", metavar="NETWORK", action="append"),
        Option("--allow-port", f"{_NETWORK} scale mcp",
               "allow PORT, or several as 8000-8009, besides 80, 443 and the ports of the sources "
               "(may be repeated)",
               "allow_ports", metavar="PORT", type=parse_ports, action="extend"),
    ),
    "messages": (
        Option("-q --quiet", "urls discover newest tree read submit",
               "print nothing but errors, and the summary if something was not read"),
        Option("-q --quiet", "why scale watch",
               "print only the error that ends the program, if any"),
        Option("-q --quiet", "audit compare", "print only the error that ends the program, if any: "
               "no report either, unless --format or -o asks for one"),
        Option("--allow-loss", "urls audit", "exit with 0 if all losses have these reasons: "
               "template,http-status", metavar="CODE,...", type=parse_reasons),
        Option("-v --verbose", _NOT_STATE, "also print Issues of severity info"),
    ),
    "general": (
        Option("-h --help", _ALL, "show the help; with --all, show all options",
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
--fail-on --hits --was --database --workers --retry --full
"""
EVERYDAY = frozenset(_EVERYDAY.split())
"""The options that `--help` shows where a command has many."""


def list_options(command: str) -> Iterator[tuple[str, list[Option]]]:
    """Yield the groups of a command, with their options."""
    for group, options in OPTIONS.items():
        if chosen := [each for each in options if command in each.commands]:
            yield group, chosen


def _list_flags(command: str) -> dict[str, tuple[str, ...]]:
    return {
        flag: option.choices or ()
        for _, options in list_options(command)
        for option in options
        for flag in option.flags
        if flag.startswith("-")
    }


FLAGS = {command: _list_flags(command) for command in _ALL.split()}
"""Command -> its options, each with its values if they are few."""
