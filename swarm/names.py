"""Names that people could take for one another are refused where a room opens; a member's identity is its key."""

import unicodedata
from collections.abc import Sequence

from confusable_homoglyphs import confusables

_INVISIBLE = {"Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def check_names(names: Sequence[str]) -> None:
    """Raise ``ValueError`` if one of *names* holds invisible characters or looks like another."""
    skeletons: dict[str, str] = {}
    for name in names:
        if any(unicodedata.category(c) in _INVISIBLE for c in name) or name != name.strip() or not name:
            raise ValueError(f"the name {name!r} holds characters that cannot be seen")
        skeleton = _skeleton(name)
        if skeleton in skeletons:
            raise ValueError(f"the names {skeletons[skeleton]!r} and {name!r} look alike")
        skeletons[skeleton] = name


def _skeleton(name: str) -> str:
    folded = unicodedata.normalize("NFKC", name)
    plain = "".join(_prototype(character) for character in folded)
    return unicodedata.normalize("NFKC", plain).casefold()


def _prototype(character: str) -> str:
    """Return the Latin letter that *character* can be taken for, or itself."""
    if character.isascii():
        return character
    found = confusables.is_confusable(character, preferred_aliases=["latin"])
    if not found:
        return character
    latin = [h["c"] for h in found[0]["homoglyphs"] if h["c"].isascii()]
    return str(min(latin)) if latin else character
