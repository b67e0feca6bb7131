"""Profiles and compositions: true for every cell, and as tight as they say."""

import numpy as np
import pytest

from nasgoat import LabeledGraph, NodeLabeledSpace
from nasgoat.acquisition import random_problem
from nasgoat.formulations import formulate
from nasgoat.formulations.profiles import INNER, SINK, SOURCE, list_structure_profiles
from nasgoat.kernels import FeatureMap
from nasgoat.kernels.summaries import list_compositions

SPACE = NodeLabeledSpace(nodes=(5, 5), max_edges=6, ops=["a", "b"])


@pytest.fixture(scope="module")
def cells() -> list[LabeledGraph]:
    return [graph for batch in SPACE.enumerate() for graph in batch]


def test_every_cell_satisfies_every_row(cells: list[LabeledGraph]) -> None:
    model = formulate(SPACE, random_problem(SPACE, 10).acquisition)
    tags = ("(profiles)one", "(compositions)pairs", "(caps)count")
    assert all(model.pyomo.component(tag) is not None for tag in tags)
    broken = [cell for cell in cells if model.rows.list_violations(model.encode(cell))]
    assert not broken


def test_caps_are_the_largest_counts_of_the_space(cells: list[LabeledGraph]) -> None:
    profiles = list_structure_profiles(5, 6)
    assert profiles is not None
    features = FeatureMap(SPACE)
    largest = features.counts(SPACE.batch(cells)).max(axis=0)
    for (s, a, b), found in zip(features.path_types, largest.tolist(), strict=True):
        if s == 0 or (a, b) == (0, 3):
            continue
        if a == 0 or b == 3:
            assert found == profiles.find_most(SOURCE if a == 0 else SINK, s)
        else:
            assert found == (profiles.find_most(INNER, s) if a == b else profiles.crossing[s - 1])


def test_two_families_go_together_only_if_a_structure_has_both() -> None:
    profiles = list_structure_profiles(4, 6)
    assert profiles is not None
    chain, fan = profiles.values[SOURCE].tolist().index([1, 1]), profiles.values[SINK].tolist()
    # One inner node after the source, one after that: the first can reach the sink itself or not.
    assert profiles.together[SOURCE, SINK][chain].sum() == len(fan) == 2
    assert np.array_equal(profiles.together[SOURCE, INNER].T, profiles.together[INNER, SOURCE])


def test_spaces_with_too_many_structures_have_no_profiles() -> None:
    assert list_structure_profiles(9, 30) is None
    assert list_structure_profiles(3, 3) is None


def test_compositions_are_counted_by_the_binomial() -> None:
    assert len(list(list_compositions(5, 3))) == 21
    assert all(sum(c) == 5 for c in list_compositions(5, 3))
