"""Deeds: who may act when, what has begun and how it ended, as a fold that everybody computes alike."""
