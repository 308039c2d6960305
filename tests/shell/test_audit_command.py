"""`sitemapreader audit` in a shell: exit codes, outputs, settings, and what goes wrong."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from aiohttp import web

from tests.support.auditing import HOST, page, urlset
from tests.support.commands import run, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "public"
    made.mkdir()
    (made / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml")
    (made / "s.xml").write_bytes(urlset(page("/a#1") + page("/b?sid=1") + page("/c")))
    return made


def test_one_run_writes_several_files(folder: Path, tmp_path: Path) -> None:
    """The suffix of a file is its format; a line says what is found, and what cannot be written."""
    names = (
        tmp_path / "r.html",
        tmp_path / "r.json",
        tmp_path / "r.sarif",
        folder / "j.xml",
    )
    files = [word for name in names for word in ("-o", str(name))]
    more = (
        "--hits",
        str(tmp_path / "h.jsonl"),
        "--database",
        str(tmp_path / "d.duckdb"),
    )
    few = ("--select", "urls")
    done = run("audit", str(folder), *files, *more, *few)
    assert (done.returncode, done.stdout) == (5, "")
    assert "1 error, 1 warning; 7 rules passed" in done.stderr
    assert run("audit", str(folder), "-q", *files[:2], *few).stderr == ""
    assert len((tmp_path / "h.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "r.json").read_text())["facts"]["urls"] == 3
    assert (tmp_path / "d.duckdb").stat().st_size > 0
    # beside its report
    done = run("audit", str(folder), "-o", "/dev/full/r.html", *files, *few)
    assert done.returncode == 1
    assert "cannot write to /dev/full/r.html" in done.stderr


@pytest.mark.parametrize("line", ["", f"Sitemap: {HOST}/s.xml"])
def test_a_build_that_robots_txt_forbids(folder: Path, line: str) -> None:
    """It is one fault, whatever follows from it, and no guessed path is named."""
    (folder / "robots.txt").write_text(f"User-agent: *\nDisallow: /\n{line}\n")
    done = run("audit", str(folder), "--base-url", HOST, "--fail-on", "warning")
    found = [line for line in done.stdout.splitlines() if re.match(r"\w+: ", line)]
    assert found[0].endswith("[robots-blocks-site]")
    assert not [each for each in found[1:] if "robots" in each]
    assert "xmlsitemap" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("exit code 5: ")
    assert ("no sitemap was found and read" in done.stdout) is (line == "")


@pytest.mark.parametrize("build", ["public", "docs/.vitepress/dist"])
def test_a_folder_above_the_build_is_told_where_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str
) -> None:
    """The folder with the sitemap is named, and neither a dependency's nor the source's."""
    for name in ("node_modules/lib", build):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "sitemap.xml").write_bytes(urlset(page("/a")))
    (tmp_path / "content").mkdir()
    monkeypatch.chdir(tmp_path)
    for command in ("audit", "urls"):
        done = run(command, ".")
        said = f"./{build} has a sitemap: read that folder"
        assert said in done.stdout + done.stderr
        assert "node_modules" not in done.stdout + done.stderr
    assert run("urls", build, "-q").returncode == 0


def test_a_build_whose_gzip_is_none(folder: Path) -> None:
    """Its host sends plain XML under a name that says gzip."""
    (folder / "s.xml").rename(folder / "s.xml.gz")
    (folder / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml.gz")
    few = ("--select", "response-not-gzip", "--fail-on", "warning")
    done = run("audit", str(folder), *few)
    assert done.returncode == 5
    assert f"    - {HOST}/s.xml.gz (urlset)" in done.stdout
    plain = (folder / "s.xml.gz").read_bytes()
    (folder / "s.xml.gz").write_bytes(gzip.compress(plain))
    assert run("audit", str(folder), *few).returncode == 0


def test_the_urls_that_a_finding_touches(folder: Path) -> None:
    """Of a rule about sitemaps they are all in these, of one about URLs its hits."""
    robots = (folder / "robots.txt").read_text()
    (folder / "robots.txt").write_text(f"{robots}\nUser-agent: *\nDisallow: /s.xml")
    found = ["robots-blocked-sitemap", "url-session-id"]
    others = ["hreflang-invalid-code", "index-date", "robots-too-complex"]
    few = ("--select", ",".join([*found, *others]))
    done = run("audit", str(folder), "--format", "json", "--base-url", HOST, *few)
    result = json.loads(done.stdout)
    urls = {each["rule"]["code"]: each["urls"] for each in result["findings"]}
    assert (urls["robots-blocked-sitemap"], urls["url-session-id"]) == (3, 1)
    # what was not run or has passed names options of the shell as well
    facts = result["facts"]
    said = {each["code"]: each["advice"] for each in facts["passed"]}
    for each in facts["not_run"]:
        said[each["rule"]["code"]] = each["reason"] + each["rule"]["advice"]
    assert said.keys() == {*others}
    assert "visit pages with --pages to read theirs" in said["hreflang-invalid-code"]
    assert "Read them with --no-prune." in said["index-date"]
    assert "--" in said["robots-too-complex"]


def test_a_baseline_that_is_written_makes_no_failure(
    folder: Path, tmp_path: Path
) -> None:
    """The hits are known from now on; what was not read, or not written, still makes its code."""
    words = (
        "audit",
        str(folder),
        "--select",
        "urls",
        "--fail-on",
        "info",
        "--baseline",
        "b.json",
    )
    written = run(*words[:4], "--write-baseline", "b.json", cwd=str(tmp_path))
    assert (written.returncode, "url-session-id" in written.stdout) == (0, True)
    assert "b.json: 2 hits written" in written.stderr
    known = run(*words, cwd=str(tmp_path))
    assert "\nhits: 0 new, 2 known, 0 mended; findings: " in known.stdout
    assert (known.returncode, ", 0 new" in known.stdout) == (0, True)
    assert "\nknown error: " in known.stdout
    assert f"    - {HOST}" not in known.stdout
    (folder / "s.xml").write_bytes(urlset(page("/a#1") + page("/c")))
    mended = run(*words, cwd=str(tmp_path)).stdout
    assert f"\nmended: url-session-id\n    - {HOST}/b?sid=1\n\nhits: " in mended
    (folder / "robots.txt").write_text(
        f"Sitemap: {HOST}/s.xml\nSitemap: {HOST}/lost.xml"
    )
    assert run(*words[:4], "--write-baseline", str(tmp_path / "c.json")).returncode == 3


TEMPLATE = "/{{ page.slug }}"


@pytest.mark.parametrize("fault", ["template", "robots"])
def test_known_losses_do_not_fail_for_ever(
    fault: str, folder: Path, tmp_path: Path
) -> None:
    """A baseline names what was not read; `--allow-loss` allows a reason; another loss fails."""
    if fault == "template":
        (folder / "s.xml").write_bytes(urlset(page("/a") + page(TEMPLATE)))
        reason = "template"
    else:
        (folder / "robots.txt").write_text(
            f"Sitemap: {HOST}/s.xml\nSitemap: {HOST}/lost.xml"
        )
        reason = "http-status"
    words = ["audit", str(folder), "--base-url", HOST, "--select", "urls"]
    first = run(*words, "--write-baseline", "k.json", cwd=str(tmp_path))
    assert first.returncode == 3
    (loss,) = json.loads((tmp_path / "k.json").read_text())["losses"]
    assert loss.startswith(f"{reason} {HOST}/")
    allowed = ("--allow-loss", reason, "--fail-on", "never")
    for more in (("--baseline", "k.json"), allowed):
        done = run(*words, *more, cwd=str(tmp_path))
        assert done.returncode == 0
        assert f"what was not read is known: {loss}, and" in done.stdout
    words = [*words, "--fail-on", "never"]
    assert run(*words, "--allow-loss", "truncated").returncode == 3
    with (folder / "robots.txt").open("a") as robots:
        robots.write(f"\nSitemap: {HOST}/s.xml\nSitemap: {HOST}/another.xml")
    done = run(*words, "--baseline", "k.json", cwd=str(tmp_path))
    assert done.returncode == 3
    assert done.stdout.endswith(f"not read: {HOST}/another.xml (http-status 404)\n")


def test_what_was_not_read_is_not_mended(folder: Path, tmp_path: Path) -> None:
    """Hits of URLs behind the cut of a sitemap are unknown, those of URLs before it are mended."""
    pages = [page(f"/{name}") for name in ("a?sid=1", "b", "c?sid=2")]
    whole = urlset("".join(pages))
    (folder / "s.xml").write_bytes(whole)
    words = ["audit", str(folder), "--base-url", HOST, "--select", "urls"]
    words += ["--fail-on", "never", "-o"]
    first = run(*words, "before.json", "--write-baseline", "k.json", cwd=str(tmp_path))
    assert first.returncode == 0
    words[-1:] = ["--baseline", "k.json", "-o"]
    (folder / "s.xml").write_bytes(whole[: whole.index(b"c?sid")])
    assert run(*words, "after.json", cwd=str(tmp_path)).returncode == 3
    facts = json.loads((tmp_path / "after.json").read_text())["facts"]
    assert facts["mended_hits"] == {}
    compared = run("compare", "before.json", "after.json", cwd=str(tmp_path))
    assert compared.returncode == 3
    assert "unknown" in compared.stdout
    assert "mended" not in compared.stdout
    assert f"not read: truncated {HOST}/s.xml" in compared.stderr
    (folder / "s.xml").write_bytes(urlset("".join(pages[1:])))
    assert run(*words, "after.json", cwd=str(tmp_path)).returncode == 0
    compared = run("compare", "before.json", "after.json", cwd=str(tmp_path))
    assert (compared.returncode, "mended" in compared.stdout) == (0, True)


def test_a_comparison_with_an_audit_that_read_nothing(
    folder: Path, tmp_path: Path
) -> None:
    """It is no pass: nothing of the later audit is known, or it has no URL any more."""
    before = tmp_path / "before.json"
    after = tmp_path / "after.json"
    done = run("audit", str(folder), "--base-url", HOST, "-q", "-o", str(before))
    assert done.returncode == 5

    async def refuse(request: web.Request) -> web.StreamResponse:
        raise web.HTTPForbidden(text=request.path)

    with serving(refuse) as (url,):
        down = run("audit", url, "-q", "-o", str(after))
    assert down.returncode == 4
    for fail_on in ("warning", "never"):
        done = run("compare", str(before), str(after), "--fail-on", fail_on)
        assert done.returncode == 4
        assert "after.json: nothing could be fetched" in done.stderr
    (folder / "s.xml").write_bytes(urlset(""))
    run("audit", str(folder), "--base-url", HOST, "-q", "-o", str(after))
    words = ("compare", str(before), str(after), "--fail-on", "never")
    assert run(*words).returncode == 1


def test_the_baseline_of_the_settings_can_be_written(
    folder: Path, tmp_path: Path
) -> None:
    """The first run makes the file that the settings name; another missing one is an error."""
    text = '[audit]\nbaseline = "b.json"\nselect = ["urls"]\n'
    (tmp_path / "sitemapreader.toml").write_text(text)
    words = ("audit", str(folder), "--fail-on", "info")
    for more, code in (
        ((), 2),
        (("--write-baseline", "c.json"), 2),
        (("--write-baseline", "b.json"), 0),
        ((), 0),
        (("--write-baseline", "b.json"), 0),
    ):
        assert run(*words, *more, cwd=str(tmp_path)).returncode == code
    # a new hit is known only where it was written down
    (folder / "s.xml").write_bytes(urlset(page("/a#1") + page("/d?sid=2")))
    for more, code in (
        (("--write-baseline", "c.json"), 5),
        (("--baseline", "c.json"), 0),
        ((), 5),
        (("--write-baseline", "./b.json"), 0),
        ((), 0),
    ):
        assert run(*words, *more, cwd=str(tmp_path)).returncode == code


def test_a_quiet_audit_says_nothing_unless_it_is_asked(
    folder: Path, tmp_path: Path
) -> None:
    """The exit code is the result; a format or `-o -` asks for the report."""
    words = ("audit", str(folder), "--select", "urls", "-q")
    done = run(*words, "-o", str(tmp_path / "r.json"))
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    done = run(*words)
    assert (done.returncode, done.stdout, done.stderr) == (5, "", "")
    assert "url-session-id" in run(*words, "-o", "-").stdout
    assert "url-session-id" in run(*words, "--format", "markdown").stdout
    report = str(tmp_path / "r.json")
    assert run("compare", report, report, "-q").stdout == ""
    assert run("compare", report, report, "-q", "-o", "-").stdout != ""


def test_an_error_of_the_settings_names_their_file(
    folder: Path, tmp_path: Path
) -> None:
    """A rule that does not exist is corrected where it is written."""
    settings = tmp_path / "sitemapreader.toml"
    for text, said in {
        'ignore = ["url-lowercase"]': "sitemapreader.toml: --ignore: there is no rule",
        'ignore = ["page-noinde"]': "did you mean page-noindex?",
        'ignore = ["page-no"]': "did you mean page-no*?",
        '[audit.severity]\nurl-lowercase = "info"': "toml: [audit.severity] there is no",
        "fail-on = warning": 'column 11): write a text in quotes: "text"',
    }.items():
        settings.write_text(f"[audit]\n{text}\n")
        done = run("audit", str(folder), cwd=str(tmp_path))
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    settings.write_text('[audit]\nignore = ["urls"]\n')
    done = run("audit", str(folder), "--select", "", cwd=str(tmp_path))
    assert "error: --select: there is no rule, category or prefix ''" in done.stderr
    assert "--list-rules" in done.stderr


def test_the_suffixes_of_tables_are_named_among_the_formats(folder: Path) -> None:
    """A table of pages is an output as well."""
    done = run("audit", str(folder), "-o", "report.pdf")
    assert done.returncode == 2
    assert ".md, .xml, .xlsx, .parquet, .csv, .jsonl" in done.stderr


def test_an_empty_folder_is_a_build_that_did_not_run(tmp_path: Path) -> None:
    """Nothing in it can be judged, so nothing is advised about a robots.txt."""
    done = run("audit", str(tmp_path))
    assert done.returncode == 2
    assert "is empty: run the build first" in done.stderr


def test_each_report_names_the_file_and_the_line_of_a_hit(folder: Path) -> None:
    """A hit in no page of a built folder is in the file of its sitemap."""
    for name in ("text", "markdown", "junit"):
        words = ("--select", "url-session-id", "--format", name)
        assert f"{folder}/s.xml, line 1" in run("audit", str(folder), *words).stdout


def test_a_report_and_a_baseline_are_told_apart(folder: Path, tmp_path: Path) -> None:
    """Each is named where the other is wanted, and so is the way to write that."""
    words = ("audit", str(folder), "--select", "urls")
    files = ("-o", "r.json", "--write-baseline", "b.json")
    run(*words, *files, cwd=str(tmp_path))
    done = run("compare", "b.json", "r.json", cwd=str(tmp_path))
    assert done.returncode == 2
    assert (
        "b.json must be the JSON report of an audit, got a baseline: write"
        in done.stderr
    )
    done = run(*words, "--baseline", "r.json", cwd=str(tmp_path))
    assert done.returncode == 2
    assert (
        "r.json must be a baseline, got the JSON report of an audit: write"
        in done.stderr
    )
    assert "give both to the command compare" in done.stderr


async def refuse(_: web.Request) -> web.Response:
    """Demand a password."""
    return web.Response(status=401)


def read_outcome(report: Path) -> tuple[int, bool, int]:
    """Return the errors of a report in JUnit; success and exit code of the SARIF beside it."""
    suites = fromstring((report / "j.xml").read_bytes())  # noqa: S314 (ours)
    errors = sum(int(suite.get("errors", 0)) for suite in suites)
    log = json.loads((report / "a.sarif").read_text())
    (invocation,) = log["runs"][0]["invocations"]
    return errors, invocation["executionSuccessful"], invocation["exitCode"]


@pytest.mark.parametrize("what", ["whole", "found", "cut", "refused", "empty"])
def test_every_report_says_why_the_exit_code_is_not_0(
    what: str, folder: Path, tmp_path: Path
) -> None:
    """What could not be read is an error for a build server, and named in the last line."""
    words = ["audit", str(folder), "--select", "url-*", "--fail-on", "warning"]
    code, said = {
        "whole": (0, "everything was read, and there are no errors or warnings"),
        "found": (5, "errors or warnings: url-session-id, url-fragment"),
        "cut": (3, f"read in part: {HOST}/s.xml ("),
        "refused": (4, "nothing could be fetched; not read: http"),
        "empty": (1, "no URL was found"),
    }[what]
    if what != "found":
        (folder / "s.xml").write_bytes(urlset(page("/c")))
    if what == "cut":
        (folder / "s.xml").write_bytes(urlset(page("/c"))[:-20] + b"<url><loc>")
    if what == "empty":
        (folder / "s.xml").write_bytes(urlset(""))
    files = ("-o", "-", "-o", "j.xml", "-o", "a.sarif", "-o", "r.md")
    if what == "refused":
        with serving(refuse) as (words[1],):
            done = run(*words, *files, cwd=str(tmp_path))
    else:
        done = run(*words, *files, cwd=str(tmp_path))
    assert done.returncode == code
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"exit code {code}: {said}")
    is_whole = code in (0, 5)
    assert read_outcome(tmp_path) == (int(not is_whole), is_whole, code)
    assert ("The audit is not whole" in (tmp_path / "r.md").read_text()) is not is_whole
    if what == "found":  # a log without a report has the line as well
        for form in ("json", "junit"):
            assert last in run(*words, "--format", form).stderr


def test_what_was_not_run_takes_one_line(folder: Path) -> None:
    """It counts the rules by their reasons, before the line that says why the code is this one."""
    (folder / "s.xml").write_bytes(urlset(page("/c")))
    done = run("audit", str(folder))
    assert done.returncode == 0
    *_, counted, end = done.stdout.splitlines()
    assert counted.startswith("no findings; ")
    assert ": sitemaps were read from files, " in counted
    (number,) = re.findall(r"(\d+) not run \(", counted)
    reasons = re.findall(r"[(,] ?(\d+): ", counted)
    assert sum(map(int, reasons)) == int(number)
    assert end.startswith("exit code 0: ")


def test_a_folder_without_sitemaps_has_one_finding(tmp_path: Path) -> None:
    """One finding names the folder; nothing is said of servers, probes and other rules."""
    (tmp_path / "readme.txt").write_text("Nothing is built here.")
    done = run("audit", ".", cwd=str(tmp_path))
    advice = "Add the line `Sitemap: https://.../sitemap.xml` to robots.txt. "
    advice += "Most systems have a setting or a plugin that writes a sitemap."
    assert done.returncode == 5
    assert done.stdout.splitlines() == [
        "Sitemaps of .",
        "no sitemap was read",
        "",
        "error: No sitemap was found [no-sitemap]",
        f"    1 place. {advice}",
        "    - .",
        "",
        done.stdout.splitlines()[-2],
        "exit code 5: errors: no-sitemap; no sitemap was found and read",
    ]
    assert done.stdout.splitlines()[-2].startswith("1 error; 0 rules passed, ")
    assert done.stdout.splitlines()[-2].endswith(" not run")


DOCS = "https://docs.example"


def write_build(folder: Path, **files: str) -> None:
    """Write a page, and other files of a build: a name in it ends with an underscore and a type."""
    (folder / "index.html").write_text("<title>Start</title><h1>Start</h1>")
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (folder / f"{stem}.{suffix}").write_text(text)


def test_a_sitemap_that_a_build_lacks_is_one_finding(tmp_path: Path) -> None:
    """No browser is advised, and no line that robots.txt has."""
    write_build(tmp_path, robots_txt=f"Sitemap: {DOCS}/sitemap.xml\n")
    done = run("audit", ".", cwd=str(tmp_path))
    assert done.returncode == 5
    assert done.stdout.count("error: ") == 1
    assert f"- {DOCS}/sitemap.xml (the folder has no such file)" in done.stdout
    assert "Open the address in a browser" not in done.stdout
    assert "Add the line" not in done.stdout
    alone = run("audit", ".", "--select", "no-sitemap", cwd=str(tmp_path))
    assert "error: No sitemap was found [no-sitemap]" in alone.stdout


def test_a_line_names_the_file_of_a_page_and_that_of_its_sitemap(
    tmp_path: Path,
) -> None:
    """A page that is there, and whose sitemap is there as well, is found in two places."""
    hidden = "<meta name=robots content=noindex>"
    write_build(tmp_path, sitemap_xml=urlset(page("/a.html")).decode())
    (tmp_path / "a.html").write_text(f"<title>A</title>{hidden}<h1>A</h1>")
    done = run("audit", ".", "--select", "page-noindex", cwd=str(tmp_path))
    places = "in a.html, line 1, listed in sitemap.xml, line 1"
    assert f"- {HOST}/a.html (meta robots: noindex) {places}" in done.stdout


def test_no_rule_has_passed_where_no_url_was_read(tmp_path: Path) -> None:
    """An index of another host's sitemaps says that the base URL is wrong."""
    other = "https://other.example"
    child = f"<sitemap><loc>{other}/1.xml</loc></sitemap>"
    write_build(tmp_path, sitemap_xml=f"<sitemapindex>{child}</sitemapindex>")
    done = run("audit", ".", "--base-url", DOCS, cwd=str(tmp_path))
    assert done.returncode == 5
    assert done.stdout.splitlines()[1] == (
        "no URL in 1 sitemap; not everything was read"
    )
    assert f"the folder fits {other}/" in done.stdout
    assert "the same fault: A child sitemap is on another site" in done.stdout
    assert "; 0 rules passed, " in done.stdout.splitlines()[-2]


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="no folder refuses files: run it on Linux"
)
def test_a_database_that_cannot_be_written(folder: Path) -> None:
    """It is said where, and the end is 1."""
    done = run("audit", str(folder), "--select", "urls", "--database", "/proc/x.duckdb")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "the database of the audit cannot be written to /proc/x.duckdb: " in done.stderr
    )


