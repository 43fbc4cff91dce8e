"""Claims: what may be said of them, which stand, and what they rest on in the end."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from protocols.messages.accord import Interpretations, Settlement
from protocols.messages.claims import Claim, claim_id
from protocols.messages.concord import BallotContent, Option, Proposal, Ratify
from protocols.views.briefing import briefing
from protocols.views.evidence import evidence_findings, evidence_of
from tests.support.unsigned_rooms import Table, codes, fold, hexed, key_of

calm = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, print_blob=True)


def claim(text: str, source: str = "observed", *origin: str, label: str | None = None) -> dict[str, Any]:
    said: dict[str, Any] = {"text": text, "source": source}
    return said | ({"from": list(origin)} if origin else {}) | ({"id": label} if label else {})


def proposed(claims: dict[str, Sequence[dict[str, Any]]], order: str = "abc", members: str = "abc") -> Table:
    """A room whose members have proposed an option each, with these claims; revealed in *order*."""
    table = Table(members).join()
    contents = {}
    for member in order:
        content = table.proposal(member, f"option {member}")
        contents[member] = content | ({"claims": list(claims[member])} if member in claims else {})
    table.found = table.sealed(contents)  # type: ignore[attr-defined]
    return table


def found(table: Table, member: str) -> list[str]:
    """The codes at *member*'s reveal."""
    codes_: list[str] = table.found[member]  # type: ignore[attr-defined]
    return codes_


def scored(table: Table, cites: dict[str, list[str]], score: int = 80, **claims: Sequence[dict[str, Any]]) -> Table:
    """Let everybody score every option alike, citing for option a as said."""
    contents = {}
    for member in table.members:
        content = table.ballot(member, {f"option {m}": score for m in table.members})
        content |= {"cites": {table.option("option a"): cites[member]}} if member in cites else {}
        contents[member] = content | ({"claims": list(claims[member])} if member in claims else {})
    table.found = table.sealed(contents)  # type: ignore[attr-defined]
    return table


def by_ref(table: Table) -> dict[str, dict[str, Any]]:
    return {f"{c['by']}:{c['label']}": c for c in evidence_of(table.room)}


def ended(table: Table) -> list[tuple[str, str, str]]:
    return [(f.code, f.who, f.text) for f in evidence_findings(table.room)]


# -- what a claim is --------------------------------------------------------------------------------------------------


def test_the_id_is_of_what_is_said_and_by_whom_and_not_of_its_label() -> None:
    """Protects ids: one claim is one id, whatever it is called, and in whatever order it names its sources."""
    one, two = (
        Claim(id="x", text="t", source="derived", origin=["p", "q"]),
        Claim(text="t", source="derived", origin=["q", "p"]),
    )
    assert claim_id("r", "K", one, ["p", "q"]) == claim_id("r", "K", two, ["q", "p"])
    others = {
        claim_id("r2", "K", one, ["p", "q"]),
        claim_id("r", "K2", one, ["p", "q"]),
        claim_id("r", "K", one, ["p"]),
        claim_id("r", "K", one.model_copy(update={"source": "heard"}), ["p", "q"]),
        claim_id("r", "K", one.model_copy(update={"text": "u"}), ["p", "q"]),
    }
    assert len(others - {claim_id("r", "K", one, ["p", "q"])}) == 5


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (claim("t", "observed", "somebody"), "nobody's word"),
        (claim("t", "derived"), "derived from"),
        (claim("t", "heard"), "heard from"),
        (claim("t", "heard", "x", "x"), "twice"),
        (claim("t", "guessed"), "observed"),
        (claim("", "observed"), "at least 1"),
        (claim("t", label="a:b"), "pattern"),
        (claim("t", label="f" * 64), "pattern"),
        (claim("t") | {"weight": 1}, "Extra"),
    ],
)
def test_a_claim_says_where_it_is_from(said: dict[str, Any], why: str) -> None:
    """Protects readers: a source and what it implies go together, and a label is never taken for an id or a name."""
    with pytest.raises(ValidationError, match=why):
        Claim.model_validate(said)


