"""The rules: pure folds over a room's log. No I/O, no clock, no randomness; they import no other package of ours."""
