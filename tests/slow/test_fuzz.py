"""A bounded run of the fuzzer, which by itself is run for a million inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import package
from scale import SCALE

SUPPORT = package.TESTS / "support"
TARGET = Path(__file__).parent / "fuzz" / "target.py"
COUNT = 1_500 * SCALE


def test_damaged_documents(tmp_path: Path) -> None:
    """Many damaged documents keep the laws; one that does not is left in the folder."""
    options = {"--count": COUNT, "--failures": tmp_path, "--max-ms": 10_000}
    done = subprocess.run(
        [sys.executable, TARGET, *(str(word) for option in options.items() for word in option)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600 * SCALE,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith(f"{COUNT:,} inputs, ")
    assert list(tmp_path.iterdir()) == []


def test_the_fuzzer_finds_what_is_wrong(tmp_path: Path) -> None:
    """With a reader that drops an entry in silence, it fails, and leaves a small input behind."""
    program = (
        "import sys; sys.argv[1:] = sys.argv[2:]\n"
        f"sys.path[:0] = [{str(TARGET.parent)!r}, {str(SUPPORT)!r}]\n"
        "from sitemapreader.readers.stats import ReadStats\n"
        "deliver = ReadStats.deliver\n"
        "ReadStats.deliver = lambda self, count=1: deliver(self, count + (self.records == 2))\n"
        "import target; sys.exit(target.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "--", "--count", "200", "--failures", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "seen" in done.stdout
    assert list(tmp_path.glob("*.txt"))