def test_what_has_no_claims_is_signed_as_it_always_was() -> None:
    """Protects old ledgers: absent claims and citations leave no trace in what is digested."""
    plain = [
        Interpretations(interpretations={}).plain(),
        Settlement(keep=True).plain(),
        Proposal(option=Option(title="x"), reserve="0" * 64).plain(),
        BallotContent(scores={"x": 1}).plain(),
        Ratify(step="concord.ratify", outcome="0" * 64, accept=True).plain(),
    ]
    assert [said.keys() & {"claims", "cites"} for said in plain] == [set()] * 5


# -- which claims stand -----------------------------------------------------------------------------------------------


def test_claims_are_sealed_with_the_answer_and_then_known_to_all() -> None:
    """Protects independence: nobody learns of a claim before its answer is revealed, and then everybody does."""
    table = Table("ab").join()
    contents = {m: table.proposal(m, m) | {"claims": [claim(f"{m} saw it", label="c")]} for m in "ab"}
    for member, content in contents.items():
        table.seal(member, content)
    assert briefing(table.room, "a").claims == []
    table.reveal("a")
    assert [(c.ref, c.text) for c in briefing(table.room, "b").claims] == [("a:c", "a saw it")]


def test_a_claim_is_named_by_id_by_label_and_by_member_and_label() -> None:
    """Protects those who cite: every way to name a claim leads to the same one."""
    table = proposed({"a": [claim("seen", label="c")], "b": [claim("own", label="c")]})
    identifier = claim_id(table.room.setting.room, key_of("a"), Claim(text="seen", source="observed"), [])
    scored(table, {"a": ["c"], "b": ["a:c", "c"], "c": [identifier]})
    assert [found(table, m) for m in "abc"] == [[], [], []]
    cited = [(c.by, table.room.evidence.claims[c.claim].text) for c in table.room.evidence.citations]
    assert cited == [("a", "seen"), ("b", "seen"), ("b", "own"), ("c", "seen")]


def test_naming_one_claim_twice_is_citing_it_once() -> None:
    """Protects the figures: a claim does not weigh more for being named by label and by id."""
    table = proposed({"a": [claim("seen", label="c")]})
    (identifier,) = table.room.evidence.claims
    scored(table, {"b": ["a:c", identifier]})
    assert len(table.room.evidence.citations) == 1


@pytest.mark.parametrize("order", ["abc", "bac", "cba"])
def test_what_is_said_in_one_step_cannot_lean_on_each_other(order: str) -> None:
    """Protects independence, whoever's reveal comes first: a claim agreed on beforehand is none that was heard."""
    table = proposed({"a": [claim("seen", label="c")], "b": [claim("seen", "heard", "a:c", label="c")]}, order)
    assert found(table, "b") == ["unknown_claim"]
    assert list(by_ref(table)) == ["a:c"]
    assert found(scored(table, {"b": ["a:c"]}), "b") == []


