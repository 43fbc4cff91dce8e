"""Concord: which option leaves its least satisfied member best off?"""
