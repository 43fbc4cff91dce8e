"""How long it takes to start: `swarm --help` and a scripted member's process, against a bare import of the libraries.

The floor, ``python -c "import pydantic, typer"``, is measured in turn with the others, in the same run; what counts are
the ratios. Times are CPU seconds of whole processes, so that other work on the machine matters less.
"""

import os
import statistics
import subprocess
import sys
import sysconfig
from pathlib import Path

RUNS = 9
SWARM = Path(sysconfig.get_path("scripts")) / "swarm"
MEMBER = """
import swarm.running.member
from swarm.scenario.minds import make_agent
make_agent({"name": "ann", "agent": "scripted"})
"""
COMMANDS = {
    "import pydantic, typer": [sys.executable, "-c", "import pydantic, typer"],
    "swarm --help": [str(SWARM), "--help"],
    "a scripted member, ready": [sys.executable, "-c", MEMBER],
    "swarm audit --help": [str(SWARM), "audit", "--help"],
    "swarm run --help": [str(SWARM), "run", "--help"],
}


def cpu_s(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(RUNS + 1):
        for name, command in COMMANDS.items():
            spent = cpu_s(command)
            if run:
                taken[name].append(spent)
    floor = taken["import pydantic, typer"]
    print(f"{'':28}{'ms CPU':>8}{'x floor':>9}   (medians of {RUNS})")
    for name, times in taken.items():
        ratio = statistics.median(mine / least for mine, least in zip(times, floor, strict=True))
        print(f"{name:28}{statistics.median(times) * 1000:8.0f}{ratio:9.1f}")


if __name__ == "__main__":
    main()
