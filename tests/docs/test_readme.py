"""What the README tells people to write works as written."""

import re
from pathlib import Path

from swarm.cli.app import app
from swarm.running import run
from swarm.scenario import read_scenario

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_smallest_scenario_runs(tmp_path: Path) -> None:
    """Protects newcomers: the scenario they copy is valid and ends in an agreement that carries its difference."""
    path = tmp_path / "lunch.yaml"
    path.write_text(blocks("yaml")[0])
    result = run(path, memory=True)
    assert result.outcome == "agreed"
    assert [d["term"] for d in result.divergences] == ["close"]


def test_the_agent_of_ones_own_runs(tmp_path: Path) -> None:
    """Protects newcomers: the class they copy is found beside the scenario and takes part."""
    code, member = blocks("python")[0], blocks("yaml")[1]
    (tmp_path / "cheapest.py").write_text(code)
    path = tmp_path / "deal.yaml"
    path.write_text(
        "room: deal\nintent: Agree on a price.\nagenda: [concord]\n"
        "issues: {price: {from: 1000, to: 5000, step: 1000}}\nmembers:\n"
        f"{member}"
        "  - name: seller\n    agent: utility\n    values: {price: {3000: 50, 4000: 70, 5000: 90}}\n"
    )
    result = run(path, memory=True)
    assert result.outcome == "agreed", result.reason


def test_every_example_named_exists_and_every_example_is_named() -> None:
    """Protects the table of examples."""
    named = set(re.findall(r"examples/[a-z-]+\.yaml", README))
    assert named == {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.yaml")}
    for name in named:
        read_scenario(ROOT / name)


def test_every_verb_is_named() -> None:
    """Protects the list of verbs: what the command line can do, the README says."""
    listed = README.partition("## All verbs")[2].partition("\n\nFrom Python")[0]
    verbs = {command.name for command in app.registered_commands} | {group.name for group in app.registered_groups}
    assert set(re.findall(r"`([a-z-]+)`", listed)) == verbs


def test_every_link_leads_somewhere() -> None:
    """Protects readers of all documents: relative links point at files that exist."""
    for document in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
