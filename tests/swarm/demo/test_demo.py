"""`swarm demo`, and the README's pictures of it: one real run, recorded as the README's was."""

import importlib.util
import json
import shutil
import tomllib
from fnmatch import fnmatch
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from rich.console import Console

from swarm.auditing.auditing import audit
from swarm.cli.demo import NAMES, PacedConsole, paced, prepare
from swarm.cli.view import RunView
from swarm.demo import SLUG, scenario
from swarm.errors import BadInput
from swarm.running.running import run
from swarm.scenario.scenario import read_scenario

ROOT = Path(__file__).resolve().parents[3]
MEDIA = ROOT / "docs" / "media"


class Recorded(NamedTuple):
    """What one run of the demo printed, where, and the script that recorded it."""

    lines: list[tuple[float, str]]
    folder: Path
    made: ModuleType


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The demo, run in an empty folder as the script for the README runs it, in no time between things."""
    spec = importlib.util.spec_from_file_location("make_media", MEDIA / "make.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    made.DEMO[:] = ["swarm", "demo", "--pace", "0.01"]
    folder = tmp_path_factory.mktemp("demo")
    return Recorded(made.record(folder), folder, made)


def test_the_demo_is_the_example() -> None:
    """Protects the one source: what the wheel runs is what the examples show, byte for byte."""
    assert scenario().read_bytes() == (ROOT / "examples" / "renewal.yaml").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("/")
        assert read_scenario(str(scenario())).room == SLUG


def test_what_the_demo_needs_is_in_the_wheel() -> None:
    """Protects `pip install`: every file of the package that is no code is declared as its data."""
    data = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]
    files = [p for p in (ROOT / "swarm" / "demo").iterdir() if p.is_file() and p.suffix != ".py"]
    assert files
    for path in files:
        assert any(fnmatch(path.name, pattern) for pattern in data["swarm.demo"])


def test_it_runs_anywhere_and_leaves_ledger_roster_and_report(recorded: Recorded) -> None:
    """Protects the first five minutes: agreement and breach are shown, and the files named are there and hold."""
    shown = "\n".join(line for _, line in recorded.lines)
    for said in ("AGREED", "BROKEN", *(f"swarm-demo/{name}" for name in NAMES)):
        assert said in shown
    folder = recorded.folder / "swarm-demo"
    assert {path.name for path in folder.iterdir()} == {*NAMES}
    found = audit(folder / NAMES[0], roster=folder / NAMES[1])
    assert found.verdict == "verified" and found.summary["outcome"] == "agreed"
    assert "written over" not in shown


def test_an_earlier_demo_is_written_over_and_said_so_and_nothing_else_is(recorded: Recorded, tmp_path: Path) -> None:
    """Protects whoever has files of these names: only what a demo left is replaced."""
    assert prepare(recorded.folder / "swarm-demo") is True
    assert prepare(tmp_path / "new" / "folder") is False
    for name in NAMES:
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(BadInput, match="no earlier demo made it"):
            prepare(folder)
        assert (folder / name).read_text() == "mine"
    other = tmp_path / "ledger"
    other.mkdir()
    shutil.copy(ROOT / "tests" / "ledgers" / "good.jsonl", other / NAMES[0])
    with pytest.raises(BadInput):
        prepare(other)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be made"):
        prepare(tmp_path / "file" / "below")


# -- pace ------------------------------------------------------------------------------------------------------------


def test_the_view_takes_a_beat_before_each_thing() -> None:
    """Protects speaking over it: section, improvement and promise come one by one, and no table is torn apart."""
    out = StringIO()
    view = RunView(Console(file=out, width=200), Console(file=StringIO()), beat=lambda: print("<beat>", file=out))
    result = run(ROOT / "examples" / "printer.yaml", memory=True, watch=view.show)
    view.finish(result, None)
    shown = out.getvalue()
    after = [part.strip().splitlines()[0].split()[0] for part in shown.split("<beat>")[1:] if part.strip()]
    assert {"CHOICE", "+", "AGREED", "PROMISES"} <= {*after}
    choice = next(part for part in shown.split("<beat>") if part.strip().startswith("CHOICE"))
    assert "Keep the old printer" in choice and "A laser without service" in choice


def test_a_paced_console_prints_all_in_order_and_hurries_when_told() -> None:
    """Protects the ending: however long the pause, what was said comes out, once, and in its order."""
    out = StringIO()
    slow = PacedConsole(Console(file=out), pace_s=3600)
    for number in range(20):
        slow.print(number)
        slow.beat()
    slow.hurry()
    slow.close()
    assert out.getvalue().split() == [str(number) for number in range(20)]


def test_a_run_that_goes_wrong_does_not_wait_for_its_show() -> None:
    """Protects whoever interrupts: pauses that are still to come are not made."""
    out = StringIO()

    def fail() -> None:
        with paced(Console(file=out), 3600) as slow:
            slow.beat()
            slow.print("said before")
            raise BadInput("gone wrong")

    with pytest.raises(BadInput):
        fail()
    assert out.getvalue() == "said before\n"


def test_the_room_does_not_wait_for_the_show() -> None:
    """Protects deadlines: what is told of the run takes its time in a thread of its own."""
    out, blocked = StringIO(), []
    with paced(Console(file=out), 3600) as slow:
        slow.beat()
        slow.print("later")
        blocked.append(out.getvalue())
        slow.hurry()
    assert blocked == [""] and out.getvalue() == "later\n"


# -- the README's pictures -------------------------------------------------------------------------------------------


def test_the_recording_is_drawn_from_what_was_printed(recorded: Recorded) -> None:
    """Protects the picture's truth: every line of the run is in it, each with its time, and nothing is fetched."""
    svg = recorded.made.draw(recorded.lines)
    assert svg.startswith("<svg") and "swarm demo --pace" in svg.replace("&#160;", " ")
    assert svg.count('<clipPath id="demo-line-') >= len(recorded.lines)
    assert "BROKEN" in svg and "REPORT" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "") and "<script" not in svg
    assert len({part.split("s both")[0] for part in svg.split("demo-come 1ms ")[1:]}) > 3


