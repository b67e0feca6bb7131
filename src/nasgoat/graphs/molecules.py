"""Molecules as labelled graphs: heavy atoms as nodes, bonds as edges; owns RDKit.

A molecule is an undirected graph whose nodes are labelled with symbols of elements and whose edges
with ``single``, ``double`` or ``triple``. Hydrogen atoms are what the valences leave, and have no
nodes. An aromatic ring is written with alternating bonds (kekulised): of the ways to do so RDKit
chooses one, so that a molecule may have further graphs, which :func:`to_smiles` knows as the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nasgoat.errors import GraphError, MissingPackageError
from nasgoat.graphs.labeled_graph import Edge, LabeledGraph

#: Labels of bonds by their order.
BONDS = {1: "single", 2: "double", 3: "triple"}
_ORDERS = {label: order for order, label in BONDS.items()}
#: Elements that drawings recognise as atoms.
ELEMENTS = frozenset(
    ("H", "Li", "B", "C", "N", "O", "F", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "K", "Ca", "Ge",
     "As", "Se", "Br", "Te", "I")
)  # fmt: skip
_COORDINATES = 1.5  # ångström: the length of a bond in RDKit's drawings
_LONGEST = 500  # characters of a SMILES text


def find_bonds(graph: LabeledGraph) -> dict[Edge, int] | None:
    """The order of each bond; None if the graph is no molecule. Needs no RDKit.

    Example:
        >>> find_bonds(LabeledGraph.from_edges(2, [(0, 1)], ["C", "O"], ["double"], False))
        {(0, 1): 2}
        >>> find_bonds(LabeledGraph.from_edges(2, [(0, 1)], ["C", "conv"], ["double"], False))
    """
    if graph.directed or graph.node_labels is None or not ELEMENTS.issuperset(graph.node_labels):
        return None
    labels = graph.edge_labels or {}
    if len(labels) != len(graph.edges) or not _ORDERS.keys() >= set(labels.values()):
        return None
    return {edge: _ORDERS[label] for edge, label in labels.items()}


def from_smiles(smiles: str) -> LabeledGraph:
    """The graph of a molecule: heavy atoms and bonds, aromatic rings with alternating bonds.

    What a graph does not hold is lost (the arrangement in space) or refused (charges, isotopes,
    radicals, hydrogen atoms other than those that valences leave).

    Raises:
        GraphError: If the text is no SMILES, or of a molecule that a graph does not hold.
        MissingPackageError: If RDKit is not installed.

    Example:
        >>> from_smiles("CC=O").node_labels
        ('C', 'C', 'O')
    """
    chem = _load_rdkit()
    text = smiles if isinstance(smiles, str) else ""
    molecule = chem.MolFromSmiles(text) if 0 < len(text) <= _LONGEST else None
    if molecule is None or molecule.GetNumAtoms() == 0:
        raise GraphError(f"a molecule must be given as SMILES, got {smiles!r:.80}")
    chem.RemoveStereochemistry(molecule)
    wanted = chem.MolToSmiles(molecule)
    chem.Kekulize(molecule, clearAromaticFlags=True)
    labels = [atom.GetSymbol() for atom in molecule.GetAtoms()]
    bonds = [
        ((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()), bond.GetBondTypeAsDouble())
        for bond in molecule.GetBonds()
    ]
    if any(order not in BONDS for _, order in bonds):
        raise GraphError(f"bonds must be single, double or triple, got {smiles!r:.80}")
    graph = LabeledGraph.from_edges(
        len(labels),
        [edge for edge, _ in bonds],
        labels,
        [BONDS[int(order)] for _, order in bonds],
        directed=False,
    )
    if describe_molecule(graph) != wanted:
        raise GraphError(
            "a molecule must have atoms without charges, isotopes or radicals, and the hydrogen "
            f"that their valences leave, got {smiles!r:.80}"
        )
    return graph


def to_smiles(graph: LabeledGraph) -> str:
    """The canonical SMILES of a molecule: the same text for all its graphs.

    Raises:
        GraphError: If the graph is no molecule, or breaks a valence.
        MissingPackageError: If RDKit is not installed.

    Example:
        >>> to_smiles(from_smiles("C1=CC=CC=C1"))
        'c1ccccc1'
    """
    return str(_load_rdkit().MolToSmiles(to_rdkit(graph)))


def to_rdkit(graph: LabeledGraph) -> Any:
    """The molecule as RDKit's ``Mol``, sanitised: aromatic where it is, hydrogen implicit.

    Raises:
        GraphError: If the graph is no molecule, or breaks a valence.
        MissingPackageError: If RDKit is not installed.
    """
    chem = _load_rdkit()
    molecule = _make_molecule(chem, graph)
    # Finds aromatic rings and hydrogen, and whether an atom breaks its valence.
    if chem.SanitizeMol(molecule, catchErrors=True) != chem.SanitizeFlags.SANITIZE_NONE:
        raise GraphError(f"the graph must keep to the valences of its atoms, got {graph}")
    return molecule


def place_atoms(graph: LabeledGraph) -> NDArray[np.float64] | None:
    """Where RDKit draws the atoms, bonds about 1 long; None without RDKit or for other graphs.

    Example:
        >>> place_atoms(LabeledGraph.from_edges(2, [(0, 1)]))
    """
    if find_bonds(graph) is None:
        return None
    try:
        molecule = to_rdkit(graph)
    except (MissingPackageError, GraphError):
        return None
    from rdkit.Chem import rdDepictor

    rdDepictor.Compute2DCoords(molecule, canonOrient=True)
    places = molecule.GetConformer().GetPositions()[:, :2]
    return np.asarray(places, dtype=float) / _COORDINATES


def describe_molecule(graph: LabeledGraph) -> str | None:
    """The SMILES of a graph that is a molecule; None without RDKit or for other graphs.

    Example:
        >>> describe_molecule(LabeledGraph.from_edges(2, [(0, 1)]))
    """
    if find_bonds(graph) is None:
        return None
    try:
        return to_smiles(graph)
    except (MissingPackageError, GraphError):
        return None


def _load_rdkit() -> Any:
    """RDKit's module of molecules, which says nothing on standard error."""
    try:
        from rdkit import Chem, RDLogger
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "rdkit":
            raise
        raise MissingPackageError("rdkit", "molecules") from None
    RDLogger.DisableLog("rdApp.*")
    return Chem


def _make_molecule(chem: Any, graph: LabeledGraph) -> Any:
    """The molecule of a graph, before anything is checked or derived."""
    orders = find_bonds(graph)
    if orders is None or graph.node_labels is None:
        raise GraphError(
            "the graph must have symbols of elements on its nodes and single, double or triple on "
            f"its edges to be a molecule, got {graph}"
        )
    kinds = {1: chem.BondType.SINGLE, 2: chem.BondType.DOUBLE, 3: chem.BondType.TRIPLE}
    molecule = chem.RWMol()
    for symbol in graph.node_labels:
        molecule.AddAtom(chem.Atom(symbol))
    for (u, v), order in orders.items():
        molecule.AddBond(u, v, kinds[order])
    return molecule.GetMol()
