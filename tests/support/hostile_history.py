"""Members' texts that try to be more than text, in every place of a history that holds one."""

from typing import Any

from protocols.core.names import check_name

TEXTS = [
    '"]; evil [label="x", URL="javascript:alert(1)"',
    "</script><script>alert(1)</script>",
    '<!--<![CDATA[ ]]>&lt;x&#x27;"',
    'x"]:::violated\n  click n1 "http://evil"',
    "n9[fake] --> n1; class n1 x; %%{init: {}}%%",
    "`**bold**` $$x$$ 1. list",
    '=HYPERLINK("http://x","y")',
    "＝1+1",
    "\u202eevil\u200b\u2028end",
    "\x1b]0;own\x07\x1b[2K",
    "\\N \\G \\\\ \\",
    "a,b;c|d",
]


def party(text: str) -> str:
    """Return *text* as the name of a party may hold it: of the characters of names only."""
    return " ".join("".join(filter(_is_held, text)).split())


def _is_held(character: str) -> bool:
    try:
        return bool(check_name(f"x{character}x"))
    except ValueError:
        return False


def named(text: str) -> str:
    """Return *text* as the id of a commitment may hold it: brackets are for instances."""
    return "".join(c for c in party(text) if c not in "[]")


def history(text: str) -> dict[str, Any]:
    """Return a history that holds *text* as a party, an id, an event's attribute and a reason."""
    name, who = named(text), party(text)
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "parties": [who, "bob"],
        "commitments": [
            {"id": name, "debtor": who, "creditor": "bob", "each": "order", "if": "ordered", "then": "sent"},
            {
                "id": "amends",
                "debtor": who,
                "creditor": "bob",
                "if": f'violated("{quoted}") by 2026-01-05T00:00:00Z',
                "then": "paid by 2026-01-09T00:00:00Z",
                "excludes": [name],
            },
        ],
        "history": [
            {"at": "2026-01-01T00:00:00Z", "event": "ordered", "order": text, "note": text, "by": "bob"},
            {"at": "2026-01-02T00:00:00Z", "do": "cancel", "commitment": name, "by": who, "because": text},
            {"at": "2026-01-03T00:00:00Z", "do": "cancel", "commitment": name, "by": "bob", "because": text},
        ],
    }