@pytest.mark.slow
def test_where_a_file_would_be_served(folder: Path) -> None:
    """On the host of its first URL, or where `--base-url` says."""
    other = "https://b.example/x/"
    for words, base in (((), f"{HOST}/"), (("--base-url", other), other)):
        few = ("--select", "urls", "--format", "json")
        done = run("audit", str(folder / "s.xml"), *words, *few)
        (document,) = json.loads(done.stdout)["facts"]["documents"]
        assert document["url"] == f"{base}s.xml"


def test_what_a_folder_has_not(folder: Path) -> None:
    """A sitemap that is named and missing is a finding, a start page that is missing is none."""
    (folder / "s.xml").unlink()
    done = run(
        "audit", str(folder), "--select", "reading,discovery", "--format", "json"
    )
    (found,) = (
        e
        for e in json.loads(done.stdout)["findings"]
        if e["rule"]["code"] == "robots-sitemap-broken"
    )
    assert [each["document"] for each in found["places"]] == [f"{HOST}/s.xml"]


@pytest.mark.slow
def test_advice_names_options_of_the_shell(folder: Path, tmp_path: Path) -> None:
    """No format, and no explanation, writes an argument of Python that has an option."""
    (folder / "i.xml").write_text(
        "<sitemapindex><sitemap><loc>https://other.example/s.xml</loc></sitemap></sitemapindex>"
    )
    (folder / "robots.txt").write_text(f"Sitemap: {HOST}/s.xml\nSitemap: {HOST}/i.xml")
    files = [tmp_path / f"r.{suffix}" for suffix in ("html", "json", "sarif", "txt")]
    words = [word for file in files for word in ("-o", str(file))]
    run("audit", str(folder), "--select", "cross-host-child", *words)
    texts = [file.read_text() for file in files]
    texts.append(run("audit", "--explain", "cross-host-child").stdout)
    assert all("--hosts any" in text for text in texts)
    assert not any('hosts="any"' in text or "hosts=&#34;any" in text for text in texts)
    assert not any("hosts=\\" in text for text in texts)


