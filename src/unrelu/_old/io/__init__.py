"""Files: what is read from them and written to them."""
