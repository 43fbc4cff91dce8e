"""Proofs that a key contradicted itself, each a small file that anybody can verify with nothing but that file.

A proof contains two signed texts and claims nothing: a reader sees from the texts what they prove. It is one of two
things, or both: two different entries of one author with one number in one room; or two different heads of one room's
log at one count, signed in an entry's ``seen`` or in a checkpoint. The file is the canonical form of ``{"proof":
"swarm/equivocation/1", "signed": [text, text]}``; each text is the exact payload of an entry, or the line of a
checkpoint.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocols.core.canonical import canonical
from swarm.errors import BadEntry, BadInput
from swarm.files.writing import replacing
from swarm.ledger.file import entries_in
from swarm.signed.checkpoint import Checkpoint, parse_checkpoint
from swarm.signed.entry import Entry, brief, is_signed, parse_entry
from swarm.signed.sizes import MAX_PAYLOAD_BYTES
from swarm.text import fingerprint

FORMAT = "swarm/equivocation/1"
BEGINS = b'{"proof":'
LONGEST = 4 * MAX_PAYLOAD_BYTES
SAYS_NOT = (
    "who holds the key: only that whoever does signed both",
    "why: a program that lost what it had signed, or a broker that showed its holder two logs, may look the same",
    "which of the two is true, nor that anything else in the room was changed",
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One signed text, and what it states about its signer's history: its own entry ``n``, and the head at a count."""

    text: bytes
    signer: str
    room: str
    n: int | None
    count: int
    head: str
    unsigned: bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """Two statements of one signer about one room that exclude each other. ``n`` and ``count`` say in what way."""

    first: Statement
    second: Statement

    @property
    def signer(self) -> str:
        """The public key that signed both."""
        return self.first.signer

    @property
    def n(self) -> int | None:
        """The number under which two different entries were signed, or None."""
        same = self.first.n is not None and self.first.n == self.second.n
        return self.first.n if same and self.first.unsigned != self.second.unsigned else None

    @property
    def count(self) -> int | None:
        """The count at which two different heads were signed, or None."""
        same = self.first.count == self.second.count
        return self.first.count if same and self.first.head != self.second.head else None

    def proves(self) -> list[str]:
        """Return in words what the two texts together prove."""
        key, found = fingerprint(self.signer), []
        if self.n is not None:
            found.append(f"the key {key} signed two different entries with the number {self.n} in {self.first.room}")
        if self.count is not None:
            found.append(f"the key {key} signed two different histories of the first {self.count} records of that room")
        return found

    def plain(self) -> dict[str, Any]:
        """Return as JSON what is proved."""
        said = {"signer": self.signer, "room": self.first.room, "n": self.n, "count": self.count}
        return {**said, "proves": self.proves(), "says_not": list(SAYS_NOT)}

    def content(self) -> bytes:
        """Return the bytes of the proof's file."""
        signed = [self.first.text.decode("utf-8"), self.second.text.decode("utf-8")]
        return canonical({"proof": FORMAT, "signed": signed}) + b"\n"


def _of_entry(entry: Entry) -> Statement:
    # The signature is cut out: the same words signed again are not a contradiction.
    unsigned = entry.payload[: -len(b',"sig":"","v":1}') - 86]
    return Statement(entry.payload, entry.author, entry.room, entry.n, entry.seen_count, entry.seen_head, unsigned)


def _of_checkpoint(checkpoint: Checkpoint) -> Statement:
    text = canonical(checkpoint.plain())
    return Statement(text, checkpoint.by, checkpoint.room, None, checkpoint.count, checkpoint.head, text)


def read_proof(path: Path) -> Proof:
    """Verify the proof in the file *path* and return it; raises `BadInput`, with the reason, if it proves nothing."""
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST)
    except OSError as error:
        raise BadInput(f"the proof cannot be read: {error.strerror}", source=str(path)) from None
    try:
        plain = json.loads(content)
        texts = plain["signed"] if plain.keys() == {"proof", "signed"} and plain["proof"] == FORMAT else []
        one, two = (text.encode("utf-8") for text in texts)
    except (ValueError, RecursionError, TypeError, AttributeError):
        form = f'{{"proof": "{FORMAT}", "signed": [TEXT, TEXT]}}'
        raise BadInput(f"not a proof: that is {form}, and nothing else", source=str(path)) from None
    try:
        proof = Proof(_statement(one), _statement(two))
    except BadEntry as error:
        raise BadInput(f"it proves nothing: {error}", source=str(path)) from None
    if proof.first.signer != proof.second.signer or proof.first.room != proof.second.room:
        raise BadInput("it proves nothing: two signers, or two rooms", source=str(path))
    if not proof.proves():
        raise BadInput("it proves nothing: the two texts do not exclude each other", source=str(path))
    return proof


