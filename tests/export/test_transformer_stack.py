"""The example of stacks, in small: measured, declared, searched from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from nasgoat import ChainSpace
from nasgoat.cli import run

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACK_STEPS", "2")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_search_trains_stacks_within_the_budgets_that_were_measured() -> None:
    from examples.transformer_stack import write_space

    space = write_space(Path("stack.toml"), layers=3)
    assert 0 < space.count() < space.with_limits(()).count() == 3 * 6 * 5
    call = ["search", "--space", "stack.toml", "--objective", "examples.transformer_stack:train"]
    size = ["--evaluations", "2", "--initial", "2", "--no-pictures", "--report", "run", "--quiet"]
    assert run([*call, *size]) == 0
    history = json.loads(Path("run/result.json").read_text())["history"]
    graphs = [space.from_operations([*row["graph"]["edge_labels"]]) for row in history]
    assert len(graphs) == 2
    assert all(graph in space for graph in graphs)
    prices = space.price(graphs, "parameters")
    rest = [row["metrics"]["parameters"] - p for row, p in zip(history, prices, strict=True)]
    assert rest[0] == rest[1] > 0  # what every stack has beside its layers
    assert all(1.0 < row["metrics"]["error"] < 12.0 for row in history)


@pytest.mark.parametrize("block", ["attention", "linear_attention", "convolution"])
def test_no_place_sees_the_characters_behind_it(block: str) -> None:
    from examples.transformer_stack import LENGTH, CharacterModel

    torch.manual_seed(0)
    model = CharacterModel([block, "wide", "narrow", "identity"], 50).eval()
    text = torch.randint(50, (2, LENGTH))
    other = text.clone()
    other[:, 20:] = torch.randint(50, (2, LENGTH - 20))
    with torch.no_grad():
        one, two = model(text), model(other)
    assert torch.allclose(one[:, :20], two[:, :20], atol=1e-5)  # sums of single precision
    assert not torch.allclose(one[:, 20:], two[:, 20:], atol=1e-5)
    last = text.clone()
    last[:, 18] = (last[:, 18] + 1) % 50
    with torch.no_grad():
        assert not torch.allclose(model(last)[:, 19], one[:, 19], atol=1e-5)  # but those before


def test_linear_attention_is_the_sum_written_out() -> None:
    from examples.transformer_stack import LinearAttention

    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 6, 4)
    found = LinearAttention().mix(q, k, v)
    f, g = torch.nn.functional.elu(q) + 1, torch.nn.functional.elu(k) + 1
    weights = torch.tril(f @ g.transpose(2, 3))
    expected = (weights / weights.sum(dim=3, keepdim=True)) @ v
    assert torch.allclose(found, expected, atol=1e-5)


def test_training_is_the_same_twice_and_reads_what_it_has_not_seen() -> None:
    from examples.transformer_stack import load_text, train

    parts, characters = load_text()
    assert 60 <= characters <= 96
    assert min(len(part) for part in parts.values()) > 10_000
    space = ChainSpace(2, ["convolution", "narrow"])
    stack = space.sample(1, np.random.default_rng(0))[0]
    assert train(stack) == train(stack)
