"""What comes out: completions, certificates, comparisons, and how they are stored."""
