"""Make the README's pictures, and the audit's output in the tutorial, anew from one run of the demo.

    python docs/media/make.py [FOLDER]

Writes ``demo.svg`` (the terminal, each line at its time), ``report.png`` (the top of the report; skipped with a message
if there is no Chromium) and ``audit.txt`` into FOLDER. Without FOLDER it writes the pictures into this folder, and the
audit's output into the tutorial.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).resolve().parent
TUTORIAL = HERE.parent / "tutorial.md"
SWARM = str(Path(sys.executable).with_name("swarm"))
DEMO = ["swarm", "demo", "--pace", "1"]
AUDIT = ["swarm", "audit", "swarm-demo/renewal.jsonl", "--roster", "swarm-demo/renewal.roster.yaml"]
WIDTH = 128
"""Columns, for the demo's longest line."""
SIZE = {"width": 1180, "height": 1500}
AUDIT_BLOCK = re.compile(r"```\n\$ swarm audit swarm-demo.*?```", re.DOTALL)

# Rich's own format fetches a font; this one takes what the reader's machine has.
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>swarm demo, recorded</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-family: ui-sans-serif, "DejaVu Sans", sans-serif; font-size: 18px }}
@keyframes {unique_id}-come {{ from {{ visibility: hidden }} to {{ visibility: visible }} }}
@media (prefers-reduced-motion: reduce) {{ * {{ animation: none !important }} }}
{styles}
TIMES
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""


def record(folder: Path) -> list[tuple[float, str]]:
    """Run the demo in *folder* as on a terminal; return each line, and after how many seconds it came."""
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(WIDTH)}
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | colours
    lines, began = [], time.monotonic()
    with subprocess.Popen(
        [SWARM, *DEMO[1:]], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            lines.append((time.monotonic() - began, line.rstrip("\n")))
    if run.returncode:
        raise SystemExit(f"the demo ended with {run.returncode}")
    return lines


def draw(lines: list[tuple[float, str]]) -> str:
    """Return the terminal as an SVG in which each line comes when it came, and stays."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    shown = [(0.0, f"$ {' '.join(DEMO)}"), *lines]
    with console.file:
        for _, line in shown:
            console.print(Text.from_ansi(line), soft_wrap=True, highlight=False)
        svg = console.export_svg(title="swarm demo", code_format=SVG, unique_id="demo")
    together: dict[str, list[str]] = {}
    for number, (at, _) in enumerate(shown):
        together.setdefault(f"{at:.1f}s", []).append(f'[clip-path="url(#demo-line-{number})"]')
    times = [f"{', '.join(names)} {{ animation: demo-come 1ms {at} both }}" for at, names in together.items()]
    return svg.replace("TIMES", "\n".join(times))


def photograph(report: Path, picture: Path) -> bool:
    """Write the beginning of *report* as a picture; return whether there was a Chromium to do it with."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return False
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport=SIZE, color_scheme="light")  # type: ignore[arg-type]
            page.goto(report.as_uri())
            # Down to the end of the first picture and its key: what answers in five seconds.
            headings = page.locator("h3").all()
            below = headings[0].bounding_box() if headings else None
            height = SIZE["height"] if below is None else min(SIZE["height"], below["y"] - 8)
            page.screenshot(path=picture, clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height})
        finally:
            browser.close()
    return True


def audited(folder: Path) -> str:
    """Return what the audit of the demo's ledger prints, under its command."""
    done = subprocess.run([SWARM, *AUDIT[1:]], cwd=folder, capture_output=True, text=True, check=True)
    return f"$ {' '.join(AUDIT)}\n{done.stdout}"


def main(target: Path | None) -> None:
    """Make all of it, in *target* or for the pages."""
    into = target or HERE
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (into / "demo.svg").write_text(draw(record(folder)), encoding="utf-8")
        audit = audited(folder)
        if not photograph(folder / "swarm-demo" / "renewal.html", into / "report.png"):
            print("no chromium: the picture of the report is left as it is", file=sys.stderr)
    if target is not None:
        (into / "audit.txt").write_text(audit, encoding="utf-8")
        return
    page = TUTORIAL.read_text("utf-8")
    TUTORIAL.write_text(AUDIT_BLOCK.sub(lambda _: f"```\n{audit}```", page), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
