"""Whatever a page names of the repository is there: files, modules, names in them, and targets of make."""

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "agents|bench|docs|examples|protocols|swarm|tests"
SPAN = re.compile(r"`([^`\n]+)`")


def spans(page: Path) -> list[str]:
    """Return the code spans of a page; blocks of code are examples of what may be written."""
    return SPAN.findall(re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE))


def is_there(name: str) -> bool:
    """Tell whether the dotted *name* is a module, or a name in one."""
    module, _, attribute = name.rpartition(".")
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_modules_exist(page: Path) -> None:
    """Protects readers after a move: a path, a module or a program that a page names can be opened."""
    missing = []
    for span in spans(page):
        if re.fullmatch(rf"(?:{FOLDERS})/[\w./-]*(?<!/[0-9])", span) and not (ROOT / span).exists():
            missing.append(span)
        for name in re.findall(rf"^((?:{FOLDERS.replace('docs|', '')})(?:\.\w+)+)$", span):
            if not is_there(name):
                missing.append(name)
        for name in re.findall(r"\bpython -m ([\w.]+)", span):
            if not is_there(name):
                missing.append(name)
    assert missing == []


def test_targets_of_make_exist() -> None:
    """Protects readers: `make X` on a page is a target."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z-]+)", " ".join(spans(page)))}
    assert len(named) > 3 and named <= targets
