"""Concord: the option whose least satisfied member is best off."""
