"""Mandates in files: one that does not fit its room or its own member is named with its line, before any room opens."""

import json
import re
from pathlib import Path

import pytest

from swarm.errors import BadInput
from swarm.files.document import read_document
from swarm.scenario.members import agent_config, read_agent
from swarm.scenario.minds import make_agent
from swarm.scenario.scenario import read_scenario
from swarm.seat.limits import Bounds, Listed, Most, PromiseBounds, ReserveBounds, ScoreBounds
from swarm.seat.mandate import Mandate
from swarm.seat.mandated import Mandated

SCENARIO = """\
room: deal
intent: Agree on a discount.
agenda: [accord, concord, commitments]
terms: [aggressive]
issues:
  discount: {from: 0, to: 30, step: 7.5}
  support: [standard, same-day]
events:
  paid: {by: ann}
promises:
  - {id: fee, debtor: ann, creditor: bob, then: paid(amount >= 100)}
members:
  - name: ann
    agent: scripted
    mandate:
MANDATE
    proposes:
      title: the usual
      offer: {discount: 7.5, support: standard}
      commitments:
        - {id: extra, debtor: ann, creditor: bob, then: paid(amount >= 50)}
    improves:
      - {title: more, offer: {discount: 15, support: standard}}
    scores: {otherwise: 60}
    reserve: 40
  - name: bob
    agent: utility
    values: {discount: {0: 10, 7.5: 50}}
"""
LINE = 1 + SCENARIO[: SCENARIO.index("MANDATE")].count("\n")


def write(folder: Path, mandate: str) -> Path:
    path = folder / "deal.yaml"
    path.write_text(SCENARIO.replace("MANDATE", f"      {mandate}"), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "mandate",
    [
        "offers: {discount: {max: 15}, support: [standard]}",
        "promises: {attributes: {amount: {max: 100}}, max: 2}",
        "terms: [aggressive, task]",
        "reserve: {min: 40, max: 40}",
        "acts: []",
        "{}",
    ],
)
def test_a_mandate_that_fits_is_taken(tmp_path: Path, mandate: str) -> None:
    """Protects the edges: what a script says just inside its mandate contradicts nothing."""
    assert read_scenario(write(tmp_path, mandate)).members[0].mandate is not None


@pytest.mark.parametrize(
    ("mandate", "line", "complaint"),
    [
        ("offers: {price: {max: 15}}", LINE, "'price' is no issue of this room; valid: discount, support"),
        ("offers: {support: [standard, named]}", LINE, "'named' is not one of standard, same-day"),
        ("offers: {discount: {min: 31}}", LINE, "allows no value of discount"),
        ("offers: {support: {max: 5}}", LINE, "allows no value of support"),
        ("offers: {discount: {max: 7}}", LINE + 1, "7.5 is above 7"),
        ("offers: {discount: {max: 14}}", LINE + 7, "15 is above 14"),
        ("promises: {never_debtor_of: [signed]}", LINE, "'signed' is no event of this room; valid: paid"),
        ("promises: {never_debtor_of: [paid]}", LINE, "the room's promises are outside your mandate"),
        ("promises: {attributes: {amount: {max: 99}}}", LINE, "fee may demand more than 99"),
        ("promises: {max: 1}", LINE + 1, "2 promises are more than 1"),
        ("terms: [agressive]", LINE, "'agressive' is no term of this room; valid: task, aggressive"),
        ("reserve: {min: 41}", LINE + 9, "40 is below 41"),
        ("offers: {discount: {maximum: 12}}", LINE, "maximum"),
        ("offers: {discount: {min: 3, max: 2}}", LINE, "min 3 is above max 2"),
        ("scores: {outside: 101}", LINE, "outside"),
        ("acts: [reports]", LINE, "acts"),
    ],
)
def test_a_contradiction_is_named_with_its_line(tmp_path: Path, mandate: str, line: int, complaint: str) -> None:
    """Protects the owner: a slip in a mandate is found by `swarm check` and not by what was signed."""
    with pytest.raises(BadInput) as raised:
        read_scenario(write(tmp_path, mandate))
    assert complaint in str(raised.value)
    assert raised.value.line == line


def test_a_mandate_survives_the_way_to_its_process(tmp_path: Path) -> None:
    """Protects the hand-over: what a member's process gets as JSON holds its mind to the same limits."""
    member = read_scenario(write(tmp_path, "offers: {discount: {max: 15.50}, support: [standard]}")).members[0]
    held = make_agent(json.loads(json.dumps(agent_config(member))))
    assert isinstance(held, Mandated)
    assert (held.kind, held.mandate) == ("scripted", member.mandate)


def test_an_agent_file_has_one_too(tmp_path: Path) -> None:
    """Protects standing peers: the mandate of an agent file holds in every room that it joins."""
    path = tmp_path / "agent.yaml"
    path.write_text("agent: scripted\nmandate: {offers: {discount: {max: 12}}}\n")
    held = make_agent(agent_config(read_agent(path).member))
    assert isinstance(held, Mandated)
    path.write_text("agent: scripted\nmandate: {offers: {discount: 12}}\n")
    with pytest.raises(BadInput, match="mandate"):
        read_agent(path)


def test_the_page_tells_every_field(tmp_path: Path) -> None:
    """Protects the owner who writes one: the page's example is a mandate, and no field is left untold."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "mandate.md").read_text("utf-8")
    example = tmp_path / "example.yaml"
    example.write_text(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0], encoding="utf-8")
    written = Mandate.model_validate(read_document(example).data["members"][0]["mandate"])
    assert written.model_fields_set == set(Mandate.model_fields)
    for model in (Mandate, Bounds, Listed, ScoreBounds, ReserveBounds, PromiseBounds, Most):
        assert [name for name in model.model_fields if not re.search(rf"`[^`]*\b{name}\b[^`]*`", page)] == []
