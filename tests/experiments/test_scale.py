"""The scale study measures the same problems with every method."""

import json
from pathlib import Path

import pytest

from nasgoat.cli.app import run
from nasgoat.errors import SettingError
from nasgoat.experiments.scale import ScaleStudy, ratios

METHODS = ("scip/compact", "catalogue")


def test_methods_agree_and_report_their_models() -> None:
    study = ScaleStudy(methods=METHODS, nodes=(4,), observations=(6,), top=2)
    lines: list[str] = []
    scip, catalogue = study.run(lines.append)
    assert scip.value == pytest.approx(catalogue.value, abs=1e-6)
    assert scip.status == catalogue.status == "optimal"
    assert scip.variables is not None
    assert scip.build_seconds is not None
    assert catalogue.variables is None
    assert len(lines) == 2
    assert list(ratios([scip, catalogue], *METHODS)) == ["n = 4, t = 6, seed 0"]


def test_a_formulation_needs_a_solver() -> None:
    with pytest.raises(SettingError, match="scip/"):
        list(ScaleStudy(methods=("branch/compact",), nodes=(3,)).run())


def test_the_command_writes_json_and_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = tmp_path / "scale.png"
    arguments = ["--nodes", "3,4", "--observations", "4", "--methods", ",".join(METHODS)]
    assert run(["scale", *arguments, "--top", "1", "--figure", str(figure), "--json"]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert [r["nodes"] for r in records] == [3, 3, 4, 4]
    assert figure.stat().st_size > 0
    assert run(["scale", "--nodes", "three"]) == 2
    assert "must be numbers" in capsys.readouterr().err
