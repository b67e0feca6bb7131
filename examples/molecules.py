"""Look for drug-like molecules: objectives on graphs of atoms and bonds. Needs RDKit.

    pip install "nasgoat[molecules]"
    nasgoat search --space molecules --nodes 7 --objective examples.molecules:qed --evaluations 60

``qed`` is the quantitative estimate of drug-likeness (Bickerton et al., Nat. Chem. 2012), from
0 to 1, and ``penalised_log_p`` the octanol-water partition coefficient less what makes a molecule
hard to synthesise and rings of more than six atoms; of both more is better, so that the error is
their distance from 1, and their negative.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from rdkit.Chem import QED, Crippen, RDConfig

from nasgoat import LabeledGraph
from nasgoat.graphs.molecules import to_rdkit, to_smiles

LARGEST_RING = 6  # atoms of a ring that is not penalised


def qed(graph: LabeledGraph) -> dict[str, float | str]:
    """One less the drug-likeness of a molecule."""
    found = float(QED.qed(to_rdkit(graph)))
    return {"error": 1.0 - found, "qed": found, "smiles": to_smiles(graph)}


def penalised_log_p(graph: LabeledGraph) -> dict[str, float | str]:
    """The negative of log P less synthetic accessibility less the penalty of large rings."""
    molecule = to_rdkit(graph)
    largest = max(map(len, molecule.GetRingInfo().AtomRings()), default=0)
    large_ring = max(largest - LARGEST_RING, 0)
    hard = float(load_accessibility().calculateScore(molecule))
    found = float(Crippen.MolLogP(molecule)) - hard - large_ring
    return {"error": -found, "penalised_log_p": found, "smiles": to_smiles(graph)}


@cache
def load_accessibility() -> ModuleType:
    """The score of synthetic accessibility (Ertl and Schuffenhauer 2009) that comes with RDKit."""
    sys.path.append(str(Path(RDConfig.RDContribDir) / "SA_Score"))
    import sascorer

    return sascorer
