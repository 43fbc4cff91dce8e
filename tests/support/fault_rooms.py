"""Small rooms for faults: few steps, members that agree."""

from typing import Any


def willing(day: str = "mon", **more: Any) -> dict[str, Any]:
    """The script of a member that proposes *day* and agrees to whatever is proposed."""
    return {"proposes": {"title": day, "offer": {"day": day}}, "scores": {"mon": 80, "otherwise": 60}} | more


def small(slug: str, *names: str, seconds: int = 60, **more: Any) -> dict[str, Any]:
    """A room that picks a day, with *seconds* for each step."""
    return {
        "room": slug,
        "intent": "Pick a day.",
        "agenda": ["concord"],
        "issues": {"day": ["mon", "tue", "wed"]},
        "rules": {"step_seconds": seconds, "improvements": 0},
        "members": [{"name": name} for name in names],
    } | more


def codes(findings: list[dict[str, Any]]) -> set[tuple[str, str]]:
    """Return code and member of each finding."""
    return {(finding["code"], finding["who"]) for finding in findings}
