"""What every room needs: errors, budgets, interrupts, units."""
