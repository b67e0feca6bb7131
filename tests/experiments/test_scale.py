"""The scale study measures the same problems with every method."""

from dataclasses import replace
from pathlib import Path

import pytest

from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.experiments import make_figures, read_experiment
from nasgoat.experiments.scale import ScaleStudy

METHODS = ("scip/compact", "catalogue")


def test_methods_agree_and_report_their_models() -> None:
    study = ScaleStudy(methods=METHODS, nodes=(4,), observations=(6,), top=2)
    scip, catalogue = (study.execute(run.settings)[0] for run in study.runs())
    assert scip["value"] == pytest.approx(catalogue["value"], abs=1e-6)
    assert scip["status"] == catalogue["status"] == "optimal"
    assert scip["variables"] is not None
    assert scip["build_seconds"] is not None
    assert catalogue["variables"] is None


def test_a_formulation_needs_a_solver() -> None:
    with pytest.raises(SettingError, match="scip/"):
        ScaleStudy(methods=("branch/compact",), nodes=(3,))
    with pytest.raises(UnknownNameError, match="did you mean catalogue"):
        ScaleStudy(methods=("catalog",))


def test_records_of_a_method_that_is_no_longer_declared_are_drawn() -> None:
    records = read_experiment(Path(__file__).parents[2] / "experiments" / "scale")
    fewer = {**records.declaration, "methods": ["branch"]}
    assert set(make_figures(replace(records, declaration=fewer))) == set(make_figures(records))
