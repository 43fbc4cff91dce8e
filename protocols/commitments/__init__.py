"""Commitments: who promised what to whom, under which condition, and what became of it."""
