"""What the data prove: the paper's assumptions, its geometry and its theorems as functions one can call."""
