"""Views of a folded room: the briefing, the evidence, the patterns, the summary."""