MISTAKES: dict[tuple[str, ...], str] = {
    ("--since-audit", "a.db", "--database", "a.db"): "--since-audit is the same file",
    ("https://b.example",): "takes one SOURCE, so run it for each",
    ("--baseline", __file__): "write a new one with --write-baseline",
    ("--select", "url-asset,url-fragmnt"): "did you mean url-fragment",
    ("--was", "none.xml"): "'none.xml' is neither an http(s) URL nor an existing file",
    ("--since-audit", __file__): "name one that --database kept",
    ("-o", "report.pdf"): "end it with",
    ("--hits", "hits.xlsx"): "end the name",
    ("--format", "text", "-o", "x.json"): "leave out --format, or add -o -",
    ("--explain", "lastmod-al-equal"): "did you mean lastmod-all-equal",
}


@pytest.mark.cases(10)
@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_mistakes_are_named(words: tuple[str, ...], folder: Path) -> None:
    """What cannot be meant ends with 2 before anything is read, and says what to write."""
    done = run("audit", str(folder), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert MISTAKES[words] in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_rule_is_said(folder: Path, tmp_path: Path) -> None:
    """A rule of one's own that fails makes 3; the findings of the others make 5."""
    rule = "-- title: Nonsense\n-- severity: info\nSELECT nonsense FROM nowhere"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "nonsense.sql").write_text(rule)
    words = (
        "audit",
        str(folder),
        "--rules",
        str(tmp_path / "rules"),
        "--select",
        "custom",
    )
    done = run(*words, "--fail-on", "never")
    assert done.returncode == 3
    assert "its query failed" in done.stdout