@pytest.mark.parametrize(
    ("claims", "code", "stands"),
    [
        ([claim("x", "derived", "nowhere", label="1")], ["unknown_claim"], []),
        ([claim("x", "derived", "a:nowhere", label="1")], ["unknown_claim"], []),
        ([claim("x", "derived", hexed("nothing"), label="1")], ["unknown_claim"], []),
        ([claim("x", "heard", "b:1", label="1")], ["unknown_claim"], []),
        ([claim("x", "derived", "2", label="1"), claim("y", label="2")], ["later_claim"], ["2"]),
        ([claim("x", "derived", "a:2", label="1"), claim("y", label="2")], ["later_claim"], ["2"]),
        ([claim("x", "derived", "1", label="1")], ["claim_circle"], []),
        (
            [claim("x", "derived", "2", label="1"), claim("y", "heard", "a:1", label="2")],
            ["claim_circle", "claim_circle"],
            [],
        ),
        (
            [claim("x", "derived", "nowhere", label="1"), claim("y", "derived", "1", label="2")],
            ["unknown_claim", "unknown_claim"],
            [],
        ),
        ([claim("x", label="1"), claim("y", label="1")], ["repeated_label"], ["1"]),
        ([claim("x", label="1"), claim("x", label="1")], [], ["1"]),
        ([claim("x", label="1"), claim("y", "derived", "1", label="2")], [], ["1", "2"]),
        ([claim("x", "heard", "1", label="1")], [], ["1"]),
    ],
    ids=str,
)
def test_a_claim_that_rests_on_nothing_that_stands_is_named_and_counts_for_nothing(
    claims: list[dict[str, Any]], code: list[str], stands: list[str]
) -> None:
    """Protects the graph: no dangling, later or circular claim is in it, and the answer itself counts all the same."""
    table = proposed({"a": claims})
    assert found(table, "a") == code
    assert sorted(c.label or "" for c in table.room.evidence.claims.values()) == stands
    assert "a" in table.concord.proposals.contents
    assert [f.who for f in table.room.findings if f.code in code] == ["a"] * len(code)


def test_a_label_names_one_claim_for_the_whole_room() -> None:
    """Protects what was cited: nobody can give a label that others cite another meaning later."""
    table = scored(proposed({"a": [claim("x", label="1")]}), {"a": ["1"]}, a=[claim("y", label="1")])
    assert found(table, "a") == ["repeated_label"]
    assert [c.text for c in table.room.evidence.claims.values()] == ["x"]


def test_a_citation_of_nothing_is_named_and_the_score_stands() -> None:
    """Protects the ballot: a wrong reference costs its author the citation, and nothing else."""
    table = scored(proposed({}), {"b": ["a:1"]})
    assert found(table, "b") == ["unknown_claim"]
    assert table.concord.table.scores["b"] and not table.room.evidence.citations


def test_a_void_answer_states_nothing() -> None:
    """Protects the record: what counts for nothing cannot be cited."""
    table = Table("abc", issues={"size": {"values": ["s", "l"]}}).join()
    offers = {"a": {"size": "s"}, "b": {"size": "xxl"}, "c": {"size": "l"}}
    given = {m: table.proposal(m, {"title": m, "offer": offer}) | {"claims": [claim(m)]} for m, offer in offers.items()}
    assert table.sealed(given)["b"] == ["unknown_value"]
    assert sorted(c.by for c in table.room.evidence.claims.values()) == ["a", "c"]


def test_a_citation_for_an_option_nobody_asked_about_voids_like_a_reason_for_it() -> None:
    """Protects the table: what names an unknown option is no valid ballot."""
    table = proposed({"a": [claim("x", label="1")]})
    content = table.ballot("a", {f"option {m}": 50 for m in "abc"}, cites={"other": ["1"]})
    assert table.sealed({"a": content})["a"] == ["unknown_option"]


def test_what_answers_openly_may_state_and_cite_too() -> None:
    """Protects settle, improve and ratify: their claims stand, and a settlement's citation is in the divergence."""
    table = Table("ab", agenda=["accord", "concord"], terms=["done"]).join()
    table.mean({"a": {"done": "merged"}, "b": {"done": "deployed"}})
    table.read(judgements={"a": {"done": "different"}})
    adopted = {"adopt": table.meaning_id("done", "b"), "because": "see", "cites": ["seen"]}
    claims = [claim("it ran", label="seen")]
    assert table.answer("a", "accord.settle", terms={"done": adopted}, claims=claims) == []
    table.settle("b")
    assert table.room.accord is not None
    assert table.room.accord.divergences[0].plain()["settled_by"]["a"]["cites"] == ["seen"]
    table.propose(a="one", b="two")
    table.score(a={"one": 60, "two": 50}, b=60)
    member = table.holder
    said = {"claims": [claim("better", "derived", "a:seen", label="n")], "cites": [f"{member}:n"]}
    assert table.answer(member, "concord.improve", option={"title": "three"}, **said) == []
    table.score(a=70, b=70)
    table.all_pass()
    assert table.ratify("a", cites=[f"{member}:n"]) == []
    table.ratify("b", claims=[claim("late news")])
    assert table.ending == ("agreed", None)
    carried = {c["text"]: [(x["by"], x["how"], x["what"]) for x in c["carried"]] for c in evidence_of(table.room)}
    assert carried["it ran"] == [("a", "gives a meaning", "a meaning of 'done'")]
    assert carried["better"] == [(member, "proposes", "'three'"), ("a", "signs", "'three'")]
    assert carried["late news"] == []
    assert fold(table, table.said) == table.room


