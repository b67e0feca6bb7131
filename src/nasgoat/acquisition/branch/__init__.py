"""Exact branch and bound over labelled graphs (docs/branch-and-bound.md)."""

from nasgoat.acquisition.branch.optimizer import BranchAndBound

__all__ = ["BranchAndBound"]
