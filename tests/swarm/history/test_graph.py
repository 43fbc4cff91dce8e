"""The picture of what depends on what: the right arrows, states told without colour, and texts that stay texts."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from swarm.errors import BadInput
from swarm.history.graph import draw, format_of, picture_of
from swarm.history.picture import LOOKS, WORST_FIRST
from swarm.history.svg import draw_svg
from swarm.history.timeline import read_timeline
from tests.support.hostile_history import TEXTS, history

SVG = "{http://www.w3.org/2000/svg}"
DOT_STRING = r'"(?:[^"\\\n]|\\.)*"'
MERMAID_LABEL = r'"(?:[\w ,.:\-]|#\d+;|<br/>)*"'


def deal() -> dict[str, Any]:
    return {
        "parties": ["ann", "bob"],
        "commitments": [
            {"id": "ship", "debtor": "ann", "creditor": "bob", "if": "paid", "then": "sent within 2 days of paid"},
            {"id": "pay", "debtor": "bob", "creditor": "ann", "if": "sent", "then": "paid within 2 days of sent"},
            {"id": "keep", "debtor": "ann", "creditor": "bob", "then": "kept by 2026-01-02T00:00:00Z",
             "excludes": ["ship"]},
            {"id": "fine", "debtor": "ann", "creditor": "bob", "if": "violated(keep)",
             "then": "fined within 1 week of violated(keep)"},
            {"id": "thanks", "debtor": "bob", "creditor": "ann", "if": "satisfied(fine)", "then": "thanked"},
            {"id": "each", "debtor": "ann", "creditor": "bob", "each": "order", "if": "ordered",
             "then": "packed within 1 day of ordered"},
        ],
        "history": [
            {"at": "2026-01-01T00:00:00Z", "event": "ordered", "order": "1", "by": "bob"},
            {"at": "2026-01-01T00:00:00Z", "event": "ordered", "order": "2", "by": "bob"},
            {"at": "2026-01-01T12:00:00Z", "event": "packed", "order": "1", "by": "ann"},
            {"at": "2026-01-05T00:00:00Z", "event": "other", "by": "ann"},
        ],
    }  # fmt: skip


def test_arrows_lead_to_what_waits() -> None:
    """Protects the meaning of the arrows: states, events, remedies and exclusions, each once and with its own kind."""
    picture = picture_of([read_timeline(deal())])
    names = {node.key: node.name for node in picture.nodes}
    edges = {(names[e.tail], names[e.head], e.kind, e.label, e.stuck) for e in picture.edges}
    assert edges == {
        ("pay", "ship", "event", "paid", True),
        ("ship", "pay", "event", "sent", True),
        ("keep", "ship", "excludes", "excludes", True),
        ("keep", "fine", "remedy", "violated", False),
        ("fine", "thanks", "state", "satisfied", False),
    }


def test_troubles_and_states_are_said_in_words_on_the_nodes() -> None:
    """Protects who sees no colour, and who prints in grey."""
    nodes = {node.name: node for node in picture_of([read_timeline(deal())]).nodes}
    assert nodes["ship"].troubles == ["deadlock", "conflict"]
    assert nodes["pay"].troubles == ["deadlock"]
    assert nodes["keep"].troubles == ["conflict"]
    assert nodes["keep"].lines == ["keep", "ann → bob", "violated", "⚠ conflict"]
    assert nodes["each"].summary == "1 violated, 1 satisfied" and nodes["each"].state == "violated"


def test_every_state_has_a_shape_of_its_own_in_every_format() -> None:
    """Protects against a picture told by colour alone."""
    assert set(LOOKS) == set(WORST_FIRST)
    assert len({look.brackets for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.shape for look in LOOKS.values()}) == len(LOOKS)
    timeline = read_timeline(deal())
    outlines = set()
    for state in LOOKS:
        picture = picture_of([timeline])
        picture.nodes, picture.edges = picture.nodes[-1:], []
        picture.nodes[0].state, picture.nodes[0].summary = state, "the same"
        path = ElementTree.fromstring(draw_svg(picture)).find(f"{SVG}g/{SVG}path")
        assert path is not None
        outlines.add(path.get("d"))
    assert len(outlines) == len(LOOKS)


def test_columns_follow_what_is_waited_for_and_boxes_never_overlap() -> None:
    """Protects legibility: a remedy stands right of what it remedies, and no box covers another or leaves the page."""
    picture = picture_of([read_timeline(deal())])
    place = {node.name: column for column, nodes in enumerate(picture.layers()) for node in nodes}
    assert place["keep"] < place["fine"] < place["thanks"] and place["ship"] == place["pay"]
    root = ElementTree.fromstring(draw_svg(picture))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    boxes = []
    for group in root.findall(f"{SVG}g"):
        if group.find(f"{SVG}title") is None:
            continue
        numbers = re.findall(r"-?\d+\.\d", group.find(f"{SVG}path").get("d"))  # type: ignore[union-attr, arg-type]
        texts = group.findall(f"{SVG}text")
        xs, ys = [float(text.get("x", "0")) for text in texts], [float(text.get("y", "0")) for text in texts]
        half = max(len(text.text or "") for text in texts) * 3.5
        assert len(numbers) >= 4
        boxes.append((min(xs) - half, min(ys) - 12, max(xs) + half, max(ys) + 4))
    assert len(boxes) == len(picture.nodes)
    for place_of, (x, y, r, b) in enumerate(boxes):
        assert x >= 0 and y >= 0 and r <= width and b <= height
        for ox, oy, o_r, ob in boxes[place_of + 1 :]:
            assert r <= ox or o_r <= x or b <= oy or ob <= y


@pytest.mark.parametrize("text", TEXTS)
def test_mermaid_holds_nothing_but_our_lines(text: str) -> None:
    """Protects the reader's page (UI-02): a label never ends early, adds a line, a link or a style."""
    timeline = read_timeline(history(text))
    for line in draw([timeline], "mmd").splitlines():
        assert re.fullmatch(
            rf"flowchart LR|  n\d+[\[({{>/\\]+{MERMAID_LABEL}[\])}}/\\]+:::[a-z]+"
            rf"|  n\d+ (-->|==>|-\.-)\|{MERMAID_LABEL}\| n\d+|  linkStyle \d+ stroke:#b91c1c,stroke-width:3px"
            r"|  classDef [a-z]+ [\w#:,\- ]+|  class (n\d+,?)+ trouble",
            line,
        ), line


