"""Rows placed by linear equations: blocks that were seen in full, and rows attached to them."""
