"""The page in a real browser: what it shows is what the audit says, and whoever reads it another way can."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ["story", "hostile", "tampered", "unpinned"]
SECTIONS = ["Why", "Meaning", "Promises", "Who said what when", "Findings", "Cost", "Check it yourself"]


@pytest.fixture
def look(browser, page_of) -> Iterator[Callable[..., Any]]:
    """Open the page of a ledger at a width and in a scheme; any request but for the page itself fails the test."""
    opened: list[Any] = []
    asked: list[str] = []
    noise: list[str] = []

    def open_page(name: str, width: int = 1440, scheme: str = "light", media: str = "screen", height: int = 900) -> Any:
        page = page_of(name)
        tab = browser.new_page()
        opened.append(tab)

        def route(found: Any) -> None:
            if found.request.url.partition("#")[0] == page.url:
                found.continue_()
            else:
                asked.append(found.request.url)
                found.abort()

        tab.route("**/*", route)
        tab.on("console", lambda message: noise.append(message.text))
        tab.on("pageerror", lambda error: noise.append(str(error)))
        tab.on("dialog", lambda dialog: (noise.append(dialog.message), dialog.dismiss()))
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme, media=media)
        tab.goto(page.url)
        return tab

    yield open_page
    for tab in opened:
        tab.close()
    assert not asked, "the page asked for something"
    assert not noise, "the page had something to say, to the console or as a dialog"


def words(tab: Any, selector: str) -> list[str]:
    return [re.sub(r"\s+", " ", text).strip() for text in tab.locator(selector).all_inner_texts()]


def test_the_first_screen_answers(look, page_of):
    """Outcome, lowest score and whose it is, what it is worth, findings, the intent: all without a scroll."""
    tab, plain = look("story"), page_of("story").plain
    for selector in ("h1", ".lowest", ".intent", ".fact"):
        for each in tab.locator(selector).all():
            box = each.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= 900, selector
    decision = plain["decision"]
    assert words(tab, "h1")[0].startswith(f"Agreed: {decision['option']['title']}")
    least = decision["least_satisfied"]
    assert f"Lowest score {decision['scores'][least]} of 100, that of {least}" in words(tab, ".lowest")[0]
    assert words(tab, ".intent blockquote") == [page_of("story").reading.summary["intent"]]
    facts = dict(zip(words(tab, ".fact dt"), words(tab, ".fact .value"), strict=True))
    assert facts["Ledger"] == plain["verdict"] == "verified"
    assert facts["Identities"] == "pinned" and facts["Record"] == "complete"
    assert facts["Entries"] == str(plain["entries"])
    states = [promise["state"] for promise in plain["commitments"].values()]
    assert facts["Promises"] == f"{states.count('satisfied')} kept"


@pytest.mark.parametrize("name", [*NAMES, "good", "forked"])
def test_every_section_is_there_in_order(name, look):
    """Whatever the ledger, the same seven questions are answered, if only by why there is no answer."""
    tab = look(name)
    assert [re.sub(r"^\d ", "", heading) for heading in words(tab, "main h2")] == SECTIONS
    assert all(len(text) > 20 for text in words(tab, "main section"))


def test_the_sections_say_what_the_audit_says(look, page_of):
    """Scores, states, findings, keys and head are those of the JSON, one by one."""
    tab, page = look("story"), page_of("story")
    plain = page.plain
    considered = plain["considered"]
    rows = tab.locator(".scores tbody tr").all()
    assert len(rows) == len(considered["options"])
    for row, option in zip(rows, considered["options"], strict=True):
        given = [option["scores"].get(member) for member in considered["table"]["members"]]
        cells = row.locator("td.num").all_inner_texts()[1:-1]
        assert [None if cell == "✕" else int(cell.strip("!")) for cell in cells] == given
        marked = {m for m, cell in zip(considered["table"]["members"], cells, strict=True) if cell[-1] in "!✕"}
        assert marked == set(option["objections"])
        assert row.locator("th").inner_text().startswith(option["title"])
    from swarm.report.headline import STATE_WORDS

    shown = dict(
        zip(words(tab, "table.promises tbody th > bdi"), words(tab, "table.promises .state-word"), strict=True)
    )
    assert shown == {name: STATE_WORDS[each["state"]] for name, each in plain["commitments"].items()}
    codes = sorted(words(tab, "#findings tbody th code"))
    assert codes == sorted(finding["code"] for finding in plain["findings"])
    assert set(words(tab, "#check code.key")) == set(plain["members"].values())
    assert page.reading.head in tab.locator("#check .hold").inner_text()
    assert words(tab, ".command") == ["swarm audit story.jsonl --roster story.roster.yaml"]
    for limit in plain["says_not"]:
        assert limit in tab.locator("#check .two").inner_text()
    assert tab.locator(".entry").count() == plain["entries"]


def test_meanings_and_differences_are_told(look, page_of):
    """Who means what, what shows the difference, who adopted what and why, and what the agreement leaves open."""
    tab, plain = look("story"), page_of("story").plain
    text = tab.locator("#meaning").inner_text()
    assert "Soon is this week." in text and "Soon is this month." in text
    assert "bob adopts the meaning of ann" in text and "Hers is the older one." in text
    signs = words(tab, ".pairs .rel > span:first-child")
    different = sum(divergence["status"] != "" for divergence in plain["divergences"])
    assert signs.count("≠") == different and signs.count("?") == len(plain["untested"])
    assert "The intent itself uses “soon”, whose meaning is open" in text
    assert tab.locator("#meaning svg .agreed-line").count() == 1


def test_a_remedy_follows_a_breach(look):
    """The broken promise has its mark, an arrow leads from it to its remedy, and the line for now is there."""
    tab = look("story")
    assert tab.locator("#promises svg .icon.violated .disc").count() >= 1
    assert tab.locator("#promises svg path.remedy").count() == 2
    assert tab.locator("#promises svg line.now").count() == 1
    assert tab.locator("#promises tbody tr").first.locator("th").inner_text().startswith("clean")


def test_all_seals_stand_before_all_reveals(look):
    """In the picture as in the log: in each round the last seal is left of the first reveal."""
    tab = look("story")
    places = tab.evaluate(
        """() => [...document.querySelectorAll('#said svg .seal-mark, #said svg .reveal-mark')]
            .map(mark => [mark.classList[0], Number(mark.getAttribute('x'))]).sort((a, b) => a[1] - b[1])"""
    )
    kinds = "".join("s" if kind == "seal-mark" else "r" for kind, _ in places)
    assert re.fullmatch("(s{4}r{4})+", kinds), kinds
    assert tab.locator("#said svg .late").count() == 1


@pytest.mark.parametrize("name", NAMES)
def test_no_text_becomes_more_than_text(name, look):
    """UI-02: nothing of a member's runs, loads or is an element; `look` fails for requests, dialogs and errors."""
    tab = look(name)
    assert tab.title() != "owned" and tab.title() != "1" and "report" in tab.title()
    assert tab.locator("script, img, iframe, body svg [onload]").count() == 0
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert tab.title() != "owned"
    if name == "hostile":
        assert "</script><script>document.title='owned'</script>" in tab.locator("h1").inner_text()


