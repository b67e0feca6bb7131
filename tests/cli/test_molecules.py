"""Molecules on the command line, from the checkout as the page says."""

import json
from pathlib import Path

import numpy as np
import pytest

from nasgoat import LabeledGraph, from_smiles, molecules, to_smiles
from nasgoat.cli import run

pytest.importorskip("rdkit", reason="RDKit is not installed")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))


def test_a_search_of_molecules_of_one_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["search", "--space", "molecules", "--nodes", "4", "--quiet", "--evaluations", "8"]
    where = ["--objective", "examples.molecules:qed", "--report", str(tmp_path / "run")]
    assert run([*call, *where, "--initial", "6", "--no-pictures", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    history = json.loads((tmp_path / "run/result.json").read_text())["history"]
    assert found["best"]["graph"]["nodes"] == 4
    best = min((row["metrics"] for row in history), key=lambda metrics: metrics["error"])
    assert from_smiles(best["smiles"]) in molecules(4)
    assert to_smiles(LabeledGraph.from_json(found["best"]["graph"])) == best["smiles"]
    assert run(["report", str(tmp_path / "run"), "--json"]) == 0
    page = Path(json.loads(capsys.readouterr().out)["report"]).read_text()
    assert f"{best['smiles']}: 4 nodes" in page  # in the words of its picture


def test_more_atoms_than_the_preset_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["space", "sample", "molecules", "--nodes", "9", "--count", "2", "--json"]) == 0
    graphs = json.loads(capsys.readouterr().out)["graphs"]
    assert [graph["nodes"] for graph in graphs] == [9, 9]
    assert run(["space", "count", "molecules", "--nodes", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"count": 94}
    picture = tmp_path / "molecule.png"
    assert run(["space", "draw", "molecules", "--nodes", "8", "--output", str(picture)]) == 0
    assert picture.stat().st_size > 1000
    assert run(["space", "sample", "molecules", "--nodes", "2", "--count", "1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert from_smiles(said[-2]) in molecules(2)  # SMILES below the picture


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["space", "count", "molecules", "--nodes", "0"], "from 1 to 100, smallest first, got 0"),
        (["space", "count", "nb101", "--nodes", "9"], "from 2 to 7 in this space, got 9"),
        (["search", "--nodes", "5"], "--nodes must come with --objective or --command"),
    ],
)
def test_a_wrong_number_of_nodes_is_refused(
    call: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(call) == 2
    assert said in capsys.readouterr().err


def test_objectives_are_those_of_rdkit_and_the_literature() -> None:
    from examples.molecules import penalised_log_p, qed
    from rdkit.Chem import QED, Crippen, MolFromSmiles

    for smiles in ("CC(=O)Oc1ccccc1C(=O)O", "C1CCCCCCC1"):
        graph = from_smiles(smiles)
        metrics = qed(graph)
        assert metrics["qed"] == pytest.approx(QED.qed(MolFromSmiles(smiles)))
        assert metrics["error"] == pytest.approx(1.0 - float(metrics["qed"]))
    # Ertl and Schuffenhauer's score of cyclooctane; its ring has two atoms too many.
    score = float(Crippen.MolLogP(MolFromSmiles("C1CCCCCCC1")))
    less = score - float(penalised_log_p(from_smiles("C1CCCCCCC1"))["penalised_log_p"])
    assert 1.0 <= less - 2.0 <= 10.0
    small = float(penalised_log_p(from_smiles("C1CCCCC1"))["penalised_log_p"])
    assert np.isfinite(small)
