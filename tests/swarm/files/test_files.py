"""Files in, data or one clear complaint out: never a traceback, never a repaired value."""

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import Field

from protocols.core.message import Message, Name
from swarm.errors import BadInput
from swarm.files import document as files
from swarm.files.document import (
    DecimalText,
    Document,
    UnheldNumber,
    ValueText,
    from_data,
    load,
    read_document,
    validate,
)

# A busy machine is no failure.
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parse(content: str | bytes) -> Document:
    return files._parse(content if isinstance(content, bytes) else content.encode(), "file")


def refusal(content: str | bytes) -> str:
    with pytest.raises(BadInput) as refused:
        parse(content)
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("12:30", "12:30"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("1_000", "1_000"),
        ("0o17", 15),
        ("0x1F", 31),
        ("010", 10),
        ("-7", -7),
        ("9007199254740993", 9007199254740993),
        ("0.10", Decimal("0.10")),
        ("1e3", Decimal("1e3")),
        ("100.0", Decimal("100.0")),
        ("true", True),
        ("~", None),
        ("", None),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("NaN", "NaN"),
        (".nan", UnheldNumber(".nan")),
        ("-.inf", UnheldNumber("-.inf")),
        ("1e999", UnheldNumber("1e999")),
        ("-1e99999999999999999999", UnheldNumber("-1e99999999999999999999")),
        ("1e-999", UnheldNumber("1e-999")),
        ("9" * 5000, UnheldNumber("9" * 5000, integer=True)),
        ('"\\ud83d\\ude00"', "\U0001f600"),
    ],
)
def test_plain_yaml_scalars(text: str, value: Any) -> None:
    found = parse(f"a: {text}").data["a"]
    assert (found, type(found)) == (value, type(value))
    if isinstance(value, Decimal):
        assert found.as_tuple() == value.as_tuple(), "every digit is kept"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.10", Decimal("0.10")),
        ("1E5", Decimal("1E5")),
        ("NaN", UnheldNumber("NaN")),
        ("-Infinity", UnheldNumber("-Infinity")),
        ("1e999", UnheldNumber("1e999")),
        ("1" + "0" * 400, UnheldNumber("1" + "0" * 400, integer=True)),
        ('"2026-01-01"', "2026-01-01"),
    ],
)
def test_json_scalars(text: str, value: Any) -> None:
    found = parse(f'{{"a": {text}}}').data["a"]
    assert (found, type(found)) == (value, type(value))


def test_data_from_python_reads_like_a_file() -> None:
    data = {1: [0.1, float("nan"), 10**500, True, None], "b": (Decimal("1.50"),)}
    assert from_data(data).data == {
        "1": [Decimal("0.1"), UnheldNumber("nan"), UnheldNumber("an integer", integer=True), True, None],
        "b": [Decimal("1.50")],
    }
    for bad in ({1: 1, "1": 2}, {"a": {1, 2}}, {(): 1}, {"a": "\ud83d"}, {"a": b"x"}):
        with pytest.raises(BadInput):
            from_data(bad)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(BadInput, match="nested deeper"):
        from_data(loop)


def test_keys_are_text_as_written() -> None:
    assert parse("0: a\n007: b\nnull: c\ntrue: d\n1.50: e\nno: f").data == {
        "0": "a",
        "007": "b",
        "null": "c",
        "true": "d",
        "1.50": "e",
        "no": "f",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"option": "A",\n "option": "B"}', "file:2: the key 'option' stands twice"),
        ('{"option": "A",\n "opt\\u0069on": "B"}', "file:2: the key 'option' stands twice"),
        ('{"x": [\n{"option": "A", "opt\\u0069on": "B"}]}', "file:2: the key 'option' stands twice"),
        ("a:\n  b: 1\n  c: 2\n  b: 3", "file:4: the key 'b' stands twice"),
        ('a: 1\n"\\u0061": 2', "file:2: the key 'a' stands twice"),
        ("1: x\n'1': y", "file:2: the key '1' stands twice"),
        ("[{a: 1,\n a: 2}]", "file:2: the key 'a' stands twice"),
    ],
)
def test_duplicate_keys_are_refused_at_every_level(content: str, message: str) -> None:
    assert refusal(content).startswith(message)


