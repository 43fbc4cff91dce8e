"""docs/security.md says what is tried and where: its files, tests and codes are there."""

import ast
import re
from pathlib import Path

import swarm.errors
from protocols.core.findings import CODES
from swarm.errors import ClockApart, RolledBack

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/security.md").read_text("utf-8")
ATTACKS = PAGE.partition("## Attacks")[2]
ERRORS = {RolledBack.__name__, ClockApart.__name__, *vars(swarm.errors)}


def rows(text: str) -> list[list[str]]:
    """Return the cells of the tables in *text*, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [row for row in cells if row[-1] not in ("Test", "Tests")]


def cases_in(path: str) -> dict[str, str]:
    """Return the source of each test in a file, its decorators included."""
    source = (ROOT / path).read_text("utf-8")
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    found = {}
    for node in functions:
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        found[node.name] = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return {name: text for name, text in found.items() if name.startswith("test_")}


def words_of(path: str, test: str) -> set[str]:
    """Return what *test* itself says: the words in its strings and the names that it uses, tables and helpers included.

    A table or a helper counts if it is in the same file and the test uses it; comments and docstrings do not count.
    """
    known: dict[str, ast.stmt] = {}
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            known[node.name] = node
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, ast.Name):
                known[target.id] = node
    found: set[str] = set()
    waiting, seen = [test], {test}
    while waiting:
        top = known[waiting.pop()]
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(top)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(top):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                found.update(re.findall(r"[A-Za-z_]+", node.value))
            name = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
            if isinstance(name, str):
                found.add(name)
                if name in known and name not in seen:
                    seen.add(name)
                    waiting.append(name)
    return found


def test_every_file_that_the_page_names_is_there() -> None:
    """A promise without its test is an empty one."""
    named = set(re.findall(r"`(tests/[a-z_/]+\.py)", PAGE))
    assert len(named) > 15
    for path in sorted(named):
        assert cases_in(path), path


def test_every_promise_names_a_test() -> None:
    """No row stands on words alone."""
    promises = rows(PAGE.partition("## What is not promised")[0])
    assert len(promises) > 20
    for row in promises:
        assert len(row) == 4 and re.fullmatch(r"`tests/[^`]+\.py`(, `tests/[^`]+\.py`)*", row[3]), row


def test_every_attack_has_its_test_and_its_code() -> None:
    """The test is there, and is about the code that the page gives: as a finding or as an error of ours."""
    attacks = rows(ATTACKS)
    assert len(attacks) > 35
    for attack, ends, where in attacks:
        path, _, name = where.strip("`").partition("::")
        assert name in cases_in(path), where
        for code in re.findall(r"`([A-Za-z_]+)`", ends):
            assert code in CODES or code in ERRORS, (attack, code)
            assert code in words_of(path, name), (attack, code)


def test_what_is_not_held_is_said() -> None:
    """A hole that a test shows is one that the page tells, and the other way round."""
    shown = {
        f"tests/adversary/{path.name}::{name}"
        for path in Path(__file__).parent.glob("test_*.py")
        for name in cases_in(f"tests/adversary/{path.name}")
        if name.startswith("test_not_held_")
    }
    assert shown == set(re.findall(r"`(tests/adversary/[a-z_]+\.py::test_not_held_[a-z_]+)`", PAGE))
