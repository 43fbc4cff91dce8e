"""The gate over the coverage of the rules can fail."""

from tests.support.coverage_gate import complaints, gaps


def test_a_line_without_a_test_is_told() -> None:
    """Protects the gate: a module that is not listed is covered whole, and a listed one gets no worse."""
    report = {
        "files": {
            f"protocols/{name}.py": {"summary": {"missing_lines": lines, "missing_branches": branches}}
            for name, lines, branches in (("whole", 0, 0), ("new", 0, 1), ("open", 3, 2), ("worse", 2, 0))
        }
    }
    assert complaints(gaps(report), {"open.py": 5, "worse.py": 1}) == [
        "new.py: 1 lines and branches without a test, at most 0 are allowed",
        "worse.py: 2 lines and branches without a test, at most 1 are allowed",
    ]
