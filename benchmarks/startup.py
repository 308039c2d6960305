"""CPU time of a fresh process that imports the package, or prints its help.

    python benchmarks/startup.py [--rounds 20]

Each is started so many times, in turns; what counts is the median. The bare interpreter and aiohttp
are there to compare with. All have their bytecode, as what is installed has it: each is started
once before it is measured, with a folder for what has none yet.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import targets
from measuring import children_seconds, describe_machine
from tables import print_machine, print_table, write_json

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import sitemapreader": ["-c", "import sitemapreader"],
    "import read": ["-c", "from sitemapreader import read"],
    "import walk": ["-c", "from sitemapreader import walk"],
    "import HttpFetcher": ["-c", "from sitemapreader.fetch import HttpFetcher"],
    "--help": ["-m", "sitemapreader", "--help"],
    "one file": ["-m", "sitemapreader", "-q"],
    "import aiohttp": ["-c", "import aiohttp"],
    "import attrs": ["-c", "import attrs"],
}
"""What is started, by the name that its row has; "one file" is given one."""
SAMPLE = Path(__file__).parent.parent / "testdata" / "urlset" / "plain.xml"


def measure_once(name: str, bytecode: str) -> float:
    """Run a process; return its CPU milliseconds."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": bytecode,
    }
    command = [
        sys.executable,
        *COMMANDS[name],
        *([str(SAMPLE)] if name == "one file" else []),
    ]
    before = children_seconds()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return 1000 * (children_seconds() - before)


def measure_all(rounds: int) -> dict[str, list[float]]:
    """Run each process so many times."""
    found: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as bytecode:
        for number in range(1 + rounds):
            for name, milliseconds in found.items():
                used = measure_once(name, bytecode)
                if number:
                    milliseconds.append(used)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    machine = describe_machine(["sitemapreader", "aiohttp", "attrs"])
    print_machine(machine)
    rounds = measure_all(arguments.rounds)
    medians = {name: median(found) for name, found in rounds.items()}
    rows = [
        (name, medians[name], min(found), max(found)) for name, found in rounds.items()
    ]
    print_table("A fresh process", ("what", "CPU ms", "least", "most"), rows)
    verdicts = targets.judge("startup", medians)
    targets.print_verdicts(verdicts)
    write_json(
        arguments.json,
        {
            "machine": machine,
            "milliseconds": rounds,
            "targets": targets.as_json(verdicts),
        },
    )


if __name__ == "__main__":
    main()
