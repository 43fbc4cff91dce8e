"""The minds: how one member makes up its mind. Knows the rules and nothing of the world."""

from agents.agent import Agent

__all__ = ["Agent"]
