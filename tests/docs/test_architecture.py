"""The structure is what docs/architecture.md says: the folders, one line each, and imports that run one way."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def folders(package: str) -> set[str]:
    return {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}


@pytest.mark.parametrize("package", ["protocols", "swarm"])
def test_the_listing_names_every_folder_and_no_other(package: str) -> None:
    """Protects a newcomer: a folder without its line, or a line without its folder, fails."""
    section = PAGE.split(f"\n\n`{package}/`, ")[1].split("\n\n`")[0]
    told = [name for row in re.findall(r"^\| (`.*?) \|", section, re.M) for name in re.findall(r"`([a-z]+)/`", row)]
    assert sorted(told) == sorted(folders(package))


def modules() -> dict[str, Path]:
    found = {}
    for package in ("protocols", "agents", "swarm"):
        for path in (ROOT / package).rglob("*.py"):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield full if (full := f"{node.module}.{alias.name}") in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_two_files_import_each_other_not_even_for_types() -> None:
    """Protects the structure: a circle is a model and a view in one file, or a floor that reaches up."""
    known = modules()
    faces = {name for name, path in known.items() if path.name == "__init__.py"}
    graph = networkx.DiGraph(
        (name, other) for name, path in known.items() for other in imports(path, known) if other in known
    )
    # A package's face hands on the names of its own modules.
    graph.remove_nodes_from(faces)
    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []
