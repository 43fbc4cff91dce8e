"""Whatever a person or a program writes to us: files, lines and conditions raise only our own errors, in words."""

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from agents.agent import BadAnswer
from agents.wire import ANSWERS, BadLine, parse_answer
from protocols.commitments.conditions import ConditionError, parse
from swarm.auditing.auditing import read_roster
from swarm.errors import BadInput
from swarm.files.document import from_data, load
from swarm.files.table import decide
from swarm.history.tracking import track
from swarm.scenario.members import read_agent
from swarm.scenario.scenario import read_scenario
from tests.support.fuzz_rooms import SCENARIO
from tests.support.fuzz_values import TEXTS, VALUES, changes, fuzzed

TABLE = """\
members: [A, B, C]
options: [X, "12 % off", Z]
ballots:
  A: {scores: {X: 90, "12 % off": 60, Z: 10}}
  B: {scores: {X: 20, "12 % off": 70}, rejects: {Z: "breaks the terms"}, reserve: 30}
rules: {quorum: 2, bar: 50, floor: 0, rejects: 1}
incumbent: null
beacon: ""
"""
HISTORY = """\
parties: [alice, bob]
as_of: 2026-02-01T00:00:00Z
events:
  paid: {by: bob, confirmed_by: alice, confirm_within: 2 days, silence: denies}
commitments:
  - &w {id: water, debtor: alice, creditor: bob, if: paid(amount >= 1) by 2026-01-10T00:00:00Z,
      then: delivered within 5 days of paid}
  - id: refund
    debtor: alice
    creditor: bob
    if: violated(water)
    then: at least 2 refunded within 3 days of violated(water) or no outage before 2027-01-01T00:00:00Z
history:
  - {at: 2026-01-01T00:00:00Z, do: create, commitment: water, by: alice}
  - {at: 2026-01-03T00:00:00Z, event: paid, by: bob, id: p1, amount: 1.50}
  - {at: 2026-01-03T09:00:00Z, do: confirm, report: p1, by: alice}
  - {at: 2026-01-04T00:00:00Z, do: suspend, commitment: water, by: alice, until: 2026-01-09T00:00:00Z}
  - {at: 2026-01-05T00:00:00Z, do: cancel, commitment: water, by: alice}
"""
AGENT = """\
agent: utility
values: {discount: {0: 0, 5: 10}, years: {1: 10, 2: 40}}
reserve: 55
accepts: {min_step_seconds: 5, max_members: 4}
"""
ROSTER = (Path(__file__).parents[1] / "ledgers" / "roster.yaml").read_text("utf-8")
KINDS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "table": (TABLE, decide),
    "history": (HISTORY, track),
    "agent": (AGENT, read_agent),
    "scenario": (json.dumps(SCENARIO, indent=1), read_scenario),
    "roster": (ROSTER, read_roster),
}
PIECES = [
    *(
        "\n",
        "  ",
        "- ",
        ": ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "*w",
        "!!binary ",
        "!x ",
        "<<: ",
        "? ",
        "| ",
        "> ",
        "---\n",
    ),
    *(
        "...",
        "%YAML 1.1\n",
        "'",
        '"',
        "\\",
        "\\ud83d",
        "\\U00110000",
        "#",
        "\t",
        "\ufeff",
        "\u2028",
        "\x85",
        "\0",
        "~",
        "null",
    ),
    *(
        '"\\U00110000"',
        "0x" + "f" * 70,
        "9" * 500,
        "1e999",
        "-.inf",
        ".nan",
        "0o17",
        "1_000",
        "no",
        "12:30",
        "1e400",
        "1." + "0" * 500,
    ),
]


def words(problem: BadInput) -> None:
    """Hold a complaint to what a person can read: one short text, a line that exists or none."""
    assert problem.message and len(problem.message) < 5_000
    assert problem.line is None or problem.line >= 1


@st.composite
def texts(draw: st.DrawFn, text: str) -> str:
    """Draw *text* with some pieces of it cut out, moved, repeated, or others put in."""
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(text)))
        last = draw(st.integers(first, min(len(text), first + 30)))
        middle = draw(st.one_of(st.just(""), st.sampled_from(PIECES), TEXTS, st.just(text[first:last] * 2)))
        text = text[:first] + middle + text[last:]
    return text


@pytest.mark.parametrize("kind", KINDS)
@fuzzed(short=120, long=10_000)
def test_a_file_is_read_or_refused_in_words(kind: str, examples: settings, tmp_path_factory: Any) -> None:
    """YAML and JSON of every kind of file, with characters changed: `BadInput` and nothing else."""
    text, read = KINDS[kind]
    path = tmp_path_factory.mktemp("fuzz") / "file"

    @examples
    @given(texts(text))
    def holds(changed: str) -> None:
        path.write_bytes(changed.encode("utf-8", "surrogatepass"))
        try:
            read(path)
        except BadInput as problem:
            words(problem)

    read(write(path, text))
    holds()


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


@cache
def data_of(kind: str) -> Any:
    plain = YAML(typ="safe", pure=True)
    plain.constructor.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)
    plain.constructor.add_constructor("tag:yaml.org,2002:float", lambda loader, node: node.value)
    return json.loads(json.dumps(plain.load(KINDS[kind][0])))


@pytest.mark.parametrize("kind", KINDS)
@fuzzed(short=120, long=10_000)
def test_data_is_read_or_refused_in_words(kind: str, examples: settings, tmp_path_factory: Any) -> None:
    """The same with values changed, in a JSON file or as plain data; both get the same answer."""
    path = tmp_path_factory.mktemp("fuzz") / "file.json"
    read = KINDS[kind][1]

    @examples
    @given(changes(data_of(kind)))
    def holds(plain: Any) -> None:
        path.write_bytes(json.dumps(plain).encode())
        said = []
        for source in (path, plain) if isinstance(plain, dict) and kind != "roster" else (path,):
            try:
                read(source)
                said.append("")
            except BadInput as problem:
                words(problem)
                said.append(problem.message)
        assert len(set(said)) == 1

    holds()


@fuzzed(short=300, long=50_000)
def test_any_text_is_a_document_or_refused(examples: settings, tmp_path_factory: Any) -> None:
    """The readers below: any bytes at all give a document, or `BadInput`; what is read can be read again."""
    path = tmp_path_factory.mktemp("fuzz") / "file"
    soup = st.lists(st.one_of(st.sampled_from(PIECES), TEXTS), max_size=12).map("".join)

    @examples
    @given(st.one_of(soup.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=60)))
    def holds(content: bytes) -> None:
        path.write_bytes(content)
        try:
            document = load(path)
        except BadInput as problem:
            words(problem)
        else:
            if isinstance(document.data, dict):
                assert from_data(document.data).data == document.data

    holds()


# -- the lines of a command -----------------------------------------------------------------------------------------

LINES: dict[str, dict[str, Any]] = {
    "manifest": {"manifest": {"agent": "x"}},
    "nominate": {"nominates": ["fair"]},
    "interpret": {"interpretations": {"task": {"meaning": "x", "cases": [{"text": "y", "applies": True}]}}},
    "read": {"verdicts": ["yes"], "judgements": ["same"]},
    "settle": {"terms": {"task": {"keep": True}}},
    "quote": {"values": {"price": [10, "20"]}},
    "propose": {"option": {"title": "Ten", "offer": {"price": 10}}, "reserve": 40},
    "score": {"scores": {"0" * 64: 90}, "rejects": {"1" * 64: "no"}},
    "improve": {"pass": True},
    "ratify": {"accept": False, "because": "x"},
    "perform": {
        "acts": [{"kind": "event.report", "event": "paid", "attributes": {"n": "1"}}],
        "again_in_seconds": "1.5",
    },
}


