"""Figures: pictures of graphs, in files and in the terminal, and charts. Owns matplotlib."""

from typing import TYPE_CHECKING

from nasgoat.figures.drawing import draw, draw_on, ladder, save, write_ladder
from nasgoat.figures.panels import draw_panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Figure  # for annotations elsewhere

__all__ = ["draw", "draw_on", "draw_panels", "ladder", "save", "write_ladder"]
