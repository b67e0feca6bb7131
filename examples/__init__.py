"""Examples: objectives that train for real."""
