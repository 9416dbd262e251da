"""What only the papers need."""
