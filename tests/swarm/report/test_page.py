"""The page as text: what it holds, that it is the same each time, and that members' texts stay texts."""

import base64
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from protocols.core.canonical import canonical
from swarm.cli.app import app
from swarm.errors import BadInput
from swarm.report import checking, render, write_report
from swarm.report.checking import ENTRY_COLUMNS
from swarm.report.reading import read
from swarm.signed.checkpoint import sign_checkpoint
from tests.support.report_outline import OUTLINES, outline
from tests.support.report_rooms import HOSTILE, Play

LEDGERS = Path(__file__).parents[2] / "ledgers"
MEGABYTE = 1_000_000
PageOf = Callable[[str], "object"]


class Markup(HTMLParser):
    """The elements of a page: their names, ids, and what they point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.attributes += [(tag, name, value or "") for name, value in attrs]


def downloads(text: str) -> dict[str, bytes]:
    """Return the files that a page carries."""
    found = re.findall(r'<a download="([^"]+)" href="data:[^,"]+;base64,([^"]+)"', text)
    return {name: base64.b64decode(data, validate=True) for name, data in found}


def test_the_same_ledger_gives_the_same_bytes(page_of, tmp_path):
    """Wherever it lies and whenever it is made: nothing of the clock, the place or the process is in a page."""
    names = ["story", "good", "tampered", "hostile"]
    words = []
    for name in names:
        ledger = page_of(name).ledger
        elsewhere = tmp_path / "else where" / ledger.name
        elsewhere.parent.mkdir(exist_ok=True)
        shutil.copy(ledger, elsewhere)
        roster = ledger.with_suffix(".roster.yaml")
        words += [str(elsewhere), str(tmp_path / name), str(roster if roster.exists() else LEDGERS / "roster.yaml")]
    # Another process has another hash seed, another clock and another folder.
    code = (
        "import sys; from swarm.report import write_report\n"
        "for place in range(1, len(sys.argv), 3): write_report(*sys.argv[place:place + 3])"
    )
    subprocess.run([sys.executable, "-c", code, *words], check=True, timeout=60, cwd=tmp_path)
    for name in names:
        page = page_of(name)
        assert (tmp_path / name).read_text("utf-8") == page.text
        assert str(page.ledger.parent) not in page.text


@pytest.mark.parametrize("name", sorted(OUTLINES))
def test_the_structure_is_the_one_kept(name, page_of):
    """Sections, headings, tables, rows and marks: what a page is made of, not how it looks."""
    assert outline(page_of(name).text) == OUTLINES[name]


@pytest.mark.parametrize("name", ["story", "hostile", "tampered", "unpinned"])
def test_nothing_is_fetched_and_nothing_runs(name, page_of):
    """There is no script, no style but ours, and no address but places in the page and files that it carries."""
    page = Markup(page_of(name).text)
    assert not {"script", "iframe", "img", "object", "embed", "form", "base", "image", "use"} & set(page.tags)
    assert page.tags.count("style") == 1
    for tag, attribute, value in page.attributes:
        assert not attribute.startswith("on") and attribute != "style", (tag, attribute)
        if attribute in ("href", "src", "action", "xlink:href"):
            assert value.startswith(("#", "data:")), (tag, value)
    policy = next(v for t, a, v in page.attributes if t == "meta" and a == "content" and "default-src" in v)
    assert policy.startswith("default-src 'none'") and "script" not in policy and "http" not in policy


@pytest.mark.parametrize("name", ["story", "hostile", "good", "forked", "torn", "tampered", "crowd"])
def test_every_link_leads_somewhere(name, page_of):
    """What a sentence rests on is there to be read, once."""
    page = Markup(page_of(name).text)
    assert len(page.ids) == len(set(page.ids))
    targets = {value[1:] for _, attribute, value in page.attributes if attribute == "href" and value.startswith("#")}
    assert targets <= set(page.ids)
    assert any(target.startswith("e") and target[1:].isdecimal() for target in targets)


def test_hostile_text_stays_text(page_of):
    """UI-02, UI-01: markup reads as typed, and what does not show is shown as an escape, in every field."""
    page = page_of("hostile")
    for text in HOSTILE[:4]:
        escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        assert escaped.replace('"', "&#34;").replace("'", "&#39;") in page.text
    assert "{{ 7*7 }}" in page.text, "what looks like a template is no template"
    hidden = {
        c for c in page.text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    }
    assert not hidden
    assert "\\u202e" in page.text and "\\u200b" in page.text
    assert len(page.text) < MEGABYTE


def test_files_to_take_away_are_exact_and_inert(page_of):
    """UI-02: the JSON is the audit's own, untouched; a row a record; no cell is a formula, and numbers are numbers."""
    page = page_of("hostile")
    files = downloads(page.text)
    assert json.loads(files["hostile.audit.json"]) == json.loads(json.dumps(page.plain))
    rows = list(csv.reader(io.StringIO(files["hostile.entries.csv"].decode(), newline="")))
    assert tuple(rows[0]) == ENTRY_COLUMNS and len(rows) == page.plain["entries"] + 1
    assert {row[2] for row in rows[1:]} == {"<b>ann</b>", "bob\"'&amp;", "'=cyd+1"}
    scores = list(csv.reader(io.StringIO(files["hostile.scores.csv"].decode(), newline="")))
    assert scores[2][1].startswith("'=HYPERLINK") and scores[2][4:] == ["rejected", "90", "55"]
    for name, content in files.items():
        if name.endswith(".csv"):
            for row in csv.reader(io.StringIO(content.decode(), newline="")):
                assert not any(unicodedata.normalize("NFKC", cell.lstrip())[:1] in tuple("=+-@") for cell in row), row


