"""What may be said of a fit: its floor, its verdict, remarks."""
