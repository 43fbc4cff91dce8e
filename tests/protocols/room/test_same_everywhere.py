"""The rules are the same on every machine: nothing in them asks the interpreter what a character is."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RULES = sorted((ROOT / "protocols").rglob("*.py"))
COUNTED = [*sorted((ROOT / "swarm" / "ledger").glob("*.py")), *sorted((ROOT / "swarm" / "signed").glob("*.py"))]
"""What decides whether an entry counts: its bytes, its signature, its place."""

MODULES = {"unicodedata", "confusable_homoglyphs", "locale", "regex", "stringprep", "idna"}
METHODS = {
    *("isalpha", "isalnum", "isdigit", "isdecimal", "isnumeric", "isidentifier", "isprintable", "isspace", "istitle"),
    *("islower", "isupper", "lower", "upper", "casefold", "title", "capitalize", "swapcase", "splitlines"),
}
STRIPPING = {"strip", "lstrip", "rstrip", "split", "rsplit"}
"""Without an argument they go by the interpreter's white space."""
CLASSES = re.compile(r"(?<!\\)(?:\\\\)*\\[wWdDsSbB]")
"""Classes of regular expressions that hold what the interpreter's tables say."""
FLAGS = {"IGNORECASE", "I", "LOCALE", "L"}


def asked(source: str) -> Iterator[tuple[int, str]]:
    """Yield the places in *source* that ask the interpreter what a character is."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
            yield from ((node.lineno, name) for name in names if name.split(".")[0] in MODULES)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in METHODS:
                yield node.lineno, f".{method}()"
            elif method in STRIPPING and not node.args:
                yield node.lineno, f".{method}() without an argument"
        elif isinstance(node, ast.Attribute) and node.attr in FLAGS and getattr(node.value, "id", "") == "re":
            yield node.lineno, f"re.{node.attr}"
        elif isinstance(node, ast.Constant) and id(node) not in docstrings and CLASSES.search(str(node.value)):
            yield node.lineno, f"the class in {node.value!r}"


@pytest.mark.parametrize("path", [*RULES, *COUNTED], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_rule_asks_the_interpreter_what_a_character_is(path: Path) -> None:
    """Unicode's tables differ from one Python to the next; what the rules need of them ships in names.txt."""
    assert list(asked(path.read_text("utf-8"))) == []


def test_the_grammar_of_conditions_has_no_such_class_either() -> None:
    """Its terminals are regular expressions of the interpreter."""
    for path in sorted((ROOT / "protocols").rglob("*.lark")):
        rules = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("//")]
        assert len(rules) > 30 and [line for line in rules if CLASSES.search(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "import unicodedata",
        "from confusable_homoglyphs import confusables",
        "x.casefold()",
        "x.strip()",
        "x.split(maxsplit=1)",
        "re.compile(r'\\w+')",
        "re.compile('[^\\\\s]')",
        "re.search(a, b, re.IGNORECASE)",
        "''.join(c for c in x if c.isalpha())",
    ],
)
def test_each_kind_of_it_would_be_found(line: str) -> None:
    """The search itself can fail."""
    assert list(asked(line))


def test_no_more_is_found_than_there_is() -> None:
    """What has a list of its own characters is no question to the interpreter."""
    allowed = [
        "x.strip(' ')",
        "x.split('/')",
        "re.compile('[0-9A-Za-z_]')",
        "'''A docstring about \\\\w.'''",
        "b'\\\\w'",
    ]
    assert [line for line in allowed if list(asked(line))] == []
