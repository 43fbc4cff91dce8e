"""Sealed answers: what opens a seal, what does not, and what a seal that stays shut is worth."""

from typing import Any

import pytest

from protocols.messages.room import seal_digest
from tests.support.unsigned_rooms import Table, hexed, key_of, state_of


def _meanings() -> Table:
    """A room whose members are to seal what the terms mean."""
    return Table(agenda=["accord", "concord"], terms=["done"]).join()


def _content(words: str) -> dict[str, Any]:
    return {"interpretations": {"done": {"meaning": words}}}


def test_a_seal_hides_until_all_have_sealed() -> None:
    """Nobody is asked to open a seal while somebody may still copy."""
    table = _meanings()
    table.seal("a", _content("merged"))
    table.seal("b", _content("merged"))
    assert table.answer("a", "reveal", nonce=hexed(1), content=_content("merged")) == ["already_answered"]
    assert table.answer("c", "reveal", nonce=hexed(1), content=_content("merged")) == ["wrong_kind"]
    table.seal("c", _content("merged"))
    assert table.step == "accord.meaning.reveal"


def test_a_wrong_reveal_is_refused_and_the_true_one_may_follow() -> None:
    """Other content or another nonce does not open a seal and does not spend the answer."""
    table = _meanings()
    for member in "abc":
        table.seal(member, _content(f"by {member}"))
    before = state_of(table.room)
    nonce = hexed("nonce", "a", "accord.meaning.seal")
    assert table.answer("a", "reveal", nonce=nonce, content=_content("changed")) == ["reveal_mismatch"]
    assert table.answer("a", "reveal", nonce=hexed("other"), content=_content("by a")) == ["reveal_mismatch"]
    assert state_of(table.room) == before
    assert table.reveal("a") == []
    assert table.answer("a", "reveal", nonce=nonce, content=_content("by a")) == ["already_answered"]


def test_void_content_is_final_and_named() -> None:
    """A reveal that matches its seal answers the step even if its content breaks the rules; nothing is repaired."""
    table = _meanings()
    bad = {"a": {"interpretations": {"done": {"meaning": ""}}}, "b": {"interpretations": {"gone": {"meaning": "x"}}}}
    for member in "abc":
        table.seal(member, bad.get(member, _content("merged")))
    assert table.reveal("a") == ["void_interpretation"]
    text = table.room.findings[-1].text
    assert text == "accord.meaning: void: interpretations.done.meaning: String should have at least 1 character"
    nonce = hexed("nonce", "a", "accord.meaning.seal")
    assert table.answer("a", "reveal", nonce=nonce, content=_content("merged")) == ["already_answered"]
    assert table.reveal("b") == ["void_interpretation"]
    assert "'gone' is no term; the terms are task, done" in table.room.findings[-1].text
    table.reveal("c")
    accord = table.room.accord
    assert accord is not None
    assert set(accord.meaning.contents) == {"c"}
    assert accord.meaning.void == {"a": "void_interpretation", "b": "void_interpretation"}


def test_unknown_fields_void_a_content() -> None:
    """SG-02: a field that no rule reads is refused, not ignored."""
    table = _meanings()
    contents = {m: _content("x") for m in "abc"}
    contents["a"] = {"interpretations": {"done": {"meaning": "x", "wish": 500}}}
    assert table.sealed(contents) == {"a": ["void_interpretation"], "b": [], "c": []}


def test_a_seal_never_opened_is_an_absence() -> None:
    """It is a finding and no value, whether its author was silent, excused itself or left."""
    table = _meanings()
    for member in "abc":
        table.seal(member, _content("merged"))
    table.excuse("a")
    table.leave("b")
    assert sorted(table.expire()) == ["seal_not_opened"] * 3 + ["silent"]
    opened = [f for f in table.room.findings if f.code == "seal_not_opened"]
    assert [f.who for f in opened] == ["a", "b", "c"]
    accord = table.room.accord
    assert accord is not None
    assert accord.meaning.contents == {} and accord.meaning.void == {}
    assert accord.meaning.absent == dict.fromkeys("abc", "seal_not_opened")


def test_why_there_is_no_content() -> None:
    """Silence, an excuse and a departure are different facts."""
    table = Table("abcde", agenda=["accord"]).join()
    table.leave("e")
    table.seal("a", {"interpretations": {}})
    table.excuse("b")
    table.leave("c")
    table.expire()
    accord = table.room.accord
    assert accord is not None
    table.reveal("a")
    assert [accord.meaning.why_lacking(m) for m in "abcde"] == [None, "excused", "left", "silent", "left"]


def test_only_those_whose_seal_counts_reveal() -> None:
    """Who did not seal in time has nothing to open, and does not hold the others up."""
    table = _meanings()
    table.seal("a", _content("merged"))
    table.seal("c", _content("merged"))
    table.seal("b", _content("merged"), at=table.deadline + 1)
    assert table.expected == ["a", "c"]


@pytest.mark.parametrize(
    "changed",
    [
        {"room": "other-room"},
        {"author": key_of("b")},
        {"step": "accord.reading.seal"},
        {"step": "accord.meaning.reveal"},
    ],
)
def test_a_seal_from_elsewhere_does_not_open(changed: dict[str, str]) -> None:
    """SG-06: room, author and step are inside the digest, so a seal replayed from elsewhere is worth nothing."""
    table = _meanings()
    nonce, content = hexed("n"), _content("merged")
    true = {"room": table.room.setting.room, "author": key_of("a"), "step": "accord.meaning.seal"}
    here = true | changed
    digest = seal_digest(here["room"], here["author"], here["step"], nonce, content)
    table.answer("a", "seal", digest=digest, box="AA")
    table.seal("b", content)
    table.seal("c", content)
    assert table.answer("a", "reveal", nonce=nonce, content=content) == ["reveal_mismatch"]


def test_a_copied_seal_does_not_open_for_the_copier() -> None:
    """Who repeats another's digest unread cannot open it, even once it has seen the content and nonce."""
    table = _meanings()
    table.seal("a", _content("merged"))
    stolen = table.digest("a", table.step, _content("merged"), hexed("nonce", "a", table.step))
    table.answer("b", "seal", digest=stolen, box="AA")
    table.seal("c", _content("merged"))
    table.reveal("a")
    nonce = hexed("nonce", "a", "accord.meaning.seal")
    assert table.answer("b", "reveal", nonce=nonce, content=_content("merged")) == ["reveal_mismatch"]


@pytest.mark.parametrize("odd", [0.5, 2**53, float("nan"), "\ud83d"])
def test_content_without_a_canonical_form_opens_nothing(odd: Any) -> None:
    """A float, an integer beyond 2^53−1 or a lone surrogate has no digest: refused, never an exception."""
    table = _meanings()
    for member in "abc":
        table.seal(member, _content("merged"))
    assert table.answer("a", "reveal", nonce=hexed(1), content={"interpretations": odd}) == ["reveal_mismatch"]
    deep: Any = 0
    for _ in range(100):
        deep = [deep]
    assert table.answer("a", "reveal", nonce=hexed(1), content={"interpretations": deep}) == ["reveal_mismatch"]
    assert table.reveal("a") == []


def test_a_seal_is_final() -> None:
    """A second seal does not replace the first."""
    table = _meanings()
    table.seal("a", _content("merged"))
    before = state_of(table.room)
    assert table.answer("a", "seal", digest="0" * 64, box="AA") == ["already_answered"]
    assert state_of(table.room) == before
