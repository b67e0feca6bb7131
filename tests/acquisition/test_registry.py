from __future__ import annotations

import json

import pytest

from nasgoat import (
    EdgeLabeledSpace,
    NodeLabeledSpace,
    SearchSpace,
    darts,
    nasbench101,
    nasbench201,
)
from nasgoat.acquisition import (
    AcquisitionOptimizer,
    Cost,
    Effort,
    Reason,
    Sampling,
    choose,
    make_optimizer,
    register_optimizer,
    registry,
)
from nasgoat.cli.app import run
from nasgoat.errors import SettingError, UnknownNameError

OPS = ["a", "b", "c"]
DENSE = NodeLabeledSpace(10, OPS)


@pytest.mark.parametrize(
    ("space", "name"),
    [
        (nasbench201(), "catalogue"),
        (nasbench101(), "branch"),
        (darts(), "branch"),
        (NodeLabeledSpace(10, OPS, max_edges=12), "branch"),
        (NodeLabeledSpace(9, OPS), "branch"),
        (DENSE, "branch"),
        (EdgeLabeledSpace(8, ["a", "b"]), "scip"),
    ],
)
def test_the_choice_follows_the_size_of_the_space(space: SearchSpace, name: str) -> None:
    assert choose(space).name == name


@pytest.mark.parametrize(
    ("kernel", "questions", "name"),
    [
        ("linear", 1, "branch"),
        ("linear", 5, "catalogue"),  # which scores once for all five
        ("exponential", 1, "branch"),
        ("exponential", 5, "catalogue"),
    ],
)
def test_the_choice_follows_kernel_and_questions(kernel: str, questions: int, name: str) -> None:
    assert choose(nasbench101(), kernel, questions).name == name


@pytest.mark.parametrize("kernel", ["linear", "exponential"])
@pytest.mark.parametrize("questions", [1, 5])
@pytest.mark.parametrize("space", [nasbench101(), darts(), NodeLabeledSpace(8, OPS), DENSE])
def test_no_exact_optimiser_that_applies_is_cheaper_than_the_one_taken(
    space: SearchSpace, kernel: str, questions: int
) -> None:
    choice = choose(space, kernel, questions)
    costs = [entry["seconds"] for entry in choice.list_exact() if entry["applies"]]
    assert choice.seconds == min(costs)


def test_the_reason_says_what_is_searched_and_what_the_forecast_is_for() -> None:
    reason = choose(darts(), "linear", 5).reason
    assert "180 structures" in reason
    assert "linear kernel, 5 questions at a time" in reason


def test_auto_says_what_it_chose() -> None:
    lines: list[str] = []
    assert make_optimizer("auto", darts(), lines.append).name == "branch"
    assert any("branch and bound: 180 structures" in line for line in lines)


def test_a_choice_that_was_made_is_not_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = choose(nasbench201())
    monkeypatch.setattr(registry, "choose", None)
    assert make_optimizer(choice, nasbench201()).name == "catalogue"


def test_a_forecast_above_the_time_limit_is_announced_with_what_to_do() -> None:
    lines: list[str] = []
    make_optimizer("auto", DENSE, lines.append, effort=Effort(time_limit=60))
    assert "forecast to take 4000 s, the time limit is 60 s" in lines[-1]
    assert "raise the time limit, or take mutation" in lines[-1]
    lines.clear()
    make_optimizer("branch", DENSE, lines.append, effort=Effort(time_limit=60))
    assert "forecast to take 4000 s" in lines[-1]
    lines.clear()
    make_optimizer("auto", nasbench201(), lines.append, effort=Effort(time_limit=1e-6))
    assert len(lines) == 1, "a catalogue has no time limit"


def _sampling(space: SearchSpace, progress: object = None) -> AcquisitionOptimizer:
    return Sampling(space)


def test_a_registered_optimiser_is_taken_where_it_is_cheapest() -> None:
    def cost(space: SearchSpace, kernel: str, questions: int) -> Cost | Reason:
        if space.layout != "cell":
            return Reason("it knows cells alone")
        return Cost(0.01 * questions, 2.0, "an oracle")

    register_optimizer("oracle", _sampling, cost)
    assert choose(darts()).name == "oracle"
    assert "oracle: an oracle, about 0.01 s a question" in choose(darts()).reason
    assert choose(nasbench201()).name == "catalogue", "which is ready at once"
    assert {"name": "oracle", "applies": True}.items() <= choose(darts()).list_exact()[-1].items()


def test_a_registered_optimiser_without_a_cost_is_taken_by_its_name_alone() -> None:
    register_optimizer("oracle", _sampling)
    assert choose(darts()).name == "branch"
    assert choose(darts(), name="oracle").reason == "oracle: asked for"


def test_wrong_names_and_limits_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="catalogue"):
        choose(darts(), name="catalog")
    with pytest.raises(UnknownNameError, match="compact"):
        Effort(formulation="full")
    for wrong in ({"time_limit": 0}, {"threads": 0}, {"gap": 1.0}, {"memory": -1}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            Effort(**wrong)


@pytest.mark.parametrize("space", ["nb101", "nb201", "molecules"])
@pytest.mark.parametrize("options", [[], ["--preset", "paper"], ["--kernel", "linear"]])
def test_check_and_search_give_one_answer(
    space: str, options: list[str], capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    assert run(["space", "check", space, "--json", *options]) == 0
    checked = json.loads(capsys.readouterr().out)["auto"]
    call = ["search", "--space", space, "--command", "echo 1", "--evaluations", "1", *options]
    assert run([*call, "--report", str(tmp_path), "--no-pictures", "--json"]) == 0
    searched = capsys.readouterr()
    document = json.loads(searched.out)["optimizer"]
    assert document == {"name": checked["optimizer"], "reason": checked["reason"]}
    assert f"optimiser: {checked['reason']}" in searched.err


def test_check_announces_a_forecast_above_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["space", "check", "darts", "--time-limit", "10"]) == 0
    assert "forecast to take 200 s, the time limit is 10 s" in capsys.readouterr().out
