"""The settings of a project: files that say, for all commands, what the command line does not."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import package
from tests.support.commands import run, serving, urlset

if TYPE_CHECKING:
    from pathlib import Path

    from aiohttp import web

VARIABLE = "SITEMAPREADER_USER_AGENT"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a site, in which the commands run."""
    shutil.copytree(package.ROOT / "testdata" / "site", tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def write(folder: Path, text: str, name: str = "sitemapreader.toml") -> None:
    (folder / name).write_text(f"{text}\n", "utf-8")


# -- all commands


def test_settings_for_all_commands(folder: Path) -> None:
    """A key holds for all commands that have the option; a table is for one command."""
    write(
        folder,
        'include = ["/sightings/*"]\nlimit = 3\n[read]\nfields = ["loc", "lastmod"]\n'
        'format = "csv"\n[newest]\nnumber = 2',
    )
    urls = run("site", "-q").stdout.split()
    assert len(urls) == 3
    assert all("/sightings/" in url for url in urls)
    newest = run("newest", "site", "-q").stdout.split()
    assert len(newest) == 2
    assert all("/sightings/" in url for url in newest)
    rows = run("read", "site/sitemap-pages.xml", "-q").stdout
    assert rows.split()[:1] == ["loc,lastmod"]


def test_the_command_line_goes_before(folder: Path) -> None:
    """A value that is typed replaces that of the file, also where several are possible."""
    write(folder, 'include = "/sightings/*"\nlimit = 3\nformat = "jsonl"\nquiet = true')
    done = run("site", "--include", "/birds/*", "--limit", "1", "--format", "urls")
    assert "/birds/" in done.stdout
    assert len(done.stdout.split()) == 1
    assert done.stderr == ""
    assert json.loads(run("site", "--json").stdout)


def test_the_settings_of_pyproject(folder: Path) -> None:
    """They stand below [tool.sitemapreader]; a file of our own goes before, other tools' do not."""
    write(folder, "[tool.other]\nlimit = 1", "pyproject.toml")
    assert len(run("site", "-q").stdout.split()) == 43
    write(folder, "not TOML of anybody", "pyproject.toml")
    assert len(run("site", "-q").stdout.split()) == 43
    write(folder, "[tool.sitemapreader]\nlimit = 1", "pyproject.toml")
    assert len(run("site", "-q").stdout.split()) == 1
    write(folder, "limit = 2")
    assert len(run("site", "-q").stdout.split()) == 2


def test_what_a_command_requires_may_be_a_setting(folder: Path) -> None:
    """A required option that the file has need not be typed; help needs no file that is right."""
    write(folder, '[submit]\nstate = "s.db"\nkey-file = "key.txt"')
    said = run("submit", "site").stderr
    assert "required" not in said
    assert "name the public URL" in said
    write(folder, "wrong = 1")
    assert run("--help").returncode == 0


@pytest.mark.cases(23)
@pytest.mark.parametrize(
    ("line", "said"),
    {
        "limitt = 3": "there is no setting 'limitt': did you mean limit?",
        "user_agent = 'x'": "did you mean user-agent?",
        "a = 1\nb = 2": "there is no setting 'a', 'b': choose from",
        "[url]\nlimit = 3": "there is no command 'url': did you mean urls?",
        "[urls]\npages = 3": "there is no setting of urls 'pages': choose from",
        "[tree]\nlimit = 3": "there is no setting of tree 'limit': choose from",
        "limit = 'many'": "limit: 'many': write a whole number above 0",
        "limit = true": "limit must be a text",
        "limit = -1": "limit: '-1': write a whole number above 0",
        "unique = 'yes'": "unique must be true or false, got 'yes'",
        "include = 5": "include must be a text, got 5",
        "include = ['(']": "include: '(' is not a regular expression",
        "format = 'jsn'": "there is no format 'jsn': did you mean json?",
        "output = '../urls.csv'": "not in this folder: name it on the command line with --output",
        "state = '/elsewhere/s.db'": "not in this folder: name it on the command line with --state",
        "user = 'me:secret'": "there is no setting 'user'",
        "header = ['Cookie: a=b']": "there is no setting 'header'",
        "allow-network = ['10.0.0.0/8']": "there is no setting 'allow-network'",
        "map-host = ['a=b']": "there is no setting 'map-host'",
        "proxy = 'http://a.example:1'": "only 'environment' can be set in a file",
        "limit = [": "Invalid value",
        f"x = {'9' * 5_000}": "digits",
        f"x = {'[' * 9_999}": "nested too deep",
    }.items(),
)
def test_wrong_settings(folder: Path, line: str, said: str) -> None:
    """They are named, with the file and what to write, before anything is read; exit code 2."""
    write(folder, line)
    done = run("site")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: sitemapreader.toml: {said}" in done.stderr or said in done.stderr
    assert "sitemapreader.toml: " in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_a_file_that_cannot_be_read(folder: Path) -> None:
    """It is named, and not passed over."""
    (folder / "sitemapreader.toml").write_bytes(b"\xff\xfe")
    done = run("site")
    assert done.returncode == 2
    assert "error: sitemapreader.toml: " in done.stderr


# -- the environment


def test_the_user_agent_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes before that of the file, and after that of the command line."""
    seen: set[str] = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        seen.add(request.headers["User-Agent"])
        raise_not_found = request.path != "/sitemap.xml"
        return web_response(404 if raise_not_found else 200)

    def ask(*words: str) -> set[str]:
        seen.clear()
        run(url, *words)
        return {*seen}

    with serving(answer) as (url,):
        write(folder, 'user-agent = "file/1"')
        assert ask() == {"file/1"}
        monkeypatch.setenv(VARIABLE, "environment/1")
        assert ask() == {"environment/1"}
        assert ask("-A", "typed/1") == {"typed/1"}
        monkeypatch.setenv(VARIABLE, "")
        assert ask() == {"file/1"}
    monkeypatch.setenv(VARIABLE, "a\nb")
    done = run("site")
    assert done.returncode == 2
    assert f"{VARIABLE}: " in done.stderr


def web_response(status: int) -> web.StreamResponse:
    from aiohttp import web  # noqa: PLC0415 (few tests need it)

    return web.Response(status=status, body=urlset(1, "http://127.0.0.1"))


# -- an audit


def audit(*words: str) -> dict[str, Any]:
    done = run("audit", "site", "--json", "-q", "--fail-on", "never", *words)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_the_settings_of_an_audit(folder: Path) -> None:
    """Rules, severities and figures; what is typed goes before."""
    codes = {each["rule"]["code"] for each in audit()["findings"]}
    first, second, *_ = sorted(codes)
    write(
        folder,
        f'[tool.sitemapreader.audit]\nignore = ["{first}"]\n'
        f'severity = {{ {second} = "error" }}\nfigures = {{ stale_years = 5 }}',
        "pyproject.toml",
    )
    found = {each["rule"]["code"]: each["severity"] for each in audit()["findings"]}
    assert first not in found
    assert found[second] == "error"
    typed = {each["rule"]["code"] for each in audit("--ignore", second)["findings"]}
    assert first in typed
    assert second not in typed


@pytest.mark.cases(14)
@pytest.mark.parametrize(
    ("line", "said"),
    {
        "ingore = []": "did you mean ignore",
        "ignore = 1": "must be a text",
        'fail-on = "errors"': "there is no fail-on 'errors'",
        'severity = "error"': "must be a table",
        'severity = { url-asset = "grave" }': "there is no severity 'grave'",
        "figures = { stale_year = 1 }": "did you mean stale_years",
        "figures = { stale_years = -1 }": "a number from 0 to",
        'figures = { session_parameters = "sid" }': "as a list",
        "figures = { asset_suffixes = [1] }": "a list of words",
        "figures = { now = 9999-12-31T23:59:59-12:00 }": "out of range",
        'rules = "a\\u0000b"': "null ",
        'rules = "../rules"': "not in this folder: name it on the command line with --rules",
        'urls = "/etc/hosts"': "not in this folder: name it on the command line with --urls",
        'baseline = "link/b.json"': "not in this folder: name it on the command line with",
    }.items(),
)
def test_settings_of_an_audit_that_are_none(folder: Path, line: str, said: str) -> None:
    """A key or value that cannot be meant is an error, which names the file and what to write."""
    if not (folder / "link").is_symlink():
        (folder / "link").symlink_to(folder.parent)
    write(folder, f"[audit]\n{line}")
    done = run("audit", "site")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: sitemapreader.toml: " in done.stderr
    assert said in done.stderr