@pytest.mark.parametrize(
    ("name", "verdict", "words"),
    [
        ("good", "verified", []),
        ("unpinned", "incomplete", ["Not verified", "no roster says whose keys these are"]),
        ("torn", "incomplete", ["Not verified", "records may be missing"]),
        ("tampered", "failed", ["Not verified: failed", "does not hold"]),
        ("forked", "verified", []),
    ],
)
def test_what_is_not_verified_says_so_at_the_top(name, verdict, words, page_of):
    """The band comes before everything else, in words, and only where it must."""
    page = page_of(name)
    assert page.plain["verdict"] == verdict
    top = page.text[page.text.index("<body>") : page.text.index("<h1>")]
    for each in words:
        assert each in top
    assert ("Not verified" in top) == bool(words)


@pytest.mark.parametrize(
    ("name", "told"), [("crowd", "meanings are not shown"), ("haggling", "The picture leaves out")]
)
def test_large_rooms_give_pages_of_bounded_size(name, told, page_of):
    """64 members, 200 options: under 5 MB, and what is left out is said."""
    page = page_of(name)
    assert len(page.text.encode()) < 5 * MEGABYTE
    assert told in page.text


def test_what_is_left_out_is_said_and_what_is_cited_is_there(page_of, monkeypatch):
    """Beyond its limits the list of entries keeps those that sentences link to, cuts long texts, and says both."""
    monkeypatch.setattr(checking, "MOST_ENTRIES", 5)
    monkeypatch.setattr(checking, "MOST_BODIES", 4_500)
    monkeypatch.setattr(checking, "LONGEST_BODY", 4_000)
    groups, told = checking.entries(page_of("hostile").reading, {40, 41, 99})
    views = [view for group in groups for view in group.entries]
    assert [view.position for view in views] == [1, 2, 3, 4, 5, 40, 41]
    assert groups[0].left_out == 48 - len(views)
    assert max(len(view.text) for view in views) <= 4_000 and sum(len(view.text) for view in views) <= 4_500
    assert views[0].cut > 15_000
    assert told is not None and "41 entries" in told.plain() and "line n + 1 of hostile.jsonl" in told.plain()


@pytest.mark.long
def test_ten_thousand_entries_give_a_page_of_bounded_size(page_of):
    """Of most entries only the count is there, and where they are."""
    page = page_of("talkative")
    assert page.plain["entries"] == 10_000
    assert len(page.text.encode()) < 5 * MEGABYTE
    assert "are not listed" in page.text and "line n + 1 of" in page.text
    assert len(Markup(page.text).ids) < 5_000


@pytest.mark.parametrize("name", ["good", "story"])
def test_a_room_that_is_not_over_has_a_page(name, page_of, tmp_path):
    """Cut anywhere, a ledger gives a page that says how far it goes and that it is not verified."""
    lines = page_of(name).ledger.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    for kept in range(2, len(lines), 1 if name == "good" else 9):
        cut.write_bytes(b"".join(lines[:kept]))
        text = render(read(cut))
        assert "Not verified" in text and f">{kept - 1}</span>" in text


def test_an_opening_that_does_not_hold_has_a_page(tmp_path):
    """Where nothing can be replayed, that is what the page says; no section is made up."""
    ledger = tmp_path / "bad.jsonl"
    ledger.write_bytes((LEDGERS / "good.jsonl").read_bytes().replace(b"spring", b"sprung", 1))
    text = render(read(ledger))
    assert "the very opening of this ledger does not hold" in text and "Not verified: failed" in text
    assert "sprung" not in text


