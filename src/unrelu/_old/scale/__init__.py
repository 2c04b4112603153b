"""Matrices of any size: a block is solved, every other row is attached to it, and passes over blocks do the rest."""
