"""The rules: pure folds over a room's log. No I/O, no clock, no randomness; this package knows no other."""