def test_the_report_is_photographed(recorded: Recorded, tmp_path: Path) -> None:
    """Protects `make media`: with a Chromium at hand there is a picture of the report."""
    pytest.importorskip("playwright")
    report = recorded.folder / "swarm-demo" / "renewal.html"
    picture = tmp_path / "report.png"
    if not recorded.made.photograph(report, picture):
        pytest.skip("no chromium here")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_readme_shows_pictures_that_are_there_and_small() -> None:
    """Protects the first look: both pictures exist, the README shows them, and they load quickly."""
    page = (ROOT / "README.md").read_text("utf-8")
    for name, most in (("demo.svg", 200_000), ("report.png", 300_000)):
        assert f"](docs/media/{name})" in page
        assert 1_000 < (MEDIA / name).stat().st_size < most


def test_what_the_tutorial_says_an_audit_prints_is_what_it_prints(recorded: Recorded) -> None:
    """Protects the tutorial from going stale: word for word, but for names, keys and times that each run makes anew."""
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    block = recorded.made.AUDIT_BLOCK.search(page)
    assert block is not None
    said, prints = block[0].strip("`\n").splitlines(), recorded.made.audited(recorded.folder).splitlines()
    assert [_shape(line) for line in said] == [_shape(line) for line in prints]


def _shape(line: str) -> str:
    """Return the words of a line that are the same in every run; whose word its last records rest on is not."""
    line = line.split("'s word alone", maxsplit=1)[0].rpartition(", by ")[0] if "'s word alone" in line else line
    words = line.replace("(", " ").split()
    return " ".join(word for word in words if word.isalpha() and word.islower())


def test_the_report_is_of_the_ledger(recorded: Recorded) -> None:
    """Protects the last line of the demo: the page it names is about this very room."""
    header = json.loads((recorded.folder / "swarm-demo" / "renewal.jsonl").read_text("utf-8").splitlines()[0])
    assert header["room"] in (recorded.folder / "swarm-demo" / "renewal.html").read_text("utf-8")
