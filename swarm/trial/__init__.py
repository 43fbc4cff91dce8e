"""A mind on trial: every duty once as it comes, and again with something in it that a mind should not fall for.

`check_agent` in `swarm.trial.check` is the way in. Each trial is a room of its own over the log in memory, folded by
the rules that every peer runs, in which all others follow scripts; the mind is asked by a real seat, mandate included.
"""
