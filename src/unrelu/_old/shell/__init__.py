"""One command of the shell per file."""
