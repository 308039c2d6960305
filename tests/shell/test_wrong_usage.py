"""Wrong usage: two lines that say what to write instead, before anything is fetched or written."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sitemapreader._cli.commands import COMMANDS
from tests.support import package
from tests.support.commands import run
from tests.support.walking import urlset

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "\x1b]0;owned\x07\u202e\x9b31m"

WRONG = [
    # words that name no source
    (
        "missing.xml",
        "'missing.xml' is neither an http(s) URL nor an existing file or folder",
    ),
    ("tree ftp://a.example/", "'ftp://a.example/' is neither an http(s) URL"),
    ("discover ./map.xml", "'./map.xml' is neither"),
    ("[::1", "'[::1' is neither"),
    ("a.b:99999", "'a.b:99999' is neither"),
    ("a.b\N{NO-BREAK SPACE}c.d", "is neither an http(s) URL"),
    ("https://a.b\N{NO-BREAK SPACE}c.d/", "is neither an http(s) URL"),
    ("s:map.xml", "'s:map.xml' is neither"),
    ("audit s:map.xml", "'s:map.xml' is neither"),
    ("audit discovr", "'discovr' is neither"),
    ("discovr", "; did you mean discover?"),
    ("sumbit", "; did you mean submit?"),
    ("walkabout", f"; the commands are {', '.join(COMMANDS)}"),
    ("", "no source was given: name "),
    ("tree", "no source was given: name "),
    ("audit", "no source was given: name "),
    ("-q tree site", "tree is a command, which comes first: sitemapreader tree"),
    ("tree site/sitemap_index.xml", "name its URL, or the folder"),
    (
        "read https://a.example/a.xml",
        "is a URL, and read is for files: omit the word read",
    ),
    ("read site", "site is a folder, and read is for files: omit the word read"),
    (
        "submit site --state s.db --key-file sites.txt",
        "site is on this machine: name the public URL",
    ),
    ("mcp sites.txt", "cannot write to folder sites.txt: File exists; name another"),
    ("site -i - -", "cannot be both a list"),
    ("-i - -i - -", "cannot be both a list"),
    ("completion bash zsh", "unexpected argument: zsh"),
    ("completion powershell", "choose from bash, zsh, fish, tcsh"),
    # values
    ("site --format jsn", "unknown value 'jsn': did you mean json?"),
    ("site --format=JSONL", "choose from urls, jsonl, json, csv, tsv, parquet"),
    ("tree site --format jsonl", "did you mean json?"),
    ("site --probe maybe", "'maybe': choose from auto, few, always, never"),
    (
        "site --lim 3",
        "unknown option: --lim; did you mean --limit? see sitemapreader --help",
    ),
    ("site --user-name=me:hidden", "unknown option: --user-name;"),
    ("site --limit -1", "'-1': write a whole number above 0"),
    ("site --limit ten", "write a whole number above 0"),
    ("site -c -2", "'-2': write a whole number above 0"),
    ("site --depth 1000", "write a number from 1 to 100"),
    ("site --timeout=nan", "write a number above 0"),
    ("site --delay -1", "write a number of seconds"),
    ("site --max-time 0", "write a time above 0, such as 90s, 30m or 2h"),
    ("site --max-time 1e99d", "write a time above 0"),
    ("site --since -soon", "expected one argument"),
    ("site --since yesterday", "write a date (2026-01-31) or a time before now"),
    (f"site --since {'9' * 40}d", "write a date (2026-01-31) or a time before now"),
    ("site --include [", "'[' is not a regular expression"),
    ("site --exclude '(.html'", r"as in \(\.html"),
    (
        "site --base-url ftp://a.example/",
        "write a full URL, such as https://example.org/",
    ),
    ("scale -o crawl --shard=0/3", "write a whole number above 0"),
    ("scale -o crawl --shard=4/3", "write the number of the shard and of all shards"),
    ("scale -o crawl --shard=a/b", "write a whole number above 0"),
    ("site --fields loc,colour --format csv", "no field 'colour': choose from loc"),
    (
        "site --fields lasmod --format csv",
        "no field 'lasmod': did you mean lastmod? choose from",
    ),
    ("site --count-by colour", "choose from sitemap, folder"),
    ("site -x socks5://127.0.0.1:1080", "must be the URL of an HTTP proxy"),
    ("site -x http://user:hidden@", "--proxy must be the URL of an HTTP proxy"),
    ("site -u reader", "write USER:PASSWORD"),
    ("site -H hidden", "write a header as 'Name: value'"),
    ("site -H 'X-\u00e4: hidden'", "cannot be the name of a header"),
    (
        "site -H 'X-Key: hid\nden'",
        "the value of the header X-Key has control characters",
    ),
    ("site --allow-network everything", "everything"),
    ("site --state ''", "is empty: write one"),
    ("site -o file:///a.csv", "write the path of the file"),
    *[
        (f"{way} new/x.csv", "new/x.csv: the folder new does not exist: make it")
        for way in (
            "site -o",
            "site --state",
            "site --report",
            "audit site -o r.html --hits",
            "audit site --write-baseline",
        )
    ],
    ("audit site --select nope", "--select: there is no rule, category or prefix"),
    ("audit site --ignore nope", "--ignore: there is no rule, category or prefix"),
    ("audit --explain nope", "--explain: there is no rule, category or prefix"),
    ("audit site --rules none", "--rules: none cannot be read"),
    ("audit site --baseline none.json", "--baseline: none.json cannot be read"),
    ("audit site --urls none.txt", "--urls: the list of known URLs cannot be read"),
    ("audit site --hits x.foo", "--hits: end the name of 'x.foo' with"),
    ("audit site -o x.foo", "-o: the name 'x.foo' does not end with"),
    ("site -H 'a b: c'", "-H/--header: 'a b' cannot be the name of a header"),
    ("site --sign-key sites.txt --sign-as x", "--sign-as must be an https URL"),
    # what does not go together
    (
        "site --format csv -o x.parquet",
        "whose suffix means parquet: leave that option out, or end",
    ),
    *[
        (f"site --state s.db -o s.db{end}", "--state is the same file")
        for end in ("-wal", "-lock")
    ],
    ("site --site --sitemap", "not allowed with"),
    ("site -0 --format csv", "--null cannot be combined with csv: leave it out, or"),
    ("site --no-header --format jsonl", "--no-header cannot be combined with jsonl"),
    (
        "site --fields loc,title",
        "--fields cannot be combined with urls: leave it out, or choose",
    ),
    (
        "site --count-by folder --fields loc",
        "--count-by cannot be combined with --fields",
    ),
    (
        "site --count-by folder --sample 3",
        "--sample cannot be combined with --count-by",
    ),
    ("site --exit-code", "--exit-code requires --changes and --state FILE"),
    ("site --exit-code --state s.db", "--exit-code requires --changes"),
    ("site --undated drop", "--undated requires --since or"),
    (
        "a.example --base-url https://b.example/",
        "'a.example' does not exist: check the path",
    ),
    (
        "-i sites.txt --base-url https://b.example/",
        "--base-url requires a folder or a file",
    ),
    (
        "audit a.example --base-url https://b.example/",
        "'a.example' does not exist: check the path",
    ),
    (
        "audit https://a.example/ --base-url https://b.example/",
        "--base-url requires a folder or a file: leave it out",
    ),
    (
        "audit ./pubic --base-url https://b.example/",
        "'./pubic' does not exist: check the path",
    ),
    ("pubic/x --base-url https://b.example/", "'pubic/x' does not exist"),
    ("audit site --pages all --page-seed 1", "--page-seed requires --pages N"),
    ("audit a.example -o pages.csv", "has a row for each visited page: add --pages"),
    ("audit site --page-seed 1", "--page-seed requires --pages N"),
    ("audit site --pages many", "--pages: 'many': write a number, 0 or all"),
    ("audit site --pages -1", "'-1': write a number, 0 or all"),
    (
        "audit site --pages 0 --was sites.txt",
        "--was requires visits, but --pages is 0: write",
    ),
    (
        "audit site --select url-",
        "there is no rule, category or prefix 'url-': did you mean url-*?",
    ),
    ("audit site --urls http://a.example/", "is a URL: write the path of a file"),
    ("site -o s3://bucket/urls.csv", "is a URL: write the path of a file on this"),
    ("compare", "the following arguments are required: BEFORE, AFTER"),
    ("compare a.json", "the following arguments are required: AFTER"),
    ("site --format xlsx", "xlsx requires a file"),
    ("site --format atom --changes --state s.db", "atom requires a file"),
    ("newest a.example -o changes.atom", "--format atom requires urls with --changes"),
    ("site -o changes.atom", "requires urls with --changes and --state FILE"),
    ("site -o sites.txt.atom --changes --state s.db", "is not a feed of this program"),
    (
        "site -o c.atom --changes --state s.db --fields loc,title",
        "--fields cannot be combined with atom",
    ),
    (
        "site -o c.atom --changes --state s.db --count-by folder",
        "cannot be combined with atom",
    ),
    # files
    (
        "site -o urls.sql",
        "end the name with .jsonl, .json, .csv, .tsv, .parquet, .xlsx or .txt",
    ),
    (
        "newest site -o n.sql",
        "end the name with .jsonl, .json, .csv, .tsv, .parquet, .xlsx or .txt",
    ),
    (
        "newest site --format atom",
        "unknown value 'atom': choose from urls, jsonl, json, csv, tsv, parquet, xlsx",
    ),
    (
        "site -o urls.cvs",
        "-o: .cvs cannot be written: did you mean csv? Or end the name with .jsonl",
    ),
    (
        "tree site -o tree.jso",
        "-o: .jso cannot be written: did you mean json? Or end the name",
    ),
    *[
        (f"site -o urls.{end}", "cannot be written: end the")
        for end in ("csv.bz2", "foo", "zst")
    ],
    ("tree site -o tree.ndjson", "-o: .ndjson cannot be written"),
    (
        "discover site -o a.csv",
        "-o: .csv cannot be written: end the name with .jsonl, .json or .txt",
    ),
    (
        "site --report sites.txt",
        "the name of a report must end with .jsonl, .csv, .parquet",
    ),
    ("site --state s.db -o ./s.db", "--output ./s.db: --state is the same file"),
    (
        "site --state s.db -o linked.csv",
        "--output linked.csv: --state is the same file",
    ),
    ("site -o a.csv --report a.csv", "--report a.csv: --output is the same file"),
    ("-i sites.txt -o sites.txt", "--output sites.txt: --input-file is the same file"),
    (
        "read site/sitemap_index.xml -o site/sitemap_index.xml --format urls",
        "a source is the same file",
    ),
    ("tree site -o site/robots.txt", "the folder that you read has this document"),
    (
        "audit site --hits a.csv -o site/sitemap_index.xml",
        "name a file outside the folder",
    ),
    (
        "audit site -o a.html -o ./a.html",
        "--output ./a.html: --output is the same file",
    ),
    (
        "audit site -o a.json --write-baseline a.json",
        "--write-baseline is the same file",
    ),
    ("audit site --hits a.csv --database a.csv", "is the same file"),
    ("watch a.example --state s.atom -o s.atom", "--state is the same file"),
    # what a terminal would act on
    (f"{EVIL}.xml", "neither"),
    (f"--include '({EVIL}'", "regular expression"),
    (f"--{EVIL}", "unknown option"),
    (f"completion {EVIL}", "choose from"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a site in it, a list, a foreign feed, and a link to what will be the state."""
    shutil.copytree(package.ROOT / "testdata" / "site", tmp_path / "site")
    (tmp_path / "sites.txt").write_text("http://127.0.0.1:9/\n", "utf-8")
    (tmp_path / "sites.txt.atom").write_text("<feed>of somebody</feed>", "utf-8")
    (tmp_path / "linked.csv").symlink_to(tmp_path / "s.db")
    return tmp_path


