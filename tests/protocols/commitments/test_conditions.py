"""The language: what it means by structure, that printing loses nothing, and that errors point at the character."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.commitments.conditions import DEEPEST, RESERVED, ConditionError, parse
from protocols.commitments.tree import (
    LIFE,
    After,
    And,
    AtLeast,
    Before,
    By,
    Condition,
    Event,
    Filter,
    LifeCycle,
    Literal,
    No,
    Or,
    Timed,
    Totalling,
    Within,
)
from protocols.core.instants import DAY, FIRST, HOUR, LAST, MINUTE, SECOND, parse_instant

T = "2026-01-11T00:00:00Z"
AT = parse_instant(T)


def test_and_binds_before_or() -> None:
    assert parse("a or b and c") == Or((Event("a"), And((Event("b"), Event("c")))))
    assert parse("(a or b) and c") == And((Or((Event("a"), Event("b"))), Event("c")))


def test_needless_parentheses_make_no_difference() -> None:
    assert parse("(a and b) and c") == parse("a and (b and (c))") == parse("a and b and c")
    assert parse("(a or b) or c and d") == parse("a or b or (c and d)")


def test_a_window_binds_to_the_one_condition_before_it() -> None:
    assert parse(f"a and b by {T}") == And((Event("a"), Timed(Event("b"), (By(AT),))))


def test_a_window_after_parentheses_applies_to_each_part() -> None:
    bounded = (By(AT),)
    assert parse(f"(a and b) by {T}") == And((Timed(Event("a"), bounded), Timed(Event("b"), bounded)))
    assert parse(f"(a or no b before {T}) by {T}") == Or(
        (Timed(Event("a"), bounded), No(Event("b"), (Before(AT), By(AT))))
    )
    assert parse(f"(no b) by {T}") == No(Event("b"), bounded)


def test_after_of_stands_one_condition_and_further_windows_belong_to_what_is_before_within() -> None:
    assert parse(f"a within 5 days of b by {T}") == Timed(Event("a"), (Within(5 * DAY, Event("b")), By(AT)))
    assert parse(f"a within 5 days of (b by {T})") == Timed(
        Event("a"), (Within(5 * DAY, Timed(Event("b"), (By(AT),))),)
    )


def test_several_windows_at_once() -> None:
    windows = parse(f"a by {T} before {T} after {T} within P1D of b")
    assert windows == Timed(Event("a"), (By(AT), Before(AT), After(AT), Within(DAY, Event("b"))))


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("30 seconds", 30 * SECOND),
        ("1 second", SECOND),
        ("90 minutes", 90 * MINUTE),
        ("36  hours", 36 * HOUR),
        ("P1DT12H", 36 * HOUR),
        ("2 weeks", 14 * DAY),
        ("P5D", 5 * DAY),
    ],
)
def test_durations(text: str, micros: int) -> None:
    assert parse(f"a within {text} of b") == Timed(Event("a"), (Within(micros, Event("b")),))


def test_counts_totals_and_life_cycle() -> None:
    filters = (Filter("q", "=", Literal("good")), Filter("kg", ">=", Literal("9.5")))
    assert parse("at least 3 delivered(q = good, kg >= 9.5)") == AtLeast(3, Event("delivered", filters))
    assert parse("paid totalling amount >= 99.50") == Totalling(Event("paid"), "amount", "99.50")
    assert parse('violated("late-fee")') == LifeCycle("violated", "late-fee")
    assert parse('created("late fee"[17 b])') == LifeCycle("created", "late fee", "17 b")


def test_names_that_only_begin_like_words_of_the_language() -> None:
    for name in ("android", "orders", "no_show", "at_home", "created_at", "bypass", "ofT", "_", "x9"):
        assert parse(name) == Event(name)
    assert parse("paid(by = no, created = or)") == Event(
        "paid", (Filter("by", "=", Literal("no")), Filter("created", "=", Literal("or")))
    )


def test_a_quoted_value_is_text_even_if_it_looks_like_a_number() -> None:
    quoted, plain = parse('a(x = "5")'), parse("a(x = 5)")
    assert quoted != plain
    assert str(quoted) == 'a(x = "5")'
    assert parse("a(x = 'red')") == parse("a(x = red)")


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "found the end, expected ( or a name"),
        ("paid by", 7, "expected a time"),
        ("paid bi 2026", 5, "by"),
        ("paid by 2026-01-01", 8, "'2026-01-01' is not a time"),
        ("paid by 2026-01-01T00:00:60Z", 8, "leap second"),
        ("paid by 2026-01-01T00:00:00.1234567Z", 8, "is not a time"),
        ("paid by 2026-01-01T00:00:00", 8, "is not a time"),
        ("paid within 2 months of a", 12, "months and years have no fixed length"),
        ("paid within five of a", 12, "'five' is not a duration"),
        ("paid within 5 days", 18, "of"),
        ("no x", 0, "no x has no end"),
        ("a and (b or no x)", 12, "no x has no end"),
        (f"no x after {T}", 0, "has no end"),
        ("a within 1 day of (no x)", 19, "has no end"),
        ("(a", 2, "expected )"),
        ("a)", 1, "expected the end"),
        ("a and", 5, "found the end"),
        ("and", 0, "a word of the language"),
        ("paid(amount)", 11, "!="),
        ("paid(amount == 1)", 13, "a value"),
        ("at least 0 a", 9, "from 1 to"),
        ("at least 99999999 a", 9, "from 1 to"),
        ("a totalling x > 3", 14, "a total is compared with >="),
        ("a totalling x >= many", 17, "no decimal"),
        ("a totalling x >= 1e3", 17, "no decimal"),
        ("violated()", 9, "a name or quoted text"),
        ("created", 7, "("),
        ("a $ b", 2, "found '$'"),
        ("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), DEEPEST, f"deeper than {DEEPEST}"),
    ],
)
def test_errors_point_at_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(ConditionError) as refused:
        parse(text)
    assert refused.value.position == position
    assert message in str(refused.value)


@pytest.mark.parametrize("name", ["9lives", "Übergabe", "late-fee", "x.y", "naïve", "ªa", "a\u0300"])
def test_a_name_that_is_no_plain_word_is_quoted(name: str) -> None:
    """What a letter is differs between interpreters, so that only ASCII may stand bare."""
    for text in (name, f"violated({name})", f"paid({name} = 1)", f"paid totalling {name} >= 1"):
        with pytest.raises(ConditionError):
            parse(text)
    assert parse(f'"{name}"("{name}" = 1)') == Event(name, (Filter(name, "=", Literal("1")),))
    assert parse(f'violated("{name}")') == LifeCycle("violated", name)
    assert parse(f'"{name}" totalling "{name}" >= 1') == Totalling(Event(name), name, "1")


def test_a_value_that_is_no_plain_text_is_quoted() -> None:
    assert parse("a(x = A-17.b:c/d+e)") == Event("a", (Filter("x", "=", Literal("A-17.b:c/d+e")),))
    for value in ("größe", "a$b", "½"):
        with pytest.raises(ConditionError):
            parse(f"a(x = {value})")


def test_words_of_the_language_are_names_in_quotes() -> None:
    assert parse('"no" and "violated"') == And((Event("no"), Event("violated")))
    with pytest.raises(ConditionError, match="a name is not empty"):
        parse('""')


def test_other_white_space_than_ascii_separates_nothing() -> None:
    with pytest.raises(ConditionError):
        parse("a\u00a0and b")


def _nested(levels: int, parts: int) -> str:
    text = " or ".join("a" * parts)
    for _ in range(levels):
        text = f"({' or '.join('a' * parts)}) within 1 day of ({text})"
    return text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (" or ".join(["a"] * 1_000), 1_000),
        (f"({' or '.join(['a'] * 500)}) by {T}", 1_000),
        (f"({' or '.join(['a'] * 20)}) within 1 day of ({' or '.join(['b'] * 48)})", 1_000),
        (f"a {' '.join([f'by {T}'] * 100)}", 101),
    ],
)
def test_the_largest_condition_is_read_and_one_more_is_not(text: str, written: int) -> None:
    """Counted as written out: each window after parentheses once for every part."""
    parse(text)
    with pytest.raises(ConditionError, match="leaves and windows"):
        parse(f"{text} or {' or '.join(['z'] * (1_001 - written))}")


def test_what_grows_as_parts_to_the_depth_is_counted_and_never_written_out() -> None:
    """445 characters took ten seconds, 1.5 kB for ever."""
    for levels in (1, 2):
        with pytest.raises(ConditionError, match="leaves and windows"):
            parse(_nested(levels, 40))
    deep = "a"
    for _ in range(DEEPEST):
        deep = f"({deep} or a) {' '.join([f'by {T}'] * 10)}"
    with pytest.raises(ConditionError, match=r"written out, the condition has [0-9,]+ leaves and windows"):
        parse(deep)


def test_clocks_inside_clocks_have_an_end() -> None:
    parse("a within 1 day of (b within 1 day of (c and d))")
    with pytest.raises(ConditionError, match="nests deeper than 2") as refused:
        parse("a within 1 day of (b within 1 day of (c within 1 day of (d and e)))")
    assert refused.value.position == 47


def test_parentheses_in_quotes_are_not_nesting() -> None:
    assert parse('a(x = "' + "(" * 50 + '")') == Event("a", (Filter("x", "=", Literal("(" * 50)),))


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert parse("(" * DEEPEST + "a" + ")" * DEEPEST) == Event("a")


names = st.one_of(
    st.text(string.ascii_letters + string.digits + "_", min_size=1, max_size=8),
    st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc"]), min_size=1, max_size=8),
    st.sampled_from(sorted(RESERVED | LIFE)),
)
plain_texts = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=8)
literals = st.one_of(
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(lambda number: Literal(format(number, "f"))),
    plain_texts.map(lambda text: Literal(text, Literal(text).is_number)),
)
filters = st.builds(Filter, names, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), literals)
events = st.builds(Event, names, st.lists(filters, max_size=2).map(tuple))
ids = plain_texts.filter(lambda text: text and not set(text) & set("[]"))
counted = st.one_of(
    events,
    st.builds(LifeCycle, st.sampled_from(["created", "violated"]), ids, st.none() | ids),
    st.builds(AtLeast, st.integers(1, 1000), events),
    st.builds(Totalling, events, names, st.integers(0, 10**20).map(str)),
)
instants = st.integers(FIRST, LAST)


def windows(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[tuple[object, ...]]:
    durations = st.integers(0, 10**6).map(lambda seconds: seconds * SECOND)
    ends = st.one_of(st.builds(By, instants), st.builds(Before, instants), st.builds(Within, durations, inner))
    both = st.tuples(ends, st.lists(ends | st.builds(After, instants), max_size=2))
    return both.map(lambda found: (found[0], *found[1]))


def extended(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    parts = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds(Timed, counted, windows(inner)),
        st.builds(No, counted, windows(inner)),
        parts.map(lambda found: And(_flat(And, found))),
        parts.map(lambda found: Or(_flat(Or, found))),
    )


def _flat(kind: type, parts: list[Condition]) -> tuple[Condition, ...]:
    return tuple(part for found in parts for part in (found.parts if isinstance(found, kind) else (found,)))


@given(st.recursive(counted, extended, max_leaves=6).filter(lambda found: str(found).count("of (") < 3))
def test_printing_and_parsing_is_the_identity(condition: Condition) -> None:
    text = str(condition)
    assert parse(text) == condition
    assert str(parse(text)) == text
