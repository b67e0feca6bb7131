"""Labelled graphs, their shortest paths and canonical forms."""

from nasgoat.graphs.batch import GraphBatch
from nasgoat.graphs.labeled_graph import LabeledGraph
from nasgoat.graphs.validation import Edge

__all__ = ["Edge", "GraphBatch", "LabeledGraph"]