def test_what_to_write_instead(folder: Path, subtests: pytest.Subtests) -> None:
    """Exit code 2; the last line says it in words of the shell; nothing is touched or repeated."""
    for line, said in WRONG:
        with subtests.test(line=line):
            before = {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}
            done = run(
                *shlex.split(line), cwd=folder, input="", errors="surrogateescape"
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert said in done.stderr.splitlines()[-1]
            assert "hidden" not in done.stderr
            assert done.stderr.replace("\n", "").isprintable()
            assert before == {
                path: path.lstat().st_mtime_ns for path in folder.rglob("*")
            }


def test_an_output_beside_the_folder(folder: Path) -> None:
    """What lies beside a folder that is read is none of its documents, and is replaced."""
    words = ("site", "-q", "-o", "sitemap.txt")
    assert [run(*words, cwd=folder).returncode for _ in range(2)] == [0, 0]


def test_an_extra_that_is_missing(folder: Path) -> None:
    """A command that needs an extra says which, and how to install it."""
    code = "import sys; sys.modules['duckdb'] = None; from sitemapreader._cli import main; "
    words = [sys.executable, "-c", f"{code}sys.exit(main(['audit', 'site']))"]
    done = subprocess.run(
        words, cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    advice = r"audit needs duckdb; the extra `audit` brings it: pip install 'duckdb>="
    assert re.search(f"audit: error: {advice}", done.stderr)


@pytest.mark.cases(32)
@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("wrong", ["--no-such-option", "--format=nothing"])
def test_wrong_usage_takes_two_lines(command: str, wrong: str) -> None:
    """A line of usage, and one that says what is wrong, whatever the command."""
    done = run(*command.split(), wrong)
    assert (done.returncode, done.stdout) == (2, "")
    usage, error = done.stderr.splitlines()
    assert usage.startswith(
        f"usage: sitemapreader {command or '[COMMAND]'} [OPTION]..."
    )
    assert error.startswith(f"sitemapreader{' ' * bool(command)}{command}: error: ")


@pytest.mark.parametrize(
    "when", [("--since", "-7d"), ("--since=-7d",), ("--since", "7d")]
)
def test_a_value_may_have_a_minus(tmp_path: Path, when: tuple[str, ...]) -> None:
    """`-7d` is seven days before now, as `7d` is; a pattern may begin with a minus, too."""
    file = tmp_path / "sitemap.xml"
    file.write_bytes(
        b"<urlset><url><loc>http://a.example/a-2020</loc><lastmod>2020-01-01</lastmod></url>"
        b"<url><loc>http://a.example/a-2090</loc><lastmod>2090-01-01</lastmod></url></urlset>"
    )
    done = run("read", "-q", *when, "--include", "-20", str(file))
    assert (done.returncode, done.stdout) == (0, "http://a.example/a-2090\n")


@pytest.mark.parametrize(
    "words", ["-- -x.xml", "-q -- -x.xml b.xml", "read -- b.xml -x.xml"]
)
def test_what_follows_two_dashes_is_a_source(words: str, tmp_path: Path) -> None:
    """A file whose name begins with a dash is read, also as the first one."""
    for name in ("-x.xml", "b.xml"):
        (tmp_path / name).write_bytes(urlset(f"https://example.org/{name}"))
    done = run(*words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    named = {word for word in words.split() if word.endswith(".xml")}
    assert {*done.stdout.split()} == {f"https://example.org/{name}" for name in named}


def test_a_source_that_looks_like_an_option_is_named(tmp_path: Path) -> None:
    """It is neither taken for an option nor lost."""
    done = run("--", "-x", cwd=tmp_path)
    assert done.returncode == 2
    assert "'-x' is neither" in done.stderr
