"""Write the histories anew, from the root of the repository: ``python -m examples.histories [--page]``.

With ``--page``, what the commands in ``docs/examples.md`` print is written there too.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from examples.histories.catalogue import FOLDER, files

ROOT = FOLDER.parents[1]
PAGE = ROOT / "docs" / "examples.md"
SHOWN = re.compile(r"(```console\n\$ (swarm track [^\n]+)\n).*?```", re.DOTALL)


def main() -> None:
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if "--page" in sys.argv[1:]:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(SHOWN.sub(lambda shown: f"{shown[1]}{_run(shown[2])}```", page), encoding="utf-8")


def _run(command: str) -> str:
    name, *arguments = shlex.split(command)
    tool = Path(sys.executable).with_name(name)
    return subprocess.run([tool, *arguments], capture_output=True, text=True, cwd=ROOT, check=True).stdout


if __name__ == "__main__":
    main()