def test_one_key_in_two_mappings_is_fine() -> None:
    assert parse('{"a": {"k": 1}, "b": {"k": 2}}').data == {"a": {"k": 1}, "b": {"k": 2}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n\t", "is empty"),
        (b"# only a remark\n", "holds no value"),
        (b"a: 1\nb: \xff", "file:2: is not UTF-8 text: byte 0xff"),
        ("a: 1".encode("utf-16"), "is not UTF-8"),
        (b'{"a": "\\ud83d"}', "file:1: a lone surrogate"),
        (b'a: "\\ud83d"', "file:1: a lone surrogate"),
        (b"a: 1\n---\nb: 2", "file:2: a second document"),
        (b'{"a": 1}\n{"b": 2}', "file:2: holds a second value"),
        (b'{"a": 1,\n "b" 2}', "file:2: is not JSON: Expecting ':' delimiter"),
        (b"{a: 1,\n b: [2}", "file:2: is not YAML"),
        (b"a: 1\n b: 2", "file:2: is not YAML"),
        (b"a: !money 5", "file:1: the tag '!money'"),
        (b"a: !!python/object/apply:os.system [ls]", "the tag 'tag:yaml.org,2002:python/object/apply:os.system'"),
        (b"a: !!float 5", "the tag"),
        (b"a: &x {p: 1}\nb:\n  <<: *x", "file:3: merge keys"),
        (b"a: *x", "no complete anchor 'x'"),
        (b"a: &x [*x]", "no complete anchor 'x'"),
        (b"? [a]\n: 1", "file:1: a key must be text"),
        (b"k: &a x\n*a : 1", "a key must be written out"),
        (b"%YAML 1.1\n---\na: no", "only YAML 1.2"),
        (b'a: "\\U00110000"', "is not YAML"),
        (b"a: \x00", "is not YAML"),
        (b"[" * 10_000, "nested deeper than 64"),
        (b"[" * 10_000 + b"]" * 10_000, "nested deeper than 64"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b"a: " + b"[" * 10_000, "nested deeper than 64"),
        (b"- " * 10_000, "nested deeper than 64"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(content: bytes, message: str) -> None:
    said = refusal(content)
    assert message in said
    assert said.isprintable()


def test_an_alias_bomb_is_refused_before_it_expands() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "values once aliases are expanded" in refusal("\n".join(lines))


def test_aliases_share_data_and_keep_their_own_line() -> None:
    document = parse("a: &x\n  p: 1\nb: *x\nc: *x")
    assert document.data == {"a": {"p": 1}, "b": {"p": 1}, "c": {"p": 1}}
    assert [document.line((key,)) for key in "abc"] == [1, 3, 4]
    assert document.line(("c", "p")) == 2


def test_lines_of_both_notations() -> None:
    for text in ('{\n "a": [\n  1,\n  {"b":\n 2}\n ]\n}', "\na:\n - 1\n - b: 2\n"):
        document = parse(text)
        expected = {(): 1, ("a",): 2, ("a", 0): 3, ("a", 1, "b"): 4, ("a", 1, "nowhere", 3): 4, ("a", 9): 2}
        expected[()] = 1 if text[0] == "{" else 2
        assert {path: document.line(path) for path in expected} == expected
    assert from_data({"a": 1}).line(("a",)) is None


def test_flow_yaml_and_json_are_told_apart_by_content() -> None:
    assert parse("{a: no, b: [x, 1.5],}").data == {"a": "no", "b": ["x", Decimal("1.5")]}
    assert parse(b'\xef\xbb\xbf{"a": 1}').data == {"a": 1}


def test_paths_that_cannot_be_read(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere.yaml", "no such file"),
        (tmp_path, "is a directory"),
        ("nul\0", "cannot be read"),
        ("esc\x1b[2J", "no such file"),
    ):
        with pytest.raises(BadInput, match=message) as refused:
            read_document(path)
        assert str(refused.value).isprintable()
    if os.geteuid() != 0:
        secret = tmp_path / "secret.yaml"
        secret.write_text("a: 1")
        secret.chmod(0)
        with pytest.raises(BadInput, match="cannot be read: Permission denied"):
            read_document(secret)


def test_load_takes_paths_data_and_documents(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("a: 1")
    assert load(str(file)).data == load(file).data == load({"a": 1}).data == load(from_data({"a": 1})).data


@calm
@given(st.binary(max_size=60) | st.text(alphabet="{}[]:,-?&*!|>'\"%@#~ \n\t\\ab01.eux<=\r\x85\ud7ff", max_size=40))
@example(b"\x80")
@example("!<")
@example("{:}")
def test_any_bytes_give_data_or_our_error(content: bytes | str) -> None:
    try:
        document = parse(content)
    except BadInput as error:
        assert str(error).isprintable()
    else:
        assert "float" not in repr(_kinds(document.data))


def _kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kinds(item) for key, item in value.items()}
    return [_kinds(item) for item in value] if isinstance(value, list) else type(value)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@calm
@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4), st.booleans(), st.sampled_from([None, 1]))
def test_both_readings_of_json_agree(data: Any, ascii_only: bool, indent: int | None) -> None:
    """The slow reading gives lines for what the fast one read: same keys, same shape."""
    text = json.dumps(data, ensure_ascii=ascii_only, indent=indent)
    assert parse(text).data == data
    assert _kinds_of_holders(files._build_json(text, "file").data) == _kinds_of_holders(data)


