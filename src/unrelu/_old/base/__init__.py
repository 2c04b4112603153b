"""What every room needs: errors, budgets, units."""
