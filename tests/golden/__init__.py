"""Golden answers: what 6936f05 answers to about 400 public calls, and whether this version answers as well.

``python -m tests.golden`` (``make golden``) solves every instance again and compares it with the stored answer.
"""
