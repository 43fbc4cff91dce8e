"""The protocol's pages agree with the code: tables with the models, numbers and names with the constants."""

import re
from pathlib import Path

import pytest

from protocols.core.canonical import DEEPEST
from protocols.core.findings import CODES
from protocols.core.message import Message
from protocols.duties.duties import Outcome
from protocols.messages.accord import Interpretations
from protocols.messages.bodies import KINDS
from protocols.messages.commitments import CreateCommitment
from protocols.messages.concord import Proposal
from protocols.messages.room import FEWEST_MEMBERS, MOST_MEMBERS, MOST_TERMS, VERSIONS, RoomOpen
from protocols.room.loops import LONGEST_CYCLE
from swarm.ledger.file import LONGEST_LINE
from swarm.log import port, streams, subjects
from swarm.signed import checkpoint, entry, invitation, sealing, sizes
from tests.support.protocol_tables import FORMS, MAKERS, PAGES, fields, renewed

INDEX = PAGES.parent / "protocol.md"
ALL = {path.stem: path.read_text("utf-8") for path in [INDEX, *sorted(PAGES.glob("*.md"))]}
WHOLE = "\n".join(ALL.values())


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_the_tables_are_those_of_the_models(page: Path) -> None:
    """A field, a limit or a code that changes is changed on the page: ``python -m tests.support.protocol_tables``."""
    text = page.read_text("utf-8")
    assert renewed(text) == text


def test_every_table_has_its_place() -> None:
    """No table is left out, and none is made twice."""
    assert sorted(re.findall(r"<!-- table: (\w+) -->", WHOLE)) == sorted(MAKERS)
    assert set(re.findall(r"^### `(\S+)`$", ALL["bodies"], re.MULTILINE)) == set(KINDS)


def test_the_tables_say_what_a_model_demands() -> None:
    """The describer is no rubber stamp: it tells required from optional, and finds aliases, bounds and named forms."""
    opening = {name: (kind, need) for name, kind, need in fields(RoomOpen)}
    assert opening["roster"] == (f"list of {FEWEST_MEMBERS} to {MOST_MEMBERS} RosterEntry", "yes")
    assert opening["terms"] == (f"list of at most {MOST_TERMS} Name", "default `[]`")
    assert opening["status_quo"] == ("Option", "no")
    assert ("claims", "Claims", "no") in fields(Proposal) and ("cites", "map of Name → Cites", "no") in fields(
        Interpretations
    )
    assert (
        dict((name, kind) for name, kind, _ in fields(CreateCommitment))["commitments"]
        == "list of 1 to 50 CommitmentTerms"
    )

    class Odd(Message):
        """A model with a form that has no name."""

        odd: dict[str, list[bool]] | None = None

    assert fields(Odd) == [("odd", "map of text → list of true or false", "no")]


def test_no_form_of_text_is_left_without_a_name() -> None:
    """What a reader must check of a text is in the table of forms, or in its own row: nothing says just "text"."""
    plain = re.findall(r"^\| `(\w+)` \| .*\btext(?! `)\b", ALL["bodies"], re.MULTILINE)
    assert set(plain) <= {"versions", "content", "scores", "rejects", "reasons", "cites"} and FORMS


def test_every_code_that_is_named_exists() -> None:
    """What looks like a code on the pages is one of the table, or another name of the protocol."""
    words = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", ALL["entries"] + ALL["rooms"]))
    names = {name for model in [*KINDS.values()] for name, _, _ in fields(model)} | set(subjects.ROOMS.split())
    known = set(CODES) | names | {"no_quorum", "no_eligible_option", "below_bar", "no_options", "no_agreement"}
    known |= {"tokens_in", "tokens_out", "covered_to", "step_seconds", "skew_seconds", "watch_seconds", "agreed_at"}
    known |= {"on_divergence", "confirm_within", "status_quo", "settled_by", "least_satisfied"}
    assert words - known == set()


def test_every_code_with_which_something_is_refused_has_its_rule() -> None:
    """Who writes a second implementation finds for each refusal of entries and rooms when it is made."""
    code = PAGES.parents[1]
    files = [code / "swarm/signed/entry.py", *(code / "swarm/ledger").glob("*.py")]
    files += [path for path in (code / "protocols").rglob("*.py") if path.parent.name not in ("commitments", "actions")]
    sources = "".join(path.read_text("utf-8") for path in files if path.name != "evidence.py")
    refused = set(re.findall(r"(?:Refused|BadEntry)\(\s*\"(\w+)\"", sources))
    refused |= set(re.findall(r"Link\(record, self\.at, (?:True|False), \"(\w+)\"", sources))
    told = ALL["entries"] + ALL["rooms"]
    # `altered` and what is like it concerns a file; the two others cannot be met, since a fold begins at an opening.
    file = {"altered", "added", "missing", "reordered", "redated", "rolled_back", "fork", "two_histories"}
    assert len(refused) > 40
    assert {each for each in refused - file if f"`{each}`" not in told} <= {
        "not_opened",
        "not_a_member",
        "box_unreadable",
    }


def test_numbers_and_names_are_those_of_the_code() -> None:
    """Limits, domains, versions, subjects and stream settings in the text are the constants'."""
    said = {
        "entries": [
            *(f"{n:,}" for n in (sizes.MAX_PAYLOAD_BYTES, LONGEST_LINE)),
            f"nest at most {DEEPEST} deep",
            *(domain.decode() for domain in (entry.DOMAIN, checkpoint.DOMAIN)),
        ],
        "log": [
            *(f"{n:,}" for n in (port.AUTHOR_RECORDS, port.MAX_MESSAGE_BYTES, sizes.MAX_INVITATION_BYTES)),
            *(subjects.ROOM_SUBJECTS, subjects.LOG_SUBJECTS, subjects.INVITE_SUBJECTS, subjects.INVITED_SUBJECTS),
            f"1 to {invitation.MOST_TOGETHER} lines",
            invitation.DOMAIN.decode(),
            f"({port.EARLIEST} are",
            "Nats-Expected-Last-Subject-Sequence",
        ],
        "rooms": [
            sealing.INFO.decode(),
            *(f"{size:,}" for size in sealing.SIZES),
            f"base64url of {sealing.NONCE_BYTES} random bytes",
            f"each once, {MOST_TERMS + 1} at most",
            f"the same 1 to {LONGEST_CYCLE} acts",
            "{" + ", ".join(Outcome.model_fields) + "}",
        ],
        "protocol": [f"`{name}` `{version}`" for name, version in VERSIONS.items()],
    }
    for page, parts in said.items():
        text = " ".join(ALL[page].split())
        assert [part for part in parts if part not in text] == []
    for settings in streams.stream_settings():
        for name, value in settings.items():
            if isinstance(value, bool):
                assert name in ALL["log"] or name == "discard_new_per_subject", name


def test_pages_are_short_and_stand_on_their_own() -> None:
    """What is written by hand stays readable; nothing refers to files that a reader does not have."""
    for name, text in ALL.items():
        by_hand = re.sub(r"(<!-- table: \w+ -->).*?(<!-- end -->)", r"\1\2", text, flags=re.DOTALL)
        assert len(by_hand.splitlines()) < 300, name
    for target in re.findall(r"`((?:tests|docs|protocols)/[\w./]+)`", WHOLE):
        assert (PAGES.parents[1] / target.removesuffix("/")).exists(), target