# -- what they rest on ------------------------------------------------------------------------------------------------


def test_roots_are_the_authors_of_what_was_observed() -> None:
    """Protects the count: a chain and a diamond have the roots at their ends, and one name is one root."""
    table = proposed(
        {
            "a": [claim("1", label="1"), claim("2", label="2"), claim("3", "derived", "1", "2", label="3")],
            "b": [claim("4", label="4")],
        }
    )
    scored(table, {}, b=[claim("5", "derived", "a:3", "4", label="5"), claim("6", "derived", "5", "a:1", label="6")])
    roots = {ref: (c["roots"], c["independent"], c["verified"]) for ref, c in by_ref(table).items()}
    assert roots["a:3"] == (["a"], 1, True)
    assert roots["b:5"] == roots["b:6"] == (["a", "b"], 2, True)


def test_what_was_heard_has_the_root_that_it_was_heard_from() -> None:
    """Protects against echoes: hearsay is verified only where somebody's observation stands behind it."""
    table = proposed({"a": [claim("x", "heard", "Reuters", label="1")], "b": [claim("x", label="1")]})
    scored(table, {}, c=[claim("x", "heard", "a:1", label="1"), claim("x!", "heard", "b:1", "a:1", label="2")])
    shown = by_ref(table)
    assert (shown["a:1"]["roots"], shown["a:1"]["verified"]) == (["Reuters"], False)
    assert (shown["c:1"]["roots"], shown["c:1"]["verified"]) == (["Reuters"], False)
    assert (shown["c:2"]["roots"], shown["c:2"]["verified"]) == (["Reuters", "b"], True)


def test_voices_that_all_have_it_from_one_are_one_source() -> None:
    """Protects against a chorus: three members who stand up for an option on one's observation are told as one."""
    table = proposed({"a": [claim("the mill is full", label="1")]})
    scored(table, {"a": ["1"], "b": ["a:1"], "c": ["new"]}, c=[claim("no paper", "derived", "a:1", label="new")])
    assert ended(table) == [("one_source", "", "3 voices (a, b, c) for 'option a', one source: a")]


def test_voices_of_two_observers_are_no_chorus() -> None:
    """Protects those who checked for themselves: a second observation is a second root."""
    table = proposed({"a": [claim("full", label="1")], "b": [claim("full", label="1")]})
    scored(table, {"a": ["1"], "b": ["1"], "c": ["a:1"]})
    assert ended(table) == []


def test_one_voice_is_no_chorus() -> None:
    """Protects the lone speaker: citing oneself alone is no finding."""
    assert ended(scored(proposed({"a": [claim("full", label="1")]}), {"a": ["1"]})) == []


def test_the_same_words_heard_from_one_source_are_one_source() -> None:
    """Protects against an echo that nobody cites: two members who repeat one report are one source."""
    heard = {m: [claim("prices fall", "heard", "the trade paper")] for m in "ab"}
    assert ended(proposed(heard)) == [
        ("one_source", "", "2 voices (a, b) for the claim 'prices fall', one source: the trade paper")
    ]
    apart = {"a": [claim("prices fall", "heard", "the trade paper")], "b": [claim("prices fall", "heard", "a friend")]}
    assert ended(proposed(apart)) == []


