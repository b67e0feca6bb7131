"""A wrong experiment file is one line with file, line and key."""

from pathlib import Path

import numpy as np
import pytest

from nasgoat.errors import ExperimentFileError
from nasgoat.experiments.compare_study import CompareStudy
from nasgoat.experiments.study import load_experiment, parse_experiment

DECLARED = sorted((Path(__file__).parents[2] / "experiments").rglob("*.toml"))
PIECES = ("", "0", "-1", "1e9", "nan", "true", '"', "[", "]", "=", "\n", ".", "{", "x", "[[", ",")
COMPARE = 'kind = "compare"\nbenchmarks = ["nb201/cifar10"]\n'


@pytest.mark.parametrize("path", DECLARED, ids=lambda path: f"{path.parent.stem}-{path.stem}")
def test_every_declared_experiment_is_read(path: Path) -> None:
    experiment = load_experiment(path)
    assert experiment.name == path.stem
    assert experiment.title != path.stem
    assert experiment.study.declaration()


WRONG = {
    "benchmark = 1": "my.toml:1: must have the key kind",
    'kind = "comparison"': "my.toml:1: kind must be one of compare, fronts, .* got 'compariso",
    'kind = "kernels"': "my.toml:1: must have the key benchmarks",
    'kind = "scale"\nnode = [3]': "my.toml:2: node must be .* did you mean nodes",
    'kind = "scale"\nnodes = 3': "my.toml:2: nodes must be a list of whole numbers.*got 3",
    'kind = "scale"\nnodes = [true]': "my.toml:2: nodes must be a list of whole numbers",
    'kind = "scale"\nnodes = []': "my.toml:2: nodes must be .* at least one",
    'kind = "scale"\nnodes = [0]': "my.toml:2: nodes: nodes must be at least 2, got 0",
    'kind = "scale"\ngap = nan': "my.toml:2: gap: gap must be positive, got nan",
    'kind = "kernels"\nbenchmarks = ["nb202"]': "my.toml:2: benchmarks: .* got 'nb202'",
    'kind = "kernels"\nbenchmarks = ["nb101"]\nnoises = [-1]': "my.toml:3: noises: noises must",
    COMPARE + 'methods = ["goat-x"]': "my.toml:3: methods: method must be .* write a table",
    COMPARE + 'methods = ["random"]\nseeds = 0': "my.toml:4: seeds: seeds must be at least 1",
    COMPARE + 'methods = ["g"]\n[method.g]\nmethod = "goat"\nkernl = "linear"': (
        "my.toml:6: method.g.kernl must be .* did you mean kernel"
    ),
    COMPARE + 'methods = ["g"]\n[method.g]\nmethod = "goat"\nkernel = "cubic"': (
        "my.toml:6: method.g.kernel: kernel must be one of"
    ),
    COMPARE + 'methods = ["g"]\n[method.g]\nmethod = "goat"\noptimizer = "scip/short"': (
        "my.toml:6: method.g.optimizer: optimizer must be one of scip/compact, scip/paper"
    ),
    COMPARE + 'methods = ["random"]\nevaluations = 5\ninitial = 10': (
        "my.toml:4: evaluations: evaluations must be at least initial, 10, got 5"
    ),
    'kind = "scale"\nmethods = ["scip/short"]': "my.toml:2: methods: methods must be one of scip/",
    COMPARE + 'methods = ["g"]\n[method.g]\nkernel = "linear"': "my.toml:4: method.g must have",
    COMPARE + 'methods = ["e"]\n[method.e]\nmethod = "evolution"\nremov = "oldest"': (
        "my.toml:6: method.e.remov: option of evolution .* did you mean remove"
    ),
    'kind = "scale"\nnodes = [3': "my.toml:2: must be TOML",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items(), ids=range(len(WRONG)))
def test_a_wrong_file_names_line_and_key(text: str, said: str) -> None:
    with pytest.raises(ExperimentFileError, match=said) as problem:
        parse_experiment(text, "my.toml")
    assert "\n" not in str(problem.value)


def test_the_kind_must_be_that_of_the_verb() -> None:
    with pytest.raises(ExperimentFileError, match="must be 'compare', got 'scale'; run nasgoat sc"):
        parse_experiment('kind = "scale"', "my.toml", "compare")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ExperimentFileError, match="must be readable"):
        load_experiment(tmp_path / "none.toml")


def test_whatever_a_file_holds_it_is_read_or_refused_in_one_line() -> None:
    rng = np.random.default_rng(0)
    for path in DECLARED:
        text = path.read_bytes()
        for _ in range(60):
            damaged = bytearray(text)
            for _ in range(rng.integers(1, 4)):
                place = int(rng.integers(len(damaged)))
                damaged[place : place + int(rng.integers(0, 6))] = rng.choice(list(PIECES)).encode()
            try:
                parse_experiment(damaged.decode("utf-8", "replace"), "my.toml")
            except ExperimentFileError as problem:
                assert "\n" not in str(problem)
                assert str(problem).startswith("my.toml")


def test_methods_take_their_own_options_and_seeds() -> None:
    text = COMPARE + (
        'methods = ["random", "short"]\nseeds = 3\n'
        '[method.short]\nmethod = "evolution"\nseeds = 1\nremove = "oldest"\n'
    )
    study = parse_experiment(text).study
    assert isinstance(study, CompareStudy)
    assert study.methods[1].options == {"remove": "oldest"}
    assert [run.settings["seed"] for run in study.runs()] == [0, 0, 1, 2]
