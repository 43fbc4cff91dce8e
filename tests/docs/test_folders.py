"""The tests lie where the code lies, so that whoever changes a folder finds its tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocols", "agents", "swarm")


def folders(top: Path) -> set[str]:
    """Return the folders at and below *top* that hold Python files, relative to the root or to the tests."""
    base = ROOT / "tests" if top.is_relative_to(ROOT / "tests") else ROOT
    return {path.parent.relative_to(base).as_posix() for path in top.rglob("*.py")}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_folder_of_the_source_has_its_folder_of_tests(package: str) -> None:
    """Protects new rooms: a folder of the packages comes with tests of its own, where its path says."""
    for folder in folders(ROOT / package) - {package}:
        assert list((ROOT / "tests" / folder).glob("test_*.py")), f"tests/{folder} has no tests"


@pytest.mark.parametrize("package", PACKAGES)
def test_each_folder_of_tests_has_its_folder_of_the_source(package: str) -> None:
    """Protects moves: when a folder of the packages moves, its tests move with it."""
    assert folders(ROOT / "tests" / package) <= folders(ROOT / package)


def test_there_is_one_way_to_the_helpers() -> None:
    """Protects readers: helpers lie in tests/support and are imported by that name; no test changes `sys.path`."""
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text("utf-8")
        assert "sys.path" + ".insert" not in text and "sys.path" + "[:0]" not in text, path
