"""Evaluation: tasks with a known end, run often enough to see how a change moved what runs achieve and what they cost.

A task is a folder with a `task.json`; each run of it has a process of its own. The rule: what must hold is written down
before the run and decided by code that looks at its end, never by what the run says of itself.
"""
