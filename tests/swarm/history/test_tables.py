"""What is due next, and CSV that a spreadsheet shows and does not run."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.core.instants import parse_instant
from swarm.history.tables import STATE_COLUMNS, csv_text, due_table, neutral, state_rows
from swarm.history.timeline import read_timeline
from tests.support.hostile_history import TEXTS, history

NOON = parse_instant("2026-03-01T12:00:00Z")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize(
    "text",
    ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠1", "  =1",
     "\u200b=1", "\ufeff=1", "\u00a0=1", "\u2212 1", "﹣1"],
)  # fmt: skip
def test_a_formula_is_shown_as_text(text: str) -> None:
    """Protects who opens the file (UI-02): what a spreadsheet could run begins with a mark; the text is exact."""
    ((header,), (cell,)) = read(csv_text(["label"], [[text]]))
    assert header == "label"
    assert cell == "'" + text


@pytest.mark.parametrize("text", ["plain", "a=b", "1+1", "it's", "", "Ünïcode ✓", "2026-01-01T00:00:00Z"])
def test_other_text_is_left_alone(text: str) -> None:
    """Protects exactness: no mark where none is needed."""
    assert neutral(text) == text


def test_numbers_stay_numbers_and_text_that_looks_like_one_stays_text() -> None:
    """Protects sums: −5 is written bare, the text "5" quoted, a decimal digit by digit."""
    assert csv_text(["n"], [[-5], [Decimal("-0.10")], ["5"], [None]]).split("\r\n")[1:-1] == [
        "-5", "-0.10", '"5"', '""',
    ]  # fmt: skip


cells = st.text(alphabet=st.sampled_from("=+-@＝\t\r\n\0,;\"'ab 1\u202e")) | st.integers() | st.none()


@given(st.lists(st.lists(cells, min_size=3, max_size=3), max_size=6))
def test_rows_and_cells_are_those_given(rows: list[list[Any]]) -> None:
    """Protects the columns: commas, quotes and line ends inside a text shift nothing, and no cell begins a formula."""
    back = read(csv_text(["a", "b", "c"], rows))
    assert len(back) == 1 + len(rows)
    for row, shown in zip(rows, back[1:], strict=True):
        for cell, text in zip(row, shown, strict=True):
            assert text.removeprefix("'") == ("" if cell is None else str(cell).removeprefix("'"))
            assert not isinstance(cell, str) or text[:1] not in tuple("=+-@＝\t\r\n")


@pytest.mark.parametrize("text", TEXTS)
def test_a_row_for_every_commitment_and_instance_whatever_they_are_called(text: str) -> None:
    """Protects the count (UI-02): one record a status, the names exact."""
    timeline = read_timeline(history(text))
    rows = state_rows([timeline])
    back = read(csv_text(STATE_COLUMNS, rows))
    assert len(back) - 1 == len(rows) == len(timeline.statuses) == 3
    column = STATE_COLUMNS.index("commitment")
    assert [neutral(name) for name in timeline.statuses] == [row[column] for row in back[1:]]


def promises(*ends: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "parties": ["ann", "bob"],
        "commitments": [
            {"id": name, "debtor": debtor, "creditor": "bob" if debtor == "ann" else "ann", "then": then}
            for name, debtor, then in ends
        ],
        "history": [],
    }


def test_due_is_ordered_by_time_or_by_debtor_and_what_has_no_end_comes_last() -> None:
    """Protects the order, over several files at once."""
    one = promises(("late", "ann", "a by 2026-03-03T00:00:00Z"), ("never", "ann", "b"))
    two = promises(("first", "bob", "a by 2026-03-01T12:00:00Z"), ("second", "ann", "b before 2026-03-01T12:00:01Z"))
    timelines = [read_timeline(one, NOON), read_timeline(two, NOON)]
    assert [row.commitment for row in due_table(timelines)] == ["first", "second", "late", "never"]
    by_debtor = due_table(timelines, by_debtor=True)
    assert [(row.debtor, row.commitment) for row in by_debtor] == [
        ("ann", "second"), ("ann", "late"), ("ann", "never"), ("bob", "first"),
    ]  # fmt: skip
    assert by_debtor[2].due is None and by_debtor[2].becomes is None


@pytest.mark.parametrize(("at", "still_open"), [(NOON - 1, True), (NOON, True), (NOON + 1, False)])
def test_at_its_deadline_a_promise_is_due_and_a_microsecond_later_it_is_broken(at: int, still_open: bool) -> None:
    """Protects the edge (CM-03): at every instant a promise is either open or past due, never both, never neither."""
    timeline = read_timeline(promises(("c", "ann", "a by 2026-03-01T12:00:00Z")), at)
    rows = due_table([timeline])
    assert [row.due for row in rows] == ([NOON] if still_open else [])
    assert (timeline.statuses["c"].state == "violated") is not still_open


def test_instances_are_due_and_what_only_stands_for_them_is_not() -> None:
    """Protects the table from promises that nobody made: a commitment with `each` is due by its instances alone."""
    source = promises(("c", "ann", "sent within 1 day of ordered"))
    source["commitments"][0] |= {"each": "order", "if": "ordered"}
    source["history"] = [{"at": "2026-03-01T12:00:00Z", "event": "ordered", "order": "7", "by": "bob"}]
    assert [row.commitment for row in due_table([read_timeline(source)])] == ["c[7]"]
