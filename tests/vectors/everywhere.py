"""Runs the vectors on every Python from 3.11 on that is here: ``python tests/vectors/everywhere.py FOLDER``.

The rules must come to the same on all of them, whatever Unicode each one knows. FOLDER keeps an environment for each
between runs. It says which versions it ran on, and which it did not find, and exits 1 if one of them fails.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WANTED = ("3.11", "3.12", "3.13")
NEEDED = ("pytest", "pytest-timeout", "hypothesis", "jsonschema", "confusable-homoglyphs==3.3.1")
"""What the vectors themselves need, beside the project."""
TESTS = ("tests/vectors", "tests/protocols/room/test_same_everywhere.py")
_UNICODE = "import sys, unicodedata; print('%d.%d' % sys.version_info[:2], unicodedata.unidata_version)"


def find(version: str) -> tuple[str, str] | None:
    """Return the command of a Python of this *version* and the Unicode that it knows, None if there is none."""
    # A version manager leaves a command for each version it has, and the version beside it.
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for command in (shutil.which(f"python{version}"), *map(str, reversed(kept))):
        if command is None:
            continue
        said = subprocess.run([command, "-c", _UNICODE], capture_output=True, text=True, check=False)
        found, _, unicode = said.stdout.strip().partition(" ")
        if said.returncode == 0 and found == version:
            return command, unicode
    return None


def run(version: str, command: str, folder: Path) -> bool:
    """Run the vectors on one Python; tell whether they hold."""
    python = folder / version / "bin" / "python"
    if not python.exists():
        subprocess.run([command, "-m", "venv", folder / version], check=True)
    quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    subprocess.run([python, *quiet, "--editable", str(ROOT), *NEEDED], check=True)
    return subprocess.run([python, "-m", "pytest", "-m", "not long", *TESTS], cwd=ROOT, check=False).returncode == 0


def main(folder: Path) -> int:
    """Run them all; return the exit code."""
    failed = []
    for version in WANTED:
        found = find(version)
        if found is None:
            print(f"vectors: Python {version} is not here", flush=True)
            continue
        command, unicode = found
        print(f"vectors: Python {version}, which knows Unicode {unicode}", flush=True)
        if not run(version, command, folder):
            failed.append(version)
    print(f"vectors: failed on {', '.join(failed)}" if failed else "vectors: the same everywhere", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
