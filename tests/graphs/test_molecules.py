"""Molecules: SMILES to graphs and back, and what a graph does not hold."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nasgoat import LabeledGraph, from_smiles, molecules, to_smiles
from nasgoat.errors import GraphError, MissingPackageError
from nasgoat.graphs.molecules import describe_molecule, find_bonds, place_atoms, to_rdkit

Chem = pytest.importorskip("rdkit.Chem", reason="RDKit is not installed")

NAMED = {
    "benzene": "c1ccccc1",
    "pyrrole": "c1cc[nH]c1",
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "caffeine": "Cn1c(=O)c2c(ncn2C)n(C)c1=O",
    "hydrogen cyanide": "C#N",
    "dimethyl sulfone": "CS(C)(=O)=O",
    "methane": "C",
    "two molecules": "C.CO",
}
VALENCES = {"C": 4, "N": 3, "O": 2, "F": 1}


@given(st.integers(1, 9), st.integers(0, 10**6))
def test_a_graph_of_the_space_comes_back_as_the_same_molecule(atoms: int, seed: int) -> None:
    graph = molecules(atoms).sample(1, np.random.default_rng(seed))[0]
    smiles = to_smiles(graph)
    again = from_smiles(smiles)
    assert to_smiles(again) == smiles
    assert sorted(again.node_labels or ()) == sorted(graph.node_labels or ())
    assert len(again.edges) == len(graph.edges)
    assert again in molecules(atoms)
    if not any(atom.GetIsAromatic() for atom in to_rdkit(graph).GetAtoms()):
        assert again.canonical_key() == graph.canonical_key()


@given(st.integers(1, 8), st.integers(0, 10**6))
def test_hydrogen_is_what_the_valences_leave(atoms: int, seed: int) -> None:
    graph = molecules(atoms).sample(1, np.random.default_rng(seed))[0]
    used = [0] * graph.n
    for (u, v), order in (find_bonds(graph) or {}).items():
        used[u] += order
        used[v] += order
    hydrogen = [atom.GetTotalNumHs() for atom in to_rdkit(graph).GetAtoms()]
    left = [VALENCES[x] - order for x, order in zip(graph.node_labels or (), used, strict=True)]
    assert hydrogen == left


@pytest.mark.parametrize("smiles", NAMED.values(), ids=NAMED)
def test_named_molecules_come_back(smiles: str) -> None:
    assert to_smiles(from_smiles(smiles)) == Chem.CanonSmiles(smiles)


def test_an_aromatic_ring_has_alternating_bonds_and_any_way_to_write_them_is_the_same() -> None:
    ring = from_smiles("c1ccccc1")
    assert sorted((ring.edge_labels or {}).values()) == ["double"] * 3 + ["single"] * 3
    edges = [*((i, (i + 1) % 6) for i in range(6)), (1, 6)]
    first, second = (
        LabeledGraph.from_edges(7, edges, "NCCCCCF", [*bonds, "single"], directed=False)
        for bonds in (["single", "double"] * 3, ["double", "single"] * 3)
    )
    assert first.canonical_key() != second.canonical_key()
    assert to_smiles(first) == to_smiles(second) == "Fc1ccccn1"


def test_the_arrangement_in_space_is_lost() -> None:
    assert to_smiles(from_smiles("C[C@H](O)F")) == "CC(O)F"
    assert to_smiles(from_smiles("F/C=C/F")) == "FC=CF"


@pytest.mark.parametrize(
    ("smiles", "said"),
    [
        ("no molecule", "a molecule must be given as SMILES, got 'no molecule'"),
        ("", "a molecule must be given as SMILES, got ''"),
        ("C" * 501, "a molecule must be given as SMILES"),
        (None, "a molecule must be given as SMILES, got None"),
        ("C(C)(C)(C)(C)C", "a molecule must be given as SMILES"),
        ("[NH4+]", "must have atoms without charges, isotopes or radicals"),
        ("[CH3]", "must have atoms without charges, isotopes or radicals"),
        ("[13CH4]", "must have atoms without charges, isotopes or radicals"),
        ("C*", "must have atoms without charges"),
    ],
)
def test_what_a_graph_does_not_hold_is_refused(smiles: str, said: str) -> None:
    with pytest.raises(GraphError, match=said):
        from_smiles(smiles)


def test_a_graph_that_is_no_molecule_is_refused() -> None:
    crowded = LabeledGraph.from_edges(3, [(0, 1), (1, 2)], "COC", ["double", "single"], False)
    with pytest.raises(GraphError, match="must keep to the valences of its atoms"):
        to_smiles(crowded)
    assert place_atoms(crowded) is None
    cell = LabeledGraph.from_edges(2, [(0, 1)], ["input", "output"])
    with pytest.raises(GraphError, match="must have symbols of elements on its nodes"):
        to_smiles(cell)
    assert [find_bonds(cell), place_atoms(cell), describe_molecule(cell)] == [None] * 3


def test_without_rdkit_the_extra_is_named_and_drawings_do_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = from_smiles("CO")
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(MissingPackageError, match=r'run pip install "nasgoat\[molecules\]"'):
        from_smiles("CO")
    assert place_atoms(graph) is None
    assert describe_molecule(graph) is None
    assert find_bonds(graph) == {(0, 1): 1}