@pytest.mark.parametrize("text", TEXTS)
def test_graphviz_text_holds_nothing_but_our_lines(text: str) -> None:
    """Protects the reader's page (UI-02): every label is one string; no attribute of a member's making, no entity."""
    timeline = read_timeline(history(text))
    for line in draw([timeline], "dot").splitlines():
        bare = re.sub(DOT_STRING, '""', line)
        assert re.fullmatch(r'[\w\s=\->;{}\[\],".]*', bare) and "URL" not in bare and "evil" not in bare, line
        for label in re.findall(DOT_STRING, line):
            assert re.sub(r"&amp;", "", label).find("&") < 0
            assert label.isprintable()


@pytest.mark.parametrize("text", TEXTS)
def test_svg_is_well_formed_inert_and_self_contained(text: str) -> None:
    """Protects the reader's page (UI-02): known elements only, no script, no link, nothing loaded; the text reads."""
    timeline = read_timeline(history(text))
    drawn = draw([timeline], "svg")
    root = ElementTree.fromstring(drawn)
    allowed = {"svg", "title", "desc", "defs", "marker", "path", "rect", "g", "text"}
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in allowed
        for name, value in element.attrib.items():
            assert not name.startswith("on") and "href" not in name
            assert "url(" not in value or value in ("url(#ink)", "url(#red)")
    assert "<!" not in drawn and "<?" not in drawn and all(line.isprintable() for line in drawn.splitlines())


def test_text_reads_as_typed() -> None:
    """Protects the names: what is escaped for the format is what a reader sees."""
    text = "</script><script>alert(1)</script>"
    root = ElementTree.fromstring(draw([read_timeline(history(text))], "svg"))
    assert any(text in (element.text or "") for element in root.iter(f"{SVG}title"))


def test_several_files_stand_in_one_picture_without_touching() -> None:
    """Protects audits of several ledgers: equal ids of two files stay two nodes, and each says its file."""
    picture = picture_of([read_timeline(deal()), read_timeline(deal())])
    assert len({node.key for node in picture.nodes}) == len(picture.nodes) == 12
    half = {node.key for node in picture.nodes[:6]}
    assert all((edge.tail in half) == (edge.head in half) for edge in picture.edges)


@pytest.mark.parametrize("name", ["graph", "graph.png", "graph.svg.txt"])
def test_another_format_is_refused_with_those_there_are(name: str) -> None:
    """Protects typing errors."""
    with pytest.raises(BadInput, match=r"\.mmd, \.dot or \.svg"):
        format_of(name)
