"""What others register is found by name, and does not shadow what is ours."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.gaussian_process.kernels import RBF

from nasgoat import NodeLabeledSpace, Optimizer, Settings, darts, make_method, nasbench201
from nasgoat.acquisition import (
    Sampling,
    choose,
    list_optimizers,
    make_optimizer,
    register_optimizer,
)
from nasgoat.baselines.model_free import RandomSearch
from nasgoat.cli import run
from nasgoat.errors import SettingError
from nasgoat.kernels import list_kernels, register_kernel
from nasgoat.search_methods import (
    find_own_batch,
    find_remedy,
    is_available,
    methods,
    register_method,
)
from nasgoat.spaces import list_presets, load_space, register_space

SPACE = NodeLabeledSpace(nodes=(2, 4), ops=["a", "b"])


def test_a_registered_kernel_is_a_setting() -> None:
    register_kernel("smooth", lambda features: RBF())
    assert "smooth" in list_kernels()
    optimizer = Optimizer(nasbench201(), Settings(kernel="smooth"), initial=5)
    for proposal in optimizer.ask(5):
        optimizer.tell(proposal.graph, error=float(len(proposal.graph.edges)))
    assert optimizer.ask(1)[0].certificate.certified
    assert optimizer.surrogate is not None
    assert "length_scale" in optimizer.surrogate.hyperparameters


def test_auto_takes_what_is_exact_for_a_registered_kernel_or_says_that_nothing_is() -> None:
    register_kernel("smooth", lambda features: RBF())
    assert choose(nasbench201(), "smooth").name == "catalogue"
    assert choose(load_space("nb101"), "smooth").name == "catalogue"
    assert choose(darts(), "smooth").name == "local"
    with pytest.raises(SettingError, match="exponential or normalised for the optimizer branch"):
        make_optimizer("branch", nasbench201(), kernel="smooth")


def test_a_registered_optimizer_space_and_method_are_found() -> None:
    register_optimizer("bigger", lambda space, progress: Sampling(space, size=500))
    register_space("tiny", lambda: SPACE)
    register_method("chance", RandomSearch, "random search")
    assert "bigger" in list_optimizers()
    assert make_optimizer("bigger", SPACE).name == "sampling"
    assert "tiny" in list_presets()
    assert load_space("tiny") == SPACE
    assert methods()["chance"] == "random search"
    assert is_available("chance")
    assert (find_remedy("chance"), find_own_batch("chance")) == ("", 1)
    assert len(make_method("chance", SPACE, initial=2).ask(4)) == 4


@pytest.mark.parametrize(
    ("register", "name", "thing"),
    [
        (register_kernel, "linear", lambda features: RBF()),
        (register_optimizer, "scip", lambda space, progress: Sampling(space)),
        (register_optimizer, "auto", lambda space, progress: Sampling(space)),
        (register_space, "nb101", lambda: SPACE),
        (register_space, "darts", lambda: SPACE),
    ],
)
def test_names_of_ours_are_refused(register: Callable[..., None], name: str, thing: Any) -> None:
    with pytest.raises(SettingError, match="name of its own"):
        register(name, thing)


@pytest.mark.parametrize("name", ["goat", "bananas"])
def test_names_of_our_methods_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="name of its own"):
        register_method(name, RandomSearch, "another one")


def test_a_plugin_registers_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_plugin.py").write_text(
        "from nasgoat import NodeLabeledSpace\n"
        "from nasgoat.spaces import register_space\n"
        'register_space("mine", lambda: NodeLabeledSpace(nodes=(2, 4), ops=["a", "b"]))\n'
    )
    assert run(["--plugin", "my_plugin", "space", "count", "mine"]) == 0
    assert capsys.readouterr().out.strip() == str(SPACE.count())


def test_a_plugin_that_is_not_there_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--plugin", "no_such_plugin", "methods"]) == 2
    assert "--plugin must name a module" in capsys.readouterr().err


def test_an_unknown_optimizer_is_told_before_a_study_is_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["search", "--optimizer", "scipp", "--report", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert "did you mean scip?" in told
    assert "resume with" not in told
    assert not (tmp_path / "run" / "study.db").exists()