def test_a_sitemap_comes_through_a_pipe(folder: Path) -> None:
    """Standard input is a sitemap, as for the other commands."""
    done = run("audit", "-", "--select", "urls", input=(folder / "s.xml").read_text())
    assert done.returncode == 5
    assert done.stdout.startswith("Sitemaps of standard input\n3 URLs")
    assert "/b?sid=1 (sid=1) in standard input, line " in done.stdout


@pytest.mark.slow
def test_a_missing_extra_is_named(folder: Path) -> None:
    """Without DuckDB the command says which extra brings it, and names its libraries.

    So the advice is right wherever the package came from. The words of a rule need none.
    """
    block = "import sys; sys.modules['duckdb'] = None; from sitemapreader._cli import main; "
    for words, code in (
        (["audit", str(folder)], 2),
        (["audit", "--explain", "url-asset"], 0),
    ):
        done = subprocess.run(
            [sys.executable, "-c", f"{block}sys.exit(main({words!r}))"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        advice = "the extra `audit` brings it: pip install 'duckdb>="
        assert (advice in done.stderr) is (code == 2)
        assert "sitemapreader[" not in done.stderr


def test_a_source_that_cannot_be_reached() -> None:
    """No network is 4 and no finding, so that CI can tell it from a bad sitemap."""
    done = run("audit", "http://127.0.0.1:9/", "--fail-on", "info")
    assert done.returncode == 4
    assert "error:" not in done.stdout


def test_what_a_url_is() -> None:
    """`--site` searches the site of a URL for sitemaps, and `--sitemap` reads it as one."""
    map_xml = urlset(page("/c"))
    with serving({"/map.xml": map_xml, "/sitemap.xml": map_xml, "/": "<p>start"}) as (
        url,
    ):
        for kind, names in (("--sitemap", {"map.xml"}), ("--site", {"sitemap.xml"})):
            few = ("--select", "urls", "--format", "json", "-q")
            done = run("audit", kind, f"{url}/map.xml", *few)
            facts = json.loads(done.stdout)["facts"]
            read = {
                each["url"]
                for each in facts["documents"]
                if each["status"] == "complete"
            }
            assert {
                each.rpartition("/")[2] for each in read if "xml" in each
            } == names, kind


def test_audits_are_compared(folder: Path, tmp_path: Path) -> None:
    """A finding that is new exits with 5, and is named; foreign files are wrong usage."""
    (folder / "s.xml").write_bytes(urlset(page("/c")))
    before, after = (str(tmp_path / name) for name in ("before.json", "after.json"))
    few = ("audit", str(folder), "--select", "urls")
    assert run(*few, "-o", before).returncode == 0
    (folder / "s.xml").write_bytes(urlset(page("/c") + page("/c#x")))
    run(*few, "-o", after)
    done = run("compare", before, after, "--fail-on", "info", "--format", "markdown")
    assert done.returncode == 5
    assert "`url-fragment`" in done.stdout
    assert run("compare", after, before, "--fail-on", "info").returncode == 0
    wrong = run("compare", before, str(folder / "s.xml"))
    assert (wrong.returncode, "is not the JSON report of an audit" in wrong.stderr) == (
        2,
        True,
    )


@pytest.mark.parametrize("parent", ["sitemap.xml", "robots.txt"])
def test_a_sitemap_without_a_file_is_to_be_mended_where_it_is_named(
    parent: str, tmp_path: Path
) -> None:
    """The result of a child that was not built has the file and the line of its index."""
    child = f"{DOCS}/sitemap-fr.xml"
    index = f"<sitemapindex>\n<sitemap><loc>{child}</loc></sitemap></sitemapindex>"
    if parent == "robots.txt":
        write_build(tmp_path, robots_txt=f"User-agent: *\nSitemap: {child}\n")
    else:
        write_build(tmp_path, sitemap_xml=index)
    words = ("audit", ".", "--base-url", DOCS, "-o", "a.sarif", "-o", "a.json")
    run(*words, cwd=str(tmp_path))
    (run_of,) = json.loads((tmp_path / "a.sarif").read_text())["runs"]
    places = [
        (place["artifactLocation"]["uri"], place["region"]["startLine"])
        for result in run_of["results"]
        if result["ruleId"] in ("http-status", "robots-sitemap-broken")
        for location in result["locations"]
        for place in [location["physicalLocation"]]
    ]
    assert places == [(parent, 2)]