@pytest.mark.parametrize(
    ("name", "scheme"), [("story", "light"), ("story", "dark"), ("hostile", "light"), ("tampered", "dark")]
)
def test_axe_finds_nothing(name, scheme, look):
    """Contrast, names, roles, headings, tables and what scrolls: no rule of axe-core is broken."""
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(look(name, scheme=scheme))
    assert [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in results.response["violations"]] == []


@pytest.mark.parametrize(("name", "width"), [*((n, w) for n in NAMES for w in (360, 1440)), ("crowd", 360)])
def test_the_page_never_scrolls_sideways(name, width, look):
    """Long words wrap; what is wide scrolls within itself, and can be reached by keyboard to do so."""
    tab = look(name, width=width)
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    wide = tab.evaluate(
        """() => [...document.querySelectorAll('body *')].filter(each => each.scrollWidth > each.clientWidth + 1
            && getComputedStyle(each).overflowX === 'auto' && each.tabIndex !== 0 && !each.matches('blockquote, pre'))
            .map(each => each.className)"""
    )
    assert wide == []


def test_light_dark_and_print(look):
    """Each has its own colours; in print everything is on white, what scrolls is whole, and the menu is gone."""
    seen = {}
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        tab = look("story", scheme=scheme, media=media)
        seen[scheme, media] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert tab.locator("nav").is_visible() == (media == "screen")
        if media == "print":
            overflow = tab.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX")
            assert overflow == "visible"
    dark = re.findall(r"\d+", seen["dark", "screen"])
    assert seen["dark", "print"] == "rgb(255, 255, 255)" and max(map(int, dark)) < 60
    assert seen["light", "screen"] not in (seen["dark", "screen"],)


def test_the_keyboard_reaches_everything(look):
    """The first stop leads past the menu, a number leads to its entry, and Enter opens it."""
    tab = look("story")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    assert tab.locator(".skip").bounding_box()["x"] >= 0, "what has the focus is seen"
    stops = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        stops.add(tab.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"A.ref", "DIV.scroll"} <= stops
    link = tab.locator("#why a.ref").first
    number = link.inner_text()
    link.focus()
    tab.keyboard.press("Enter")
    entry = tab.locator(f"#e{number}")
    box = entry.bounding_box()
    assert 0 <= box["y"] < 900
    assert tab.evaluate("document.querySelector(':target').id") == f"e{number}"
    entry.locator("summary").focus()
    tab.keyboard.press("Enter")
    assert entry.locator("pre").is_visible() and '"kind": ' in entry.locator("pre").inner_text()


def test_a_link_opens_what_hides_its_entry(look):
    """In a long room entries lie in closed groups; a number still leads to its entry."""
    tab = look("crowd")
    link = tab.locator("#why a.ref").first
    number = link.inner_text()
    assert int(number) > 100
    link.click()
    assert 0 <= tab.locator(f"#e{number}").bounding_box()["y"] < 900


def test_pictures_have_words(look):
    """Every picture has a title and a description, and each mark that stands alone is hidden beside its word."""
    tab = look("story")
    for picture in tab.locator("svg[role=img]").all():
        assert len(picture.locator("> title").text_content()) > 10
        assert len(picture.locator("> desc").text_content()) > 20
    assert tab.locator("svg:not([role=img]):not([aria-hidden=true])").count() == 0


def test_a_file_can_be_taken_away(look, page_of, tmp_path):
    """The file that is saved is the audit's JSON."""
    tab = look("story")
    with tab.expect_download() as waiting:
        tab.get_by_role("link", name="The audit as JSON").click()
    saved = Path(tmp_path, waiting.value.suggested_filename)
    waiting.value.save_as(saved)
    assert saved.name == "story.audit.json"
    assert json.loads(saved.read_text("utf-8")) == json.loads(json.dumps(page_of("story").plain))
