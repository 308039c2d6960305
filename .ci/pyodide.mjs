// Run tests of reading, and the walk of a folder, on the Python of pyodide: .ci/versions.
// There are no threads, no processes and no network; an event loop runs already.
import { loadPyodide } from "pyodide";

const [root, packages] = process.argv.slice(2);
const libraries = ["AIOHTTP", "FROZENLIST", "MULTIDICT", "PROPCACHE", "YARL"];
const env = Object.fromEntries(libraries.map(name => [`${name}_NO_EXTENSIONS`, "1"]));
const python = await loadPyodide({ env: { ...env, HOME: "/home" } });
for (const [path, folder] of [["/packages", packages], ["/repository", root]]) {
  python.FS.mkdirTree(path);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, path);
}

const WALK = `
import os, sys
sys.path[:0] = ["/repository", "/packages"]
sys.dont_write_bytecode = True
os.chdir("/repository")
from sitemapreader import walk
from sitemapreader.fetch import FolderFetcher

async with walk("https://www.example.org/", fetcher=FolderFetcher("testdata/site")) as entries:
    locs = {entry.loc async for entry in entries}
print(sys.version.split()[0], sys.platform, entries.report)
assert len(locs) == 43 and entries.report.complete
`;
// What needs processes (feedparser, the start of Python), and clocks of a thread.
const LEFT_OUT = "not (events or exemplar or survive or linear or switch)";
const TESTS = `
import pytest

words = ["golden/test_golden.py", *(f"reading/test_{name}.py" for name in ("documents", "text", "ways"))]
code = pytest.main([
    "-q", "-o", "addopts=", "-o", "faulthandler_timeout=0", "-p", "no:cacheprovider",
    "-m", "not slow", "-k", "${LEFT_OUT}",
    *(f"tests/{word}" for word in words),
])
assert code == 0, code
`;

let code = 0;
try {
  await python.runPythonAsync(WALK);
  python.runPython(TESTS);
} catch (error) {
  console.error(error.message);
  code = 1;
}
process.exit(code);
