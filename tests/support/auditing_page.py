"""The page for auditors, its outputs made anew: python -m tests.support.auditing_page"""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.typed import Done

ROOT = Path(__file__).resolve().parents[2]
PAGE, LEDGERS = ROOT / "docs" / "auditing.md", ROOT / "tests" / "ledgers"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def rewritten(page: str, run: Callable[..., Done]) -> str:
    """Return *page* with what each of its commands prints now, and its exit code."""

    def block(found: re.Match[str]) -> str:
        shown = []
        for line in found[1].splitlines():
            if line.startswith("$ swarm "):
                done = run(*shlex.split(line)[2:])
                shown.append(f"{line}\n{done.out}{done.err}exit {done.code}\n")
        return f"```console\n{''.join(shown)}```"

    return _BLOCK.sub(block, page)


def _run(*arguments: str) -> Done:
    command = [str(Path(sys.executable).with_name("swarm")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=LEDGERS, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8"), _run), encoding="utf-8")