def _statement(text: bytes) -> Statement:
    if text.startswith(b'{"checkpoint":'):
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            plain = None
        checkpoint = parse_checkpoint(plain)
        if canonical(checkpoint.plain()) != text:
            raise BadEntry("not_canonical", "a checkpoint that is not in canonical form")
        if not checkpoint.is_signed():
            raise BadEntry("bad_signature", f"the signature under a checkpoint is not that of {brief(checkpoint.by)}")
        return _of_checkpoint(checkpoint)
    entry = parse_entry(text)
    if not is_signed(entry):
        raise BadEntry("bad_signature", f"the signature under an entry is not that of {brief(entry.author)}")
    return _of_entry(entry)


@dataclass(frozen=True, slots=True)
class Found:
    """A proof, and the place of the later of its two texts: the ledger, and the record (0 for a checkpoint)."""

    proof: Proof
    ledger: Path | None
    position: int


def find_proofs(ledgers: Sequence[Path], receipts: Iterable[Checkpoint] = ()) -> list[Found]:
    """Return a proof of each number that a key signed twice, and of the first count at which it signed two heads.

    Every entry with a valid signature counts, wherever in the files it is: an altered record before it does not excuse
    it. Raises `BadInput` for a file that cannot be read.
    """
    kept: dict[tuple[str, str, str, int], Statement] = {}
    found: dict[tuple[str, str, str, int], Found] = {}
    for statement, ledger, position in _statements(ledgers, receipts):
        keys = [("head", statement.room, statement.signer, statement.count)]
        if statement.n is not None:
            keys.append(("n", statement.room, statement.signer, statement.n))
        for key in keys:
            proof = Proof(kept.setdefault(key, statement), statement)
            if key not in found and (proof.n if key[0] == "n" else proof.count) is not None:
                found[key] = Found(proof, ledger, position)
    proofs = {id(each.proof.second): each for key, each in found.items() if key[0] == "n"}
    first: dict[tuple[str, str], Found] = {}
    for key, each in sorted(found.items(), key=lambda item: item[0][3]):
        if key[0] == "head":
            first.setdefault((key[1], key[2]), each)
    # Two entries with one number often sign two heads as well: one file then proves both.
    told = {(each.proof.signer, each.proof.count) for each in proofs.values()}
    return [*proofs.values(), *(e for e in first.values() if (e.proof.signer, e.proof.count) not in told)]


def _statements(
    ledgers: Sequence[Path], receipts: Iterable[Checkpoint]
) -> Iterator[tuple[Statement, Path | None, int]]:
    closings: list[tuple[Checkpoint, Path | None]] = [(receipt, None) for receipt in receipts]
    for ledger in ledgers:
        for position, held in entries_in(ledger):
            if isinstance(held, Checkpoint):
                closings.append((held, ledger))
                continue
            try:
                entry = parse_entry(held)
            except BadEntry:
                continue
            if is_signed(entry):
                yield _of_entry(entry), ledger, position
    for checkpoint, where in closings:
        if checkpoint.is_signed():
            yield _of_checkpoint(checkpoint), where, 0


def write_proofs(path: Path, proofs: Sequence[Proof]) -> list[Path]:
    """Write the first proof to *path*, and further ones beside it as NAME-2, NAME-3, …; raises `BadInput`."""
    paths = [path, *(path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, len(proofs) + 1))]
    for each, proof in zip(paths, proofs, strict=False):
        try:
            with replacing(each) as file:
                file.write(proof.content())
        except OSError as error:
            raise BadInput(f"the proof cannot be written: {error.strerror}", source=str(each)) from None
    return paths[: len(proofs)]
