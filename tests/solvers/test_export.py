"""Exported models speak the paper's language and can be read back."""

from pathlib import Path

import numpy as np
import pyscipopt
import pytest

from nasgoat import EdgeLabeledSpace, GraphGP, LowerConfidenceBound
from nasgoat.errors import SettingError
from nasgoat.formulations import AcquisitionModel, formulate
from nasgoat.solvers.scip_model import export

SPACE = EdgeLabeledSpace(nodes=3, ops=["a", "b"])


def model(form: str, formulation: str) -> AcquisitionModel:
    cells = SPACE.sample(4, np.random.default_rng(0))
    gp = GraphGP(SPACE, kernel=form, noise=1e-2).fit(cells, [1.0, 2.0, 3.0, 4.0])
    return formulate(SPACE, LowerConfidenceBound().given(gp), formulation)


def test_rows_of_an_lp_file_carry_the_papers_tags(tmp_path: Path) -> None:
    text = export(model("linear", "paper").rows, tmp_path / "model.lp").read_text()
    for tag in ("(C1)size:", "(C8)at_most", "(201_label)one", "(Acq_Opt)variance"):
        assert tag in text


@pytest.mark.parametrize("suffix", [".lp", ".mps", ".cip"])
def test_an_exported_file_can_be_read_and_solved(tmp_path: Path, suffix: str) -> None:
    path = export(model("linear", "compact").rows, tmp_path / f"model{suffix}")
    scip = pyscipopt.Model()
    scip.hideOutput()
    scip.readProblem(str(path))
    scip.optimize()
    assert scip.getStatus() == "optimal"


def test_an_exponential_kernel_needs_a_format_with_exp(tmp_path: Path) -> None:
    rows = model("exponential", "paper").rows
    assert "exp" in export(rows, tmp_path / "model.cip").read_text()
    assert export(rows, tmp_path / "model.nl").stat().st_size > 0
    with pytest.raises(SettingError, match=r"\.cip or \.nl"):
        export(rows, tmp_path / "model.lp")
    with pytest.raises(SettingError, match="must end in"):
        export(rows, tmp_path / "model.txt")