def answered(act: str, raw: bytes | str) -> bool:
    try:
        parse_answer(act, raw, 7)
    except (BadLine, BadAnswer) as bad:
        assert 0 < len(str(bad)) < 1_000
        return False
    return True


def test_every_act_has_a_line_to_fuzz() -> None:
    """An act that is added is fuzzed too."""
    assert LINES.keys() == ANSWERS.keys()
    assert all(answered(act, json.dumps({"id": 7, "answer": answer})) for act, answer in LINES.items())


@fuzzed(short=400, long=100_000)
def test_a_line_is_an_answer_or_is_refused(examples: settings) -> None:
    """What a command writes raises `BadLine` or `BadAnswer`, with a reason of some length, and nothing else."""
    lines = {act: {"id": 7, "answer": answer, "cost": {"calls": 1, "seconds": "1.5"}} for act, answer in LINES.items()}

    @examples
    @given(st.sampled_from(sorted(LINES)), st.data())
    def holds(act: str, data: st.DataObject) -> None:
        plain = data.draw(st.one_of(changes(lines[act]), changes(lines[act]), VALUES))
        text = json.dumps(plain)
        if data.draw(st.integers(0, 3)) == 0:
            text = data.draw(texts(text))
        answered(act, text)
        answered(act, text.encode("utf-8", "surrogatepass"))

    holds()


def test_what_is_wrong_with_a_line_is_said_in_few_words() -> None:
    """A line of a megabyte that is quoted in its own complaint would fill the record and the next duty."""
    kind = json.dumps({"id": 7, "answer": {"acts": [{"kind": "x" * 1_000_000}]}})
    key = json.dumps({"id": 7, "answer": {"pass": True, "x" * 1_000_000: 1}})
    for act, line in (("perform", kind), ("improve", key), ("improve", '"' + "x" * 1_000_000 + '"')):
        assert not answered(act, line) and not answered(act, line.encode())


# -- conditions -----------------------------------------------------------------------------------------------------

WORDS = [
    *(
        "paid",
        "delivered",
        "agreed",
        "amount",
        "and",
        "or",
        "no",
        "at",
        "least",
        "by",
        "before",
        "after",
        "within",
        "of",
    ),
    *(
        "totalling",
        "violated",
        "created",
        "(",
        ")",
        ",",
        "[",
        "]",
        "[17]",
        '"late fee"',
        "'x",
        "\\",
        "=",
        "!=",
        ">=",
        "<",
    ),
    *(
        "3",
        "0",
        "1000001",
        "12.50",
        "2026-01-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "5",
        "days",
    ),
    *("5 days", "P5D", "99999999999999 weeks", "\n", "\x00", "é", "\u00b2", "٣", "water", "water-7"),
]
CONDITION = (
    'paid(amount >= 1, note = "x") by 2026-01-10T00:00:00Z and (no outage within 3 days of paid or violated(water[17]))'
)


@fuzzed(short=500, long=100_000)
def test_a_condition_is_read_or_refused_at_a_character(examples: settings) -> None:
    """`parse` raises `ConditionError` with a place in the text, and nothing else; what it reads it reads again."""

    @examples
    @given(st.one_of(st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join), texts(CONDITION), TEXTS))
    def holds(text: str) -> None:
        try:
            condition = parse(text)
        except ConditionError as problem:
            assert 0 <= problem.position <= len(text) and len(str(problem)) < 2 * len(text) + 500
        else:
            assert parse(str(condition)) == condition

    assert str(parse(CONDITION))
    holds()


def test_the_grammar_has_no_word_that_is_not_fuzzed() -> None:
    """A word that is added to the language is put together with the others here."""
    grammar = Path(__file__).parents[2] / "protocols" / "commitments" / "conditions.lark"
    words = set(re.findall(r"^_?[A-Z]+(?:\.2)?: /([a-z]+)\(\?!", grammar.read_text("utf-8"), re.MULTILINE))
    assert {"and", "within", "totalling"} < words <= set(WORDS)
