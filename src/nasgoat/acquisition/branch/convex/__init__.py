"""Searches that bound by convex relaxation: ``long_chains``, and ``several_cells`` at once.

Both stand on ``bound``; ``cell_rows`` lists what several cells are made of.
"""
