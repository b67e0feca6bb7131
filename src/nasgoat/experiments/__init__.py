"""Experiments that print the figures the documentation quotes."""
