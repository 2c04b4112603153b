"""Observations, a rank and a loss, ready to be minimised."""