def _kinds_of_holders(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kinds_of_holders(item) for key, item in value.items()}
    return [_kinds_of_holders(item) for item in value] if isinstance(value, list) else None


class Create(Message):
    do: Literal["create"]
    by: Name


class Report(Message):
    do: Literal["event"]
    event: Name
    by: Name
    amount: DecimalText | None = None


class Sample(Message):
    parties: list[Name]
    quorum: Literal["all"] | Annotated[int, Field(ge=1)] = "all"
    bar: int = 50
    history: list[Annotated[Create | Report, Field(discriminator="do")]] = Field(default_factory=list)
    reads: dict[str, str | Create] = Field(default_factory=dict)
    issues: dict[str, list[ValueText]] = Field(default_factory=dict)
    when: str | None = Field(default=None, alias="if")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quorm: 5", "quorm: unknown field 'quorm'; did you mean quorum? (valid: bar, history, if, issues, parties,"),
        ("If: x", "If: unknown field 'If' (valid: "),
        ("quorum: most", "quorum: expected 'all' or a whole number, found text 'most'"),
        ("bar: '5'", "bar: expected a whole number, found text '5'"),
        ("bar: true", "bar: expected a whole number, found the truth value true"),
        ("bar: 1e999", "bar: 1e999 is a number that JSON cannot hold"),
        ("history: [{do: evnt, by: a}]", "history[0]: 'do' must be one of 'create', 'event', found 'evnt'"),
        ("history: [{by: a}]", "history[0]: one field must say what this is: 'do'"),
        ("history: [{do: event, event: paid, by: 3}]", "history[0].by: expected text, found the number 3; put it in"),
        ("history: [{do: event, event: paid}]", "history[0]: the field by is missing"),
        ("history: [{do: event, event: p, by: a, amuont: 1}]", "did you mean amount? (valid: amount, by, do, event)"),
        ("history: [{do: event, event: p, by: a, amount: x}]", "expected a decimal such as 12 or 12.50, found text"),
        ("reads: {a: {do: create, by: 5}}", "reads.a.by: expected text, found the number 5"),
        ("reads: {a: 5}", "reads.a: expected text or a mapping, found the number 5"),
        ('reads: {"a b\\e": 5}', "reads['a b\\x1b']: expected text or a mapping"),
        ("issues: {a: [~]}", "issues.a[0]: expected text or a number, found nothing (null)"),
    ],
)
def test_one_message_says_place_fault_and_what_is_valid(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        validate(Sample, parse(f"parties: [a]\n{text}"))
    assert str(refused.value).startswith("file:2: ")
    assert message in str(refused.value)
    assert str(refused.value).isprintable()


def test_the_earliest_fault_is_the_one_told() -> None:
    with pytest.raises(BadInput, match=r"file:2: bar: expected a whole number"):
        validate(Sample, parse("issues: {}\nbar: x\nparties: [1]"))


def test_numbers_named_by_their_text_keep_their_digits() -> None:
    document = parse(
        "parties: [a]\nissues: {discount: [0, 1.50, 2e3, no, true]}\n"
        'history: [{do: event, event: p, by: a, amount: 1.10}, {do: event, event: p, by: a, amount: "2.0"}]'
    )
    found = validate(Sample, document)
    assert found.issues == {"discount": ["0", "1.50", "2000", "no", "true"]}
    assert [item.amount for item in found.history if isinstance(item, Report)] == ["1.10", "2.0"]


@pytest.mark.parametrize("text", ["NaN", ".5", "1e5", "+1", "01", "1.", "٣", "1e999", "", "true"])
def test_decimal_text_is_one_plain_form(text: str) -> None:
    with pytest.raises(BadInput, match="expected a decimal"):
        validate(Sample, from_data({"parties": ["a"], "history": [_report(text)]}))


def _report(amount: Any) -> dict[str, Any]:
    return {"do": "event", "event": "p", "by": "a", "amount": amount}