def test_every_way_a_room_ends_has_words(tmp_path):
    """Silence, an excuse, a refusal, somebody who leaves, no valid option: each is told where it happened."""
    endings = {
        "declined": ("room.joining", {"kind": "room.decline", "because": "Not <b>this</b> way."}, "Abandoned:"),
        "left": ("concord.ratify", {"kind": "room.leave", "because": "I go."}, "No agreement:"),
        "excused": ("concord.option.seal", {"kind": "room.excuse", "because": "I am ill."}, "Agreed:"),
    }
    for name, (step, body, outcome) in endings.items():
        play = Play(["ann", "bob"], {"intent": "Try.", "agenda": ["concord"], "rules": {"improvements": 0}})
        play.play(until=step)
        play.say("bob", body if name == "left" else {**body, "step": step})
        ledger, roster = play.play().write(tmp_path, name)
        text = render(read(ledger, roster))
        assert outcome in text, name
        assert body["because"].replace("<", "&lt;").replace(">", "&gt;") in text, name
    silent = Play(["ann", "bob"], {"intent": "Try.", "agenda": ["concord"]}, silent=frozenset({"bob"}))
    silent.play(until="room.joining")
    ledger, roster = silent.play().write(tmp_path, "silent")
    text = render(read(ledger, roster))
    assert "Abandoned:" in text and "<bdi>bob</bdi> was silent" in text


def test_receipts_are_held_against_the_ledger(tmp_path):
    """A receipt that fits is shown with its head and in the command; one of a longer log contests the ledger."""
    play = Play(["ann", "bob"], {"intent": "Try.", "agenda": ["concord"], "rules": {"improvements": 0}}).play()
    ledger, roster = play.write(tmp_path)
    chain = play.fold.chain
    receipt = tmp_path / "bob.receipt"
    for count, verdict in ((chain.position, "verified"), (chain.position + 1, "contested")):
        signed = sign_checkpoint(play.identities["bob"], room=chain.room, count=count, head=chain.head)
        receipt.write_bytes(canonical(signed.plain()) + b"\n")
        reading = read(ledger, roster, [receipt])
        text = render(reading)
        assert reading.audit.verdict == verdict and ("Not verified: contested" in text) == (verdict == "contested")
        assert f"over {count} entries: <code>{chain.head}</code>" in text
        assert "swarm audit play.jsonl --roster play.roster.yaml --receipt bob.receipt" in text


def test_a_key_is_shown_with_its_fingerprint(page_of):
    """UI-04: who somebody is, is its key; names stand beside it."""
    page = page_of("hostile")
    for key in page.plain["members"].values():
        assert f"<code>{key[:4]}…{key[-4:]}</code>" in page.text and f">{key}</code>" in page.text


def test_a_text_gives_no_orders(page_of, tmp_path):
    """UI-04: what the page says is the audit's, whatever members write; a forged line stays within its quotes."""
    page = page_of("hostile")
    h1 = re.search(r"<h1>(.*?)</h1>", page.text, re.DOTALL)
    assert h1 is not None and "<bdi>&lt;/script&gt;" in h1[1]
    assert render(read(page.ledger, page.ledger.with_suffix(".roster.yaml"))) == page.text


def test_the_page_is_not_written_over_what_it_reads(tmp_path):
    """A slip of the keyboard costs no ledger; and a page that cannot be written is one clear message."""
    ledger = tmp_path / "room.jsonl"
    shutil.copy(LEDGERS / "good.jsonl", ledger)
    before = ledger.read_bytes()
    with pytest.raises(BadInput, match="not written over"):
        write_report(ledger, ledger)
    with pytest.raises(BadInput, match="no such folder"):
        write_report(ledger, tmp_path / "none" / "x.html")
    with pytest.raises(BadInput, match="cannot be written"):
        write_report(ledger, tmp_path)
    with pytest.raises(BadInput, match="cannot be read"):
        write_report(tmp_path / "no.jsonl", tmp_path / "x.html")
    assert ledger.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["room.jsonl"]
    assert not tmp_path.with_name(tmp_path.name + ".new").exists()


@pytest.mark.parametrize(("name", "pinned", "code"), [("good", True, 0), ("good", False, 3), ("tampered", True, 1)])
def test_the_command_ends_as_the_audit_does(name, pinned, code, tmp_path, capsys):
    """A page is written whatever the verdict; the exit code says what it is worth."""
    words = ["report", str(LEDGERS / f"{name}.jsonl"), "-o", str(tmp_path / "page.html"), "--json"]
    words += ["--roster", str(LEDGERS / "roster.yaml")] if pinned else []
    assert app(words, standalone_mode=False) == code
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "page.html").stat().st_size and told["entries"] > 0


def test_the_command_refuses_bad_input(tmp_path):
    """Where nothing was checked there is no page."""
    (tmp_path / "empty").touch()
    with pytest.raises(BadInput, match="nothing to check"):
        app(["report", str(tmp_path / "empty"), "-o", str(tmp_path / "page.html")], standalone_mode=False)
    assert not (tmp_path / "page.html").exists()
