"""The page on deeds: its example does what the page says, and its codes are those that the rules give."""

import re
import sys
from pathlib import Path

import pytest

from protocols.core.findings import CODES
from swarm.cli import main
from tests.protocols.core.test_findings import _used

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/actions.md").read_text("utf-8")


def test_the_example_gives_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects the reader: the example is run as it stands."""
    example, output = re.findall(r"<!-- (?:example|output) -->\n```\w*\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "deeds.yaml"
    file.write_text(example)
    monkeypatch.setattr(sys, "argv", ["swarm", "referee", str(file)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    told = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert told == output.splitlines()


def test_every_code_about_deeds_is_explained() -> None:
    """Protects who meets a code: each that the referee gives is in the table of codes, and on the page."""
    given = {code for code, where in _used().items() if any("protocols/actions/" in path for path in where)}
    section = PAGE.split("## Codes")[1].split("## ")[0]
    told = {code for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for code in re.findall(r"`(\w+)`", row)}
    assert told - {"code"} == given
    assert given <= CODES.keys()
