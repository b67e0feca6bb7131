"""Figures: pictures of graphs, in files and in the terminal. Owns matplotlib."""

from nasgoat.figures.drawing import PALETTE, draw, draw_on, save
from nasgoat.figures.terminal import ladder

__all__ = ["PALETTE", "draw", "draw_on", "ladder", "save"]