def test_what_nobody_observed_and_carried_a_score_or_a_signature_is_named() -> None:
    """Protects the signers: unverified claims count as such from the bar on, not below it, and under no refusal."""
    hearsay = {"a": [claim("they will pay", "heard", "a friend", label="1")]}
    told = "on 'they will pay', which nobody claims to have observed"
    assert ended(scored(proposed(hearsay), {"b": ["a:1"]}, 49)) == []
    table = scored(proposed(hearsay), {"b": ["a:1"]}, 50)
    assert ended(table) == [("unverified_claim", "b", f"scores 50 'option a' {told}")]
    table.all_pass()
    table.ratify("a")
    table.ratify("b", accept=False, because="no", cites=["a:1"])
    table.ratify("c", cites=["a:1"])
    standing = table.title(table.concord.standing)
    assert ended(table)[1:] == [("unverified_claim", "c", f"signs {standing!r} {told}")]


def test_a_verified_claim_that_carried_a_score_is_no_finding() -> None:
    """Protects those who relied on an observation."""
    assert ended(scored(proposed({"a": [claim("paid", label="1")]}), {"b": ["a:1"]}, 100)) == []


# -- whatever is said -------------------------------------------------------------------------------------------------

REFERENCE = st.sampled_from(["1", "2", "3", "a:1", "b:2", "c:3", "d:1", "a", "b", "c", "Reuters", "x:y", hexed("no")])
CLAIM = st.builds(
    lambda text, label, origin, heard: claim(
        text, ("heard" if heard else "derived") if origin else "observed", *origin, label=label
    ),
    st.sampled_from("xyz"),
    st.sampled_from([None, "1", "2", "3"]),
    st.lists(REFERENCE, max_size=3, unique=True),
    st.booleans(),
)
SAID = st.fixed_dictionaries({m: st.lists(CLAIM, max_size=4) for m in "abc"})


def _spoken(first: dict[str, Any], second: dict[str, Any], order: str, members: str = "abc") -> Table:
    table = proposed({m: c for m, c in first.items() if c}, order, members)
    return scored(table, {"a": ["b:1", "1"], "b": ["a:2"], "c": ["1"]}, **{m: c for m, c in second.items() if c})


@settings(calm, max_examples=150)
@given(SAID, SAID, st.permutations("abc"), st.permutations("abc"))
def test_no_claims_break_a_room_and_no_order_of_arrival_or_roster_decides(
    first: dict[str, Any], second: dict[str, Any], order: list[str], roster: list[str]
) -> None:
    """Whatever refers to whatever: the same claims stand, on the same roots, and every fold of the log agrees."""
    one = _spoken(first, second, "abc")
    two = _spoken(first, second, "".join(order))
    three = _spoken(first, second, "".join(order), "".join(roster))
    # The room's name, and so every id, depends on its roster.
    assert _shown(one, "id", "rests_on") == _shown(two, "id", "rests_on")
    assert _shown(one) == _shown(three)
    assert sorted(codes(evidence_findings(one.room))) == sorted(codes(evidence_findings(three.room)))
    assert sorted(one.codes()) == sorted(two.codes()) == sorted(three.codes())
    assert fold(one, one.said) == one.room


def _shown(table: Table, *more: str) -> list[Any]:
    keys = ("by", "label", "text", "source", "heard_from", "roots", "verified", *more)
    return sorted([[str(c[key]) for key in keys] for c in evidence_of(table.room)])


@settings(calm, max_examples=150)
@given(SAID, SAID)
def test_roots_are_what_a_walk_down_the_claims_finds(first: dict[str, Any], second: dict[str, Any]) -> None:
    """The counted roots are those that a plain walk reaches, and every claim that stands has one."""
    room = _spoken(first, second, "abc").room
    claims, roots = room.evidence.claims, room.evidence.roots()

    def walk(identifier: str) -> set[str]:
        own = claims[identifier]
        reached = set(own.heard_from) | ({own.by} if own.source == "observed" else set())
        return reached.union(*(walk(other) for other in own.rests_on))

    for identifier in claims:
        assert roots[identifier].names == walk(identifier) != set()
        assert roots[identifier].observed_by <= {"a", "b", "c"}
