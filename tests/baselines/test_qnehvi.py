"""What is done beside BoTorch gives what BoTorch gives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nasgoat.baselines.several_objectives import find_several_method
from nasgoat.spaces import ChainSpace

torch: Any = pytest.importorskip("torch")
pytest.importorskip("botorch", reason='BoTorch is not installed: pip install "nasgoat[botorch]"')
find_several_method("qnehvi")  # warns of nothing when it is imported

from botorch import fit_gpytorch_mll  # noqa: E402
from botorch.acquisition.multi_objective.logei import (  # noqa: E402
    qLogNoisyExpectedHypervolumeImprovement,
)
from botorch.models import ModelListGP, SingleTaskGP  # noqa: E402
from botorch.models.transforms import Standardize  # noqa: E402
from botorch.sampling import SobolQMCNormalSampler  # noqa: E402
from gpytorch.mlls import ExactMarginalLogLikelihood  # noqa: E402

from nasgoat.baselines.qnehvi import ListedPosterior, Loss, fit_model  # noqa: E402

ROUNDING = 1e-6  # of the loss: BoTorch's priors are in single precision


def make_model(seed: int = 0, observations: int = 25) -> SingleTaskGP:
    rng = np.random.default_rng(seed)
    x = draw_rows(observations, 0)
    y = x @ rng.normal(size=(12, 1)) + 0.1 * rng.normal(size=(observations, 1))
    rows, targets = torch.as_tensor(x), torch.as_tensor(y)
    return SingleTaskGP(rows, targets, outcome_transform=Standardize(m=1))


def draw_rows(count: int, seed: int) -> NDArray[np.float64]:
    choices = np.random.default_rng(seed).integers(3, size=(count, 4))
    return np.eye(3)[choices].reshape(-1, 12)


def evaluate_botorch(model: SingleTaskGP) -> float:
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model).train()
    with torch.no_grad():
        return -float(likelihood(model(*model.train_inputs), model.train_targets))


def test_the_loss_of_a_fit_is_that_of_botorch() -> None:
    model = make_model()
    loss, rng = Loss(model), np.random.default_rng(1)
    for _ in range(3):
        point = loss.begin + 0.5 * rng.normal(size=len(loss.begin))
        loss.write(point)
        assert loss(point)[0] == pytest.approx(evaluate_botorch(model), abs=ROUNDING)


def test_the_gradient_of_a_fit_is_that_of_finite_differences() -> None:
    loss, rng = Loss(make_model()), np.random.default_rng(2)
    point = loss.begin + 0.5 * rng.normal(size=len(loss.begin))
    step = 1e-5  # cube root of rounding
    found = [
        (loss(point + row)[0] - loss(point - row)[0]) / (2 * step)
        for row in step * np.eye(len(point))
    ]
    np.testing.assert_allclose(loss(point)[1], found, atol=1e-8)  # rounding over the step


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_is_no_worse_than_that_of_botorch(seed: int) -> None:
    ours, theirs = make_model(seed), make_model(seed)
    fit_model(ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit_gpytorch_mll(ExactMarginalLogLikelihood(theirs.likelihood, theirs))
    assert evaluate_botorch(ours) <= evaluate_botorch(theirs) + ROUNDING


def test_a_listed_posterior_has_the_gains_of_the_model() -> None:
    models = [make_model(seed) for seed in (0, 1)]
    for model in models:
        fit_model(model)
    x, whole = models[0].train_inputs[0], ModelListGP(*models)
    pool = torch.as_tensor(draw_rows(20, 3))
    listed = ListedPosterior(whole, torch.cat([x, pool]))

    def gains(model: Any, known: Any, choices: Any) -> Any:
        sampler = SobolQMCNormalSampler(torch.Size([32]), seed=1)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            function = qLogNoisyExpectedHypervolumeImprovement(model, [-2.0, -2.0], known, sampler)
            return function(choices[:, None]).numpy()

    ours = gains(listed, listed.places[:25], listed.places[25:])
    np.testing.assert_allclose(ours, gains(whole, x, pool), atol=1e-3)  # of jitters


def test_one_hot_rows_have_a_one_for_each_parameter() -> None:
    method: Any = find_several_method("qnehvi")(ChainSpace(4, ["a", "b"]), ["x", "y"])
    rows = method._encode(method.space.sample(5, np.random.default_rng(0)))
    assert rows.shape == (5, 8)
    assert (rows.sum(dim=1) == 4).all()
