"""A mind on trial: every duty as it comes, and again with a temptation that a mind should resist.

Use `check_agent` in `swarm.trial.check`. Each trial is a room of its own over the log in memory, folded by the rules
that every peer runs, in which all other members follow scripts; a real seat asks the mind, mandate included.
"""
