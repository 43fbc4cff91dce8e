"""The page: the views of a reading put into templates, with every text escaped and every position a link.

The templates are this package's data. The style sheet is in the page, and the page's policy names it by its digest, so
that nothing else applies: no script, no request, no foreign style.
"""

import base64
from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from swarm.reasons import Reason
from swarm.report.checking import check, entries
from swarm.report.choice import choice
from swarm.report.cost import cost
from swarm.report.findings import findings
from swarm.report.headline import headline
from swarm.report.lanes import icon
from swarm.report.meaning import RELATIONS, meaning
from swarm.report.promises import promises
from swarm.report.reading import Reading
from swarm.report.sentences import Sentence
from swarm.report.speech import speech
from swarm.text import visible

INLINE: Final = 400
"""Characters of a member's text within a line of ours; the entry contains all of it."""
BLOCK: Final = 4_000
"""Characters of a member's text in a block of its own."""
MOST_LINKS: Final = 8
ICONS: Final = {"check": "satisfied", "open": "unconfirmed", "cross": "violated"}


def render(reading: Reading) -> str:
    """Return the page of *reading*; the same reading gives the same text."""
    css = files("swarm.report").joinpath("templates", "style.css").read_text(encoding="utf-8")
    digest = base64.b64encode(sha256(css.encode()).digest()).decode("ascii")
    citing = _Citing(len(reading.said))
    environment = Environment(
        loader=PackageLoader("swarm.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"own": own, "shown": shown, "block": block, "say": citing.say}
    environment.globals |= {
        "links": citing.links,
        "icon": icon,
        "icons": {name: icon(state) for name, state in ICONS.items()},
        "relations": RELATIONS,
        # Rendered last: by then the page knows on which entries it rests.
        "entries": lambda: entries(reading, citing.cited),
    }
    return environment.get_template("page.html.j2").render(
        css=Markup(css),
        style_digest=digest,
        reading=reading,
        audit=reading.audit,
        verdict=headline(reading),
        choice=choice(reading),
        meaning=meaning(reading),
        promises=promises(reading),
        speech=speech(reading),
        findings=findings(reading),
        cost=cost(reading),
        check=check(reading),
    )


def own(text: Any, most: int = INLINE) -> Markup:
    """Return a member's text inside a line of ours: visible, escaped, isolated, and cut to *most* characters."""
    whole = str(text)
    made = Markup("<bdi>{}</bdi>").format(visible(whole[:most]))
    if len(whole) > most:
        made += Markup('<span class="cut"> … {} more characters</span>').format(f"{len(whole) - most:,}")
    return made


def shown(text: str, most: int = INLINE) -> Markup:
    """Return a text that was made visible before, escaped, isolated and cut."""
    kept = Markup("<bdi>{}</bdi>").format(text[:most])
    return kept if len(text) <= most else kept + Markup('<span class="cut"> …</span>')


def block(text: str, most: int = BLOCK) -> Markup:
    """Return a member's text as a block of its own: its line breaks are kept, everything else is as in `own`."""
    lines = text[:most].split("\n")
    made = Markup("<br>").join(Markup("<bdi>{}</bdi>").format(visible(line)) for line in lines)
    if len(text) > most:
        made += Markup('<span class="cut"> … {} more characters</span>').format(f"{len(text) - most:,}")
    return made


class _Citing:
    """Writes links to entries, and remembers which."""

    def __init__(self, last: int) -> None:
        self._last = last
        self.cited: set[int] = set()

    def say(self, sentence: Sentence | Reason) -> Markup:
        """Return a sentence with links to the entries on which it rests."""
        if isinstance(sentence, Reason):
            # Members' texts in it are already visible, so it can be shown as it is.
            return Markup("<bdi>{}</bdi>").format(sentence.text) + self.links(sentence.positions)
        words = Markup(escape(sentence.form)).format(*map(own, sentence.texts))
        return words + self.links(sentence.at)

    def links(self, at: int | Iterable[int]) -> Markup:
        """Return links to the entries at these positions, except for 0 and for positions outside the ledger."""
        given = [at] if isinstance(at, int) else list(at)
        positions = [position for position in given if 1 <= position <= self._last]
        named = positions[:MOST_LINKS]
        self.cited.update(named)
        links = [
            Markup('<a class="ref" href="#e{0}" aria-label="entry {0}">{0}</a>').format(position) for position in named
        ]
        if len(positions) > len(named):
            links.append(Markup('<span class="cut">and {} more</span>').format(len(positions) - len(named)))
        return Markup(' <span class="refs">') + Markup(" ").join(links) + Markup("</span>") if links else Markup("")
