"""What callers bring, and what it says: values that were seen, and what is known of the others."""
