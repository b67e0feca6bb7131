"""A Gaussian process on graphs that learns from several sources.

The notation is that of :mod:`~nasgoat.surrogate.coregionalisation`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_solve
from sklearn.gaussian_process import GaussianProcessRegressor

from nasgoat.errors import SettingError
from nasgoat.graphs import LabeledGraph
from nasgoat.surrogate.coregionalisation import Array, Coregionalisation, SourceLikelihood
from nasgoat.surrogate.graph_gp import JITTERS, GraphGP, refuse_singular
from nasgoat.surrogate.likelihood import make_likelihood, name_parameters, spread_over_sources
from nasgoat.surrogate.model_check import ModelCheck, log_density
from nasgoat.surrogate.posterior import make_posterior
from nasgoat.surrogate.target import Source, SourceWorth, scale_sources

logger = logging.getLogger(__name__)


class SourcedGP(GraphGP):
    """A Gaussian process that learns the errors of a target from several sources.

    Its arguments are those of :class:`~nasgoat.GraphGP`; so is its posterior, which is that of the
    target. Without further sources it is the same process.

    Example:
        >>> from nasgoat import nasbench201
        >>> space = nasbench201()
        >>> cells = space.sample(60, np.random.default_rng(0))
        >>> errors = np.array([10.0 + len(cell.edges) for cell in cells])
        >>> short = Source("short", cells, 3 * errors + 5)
        >>> gp = SourcedGP(space).fit(cells[:8], errors[:8], [short])
        >>> [round(worth.correlation) for worth in gp.worth]
        [1, 1]
        >>> bool(np.corrcoef(gp.predict(cells[8:])[0], errors[8:])[0, 1] > 0.9)
        True
    """

    def fit(
        self,
        graphs: Sequence[LabeledGraph],
        errors: Sequence[float],
        others: Sequence[Source] = (),
        name: str = "target",
    ) -> SourcedGP:
        """Learn from the target's observed errors, and from other sources.

        Args:
            graphs: What was observed of the target; repeated graphs are merged.
            errors: An error for each.
            others: Further sources.
            name: Of the target, for people.
        """
        self.sources_ = (Source(name, graphs, errors), *others)
        self.ignored_: dict[str, float] = {}
        self.__dict__.pop("_worth", None)
        if len({source.name for source in self.sources_}) < len(self.sources_):
            names = ", ".join(source.name for source in self.sources_)
            raise SettingError(f"sources must have names of their own, got {names}")
        if not others:
            super().fit(graphs, errors)
            self.mixing_ = Coregionalisation(np.ones(1), np.ones(1))
            self.noises_ = np.array([self.noise_])
            self._take_plain()
            return self
        scales = scale_sources(self.sources_, self.space, self.target, self.standardize)
        self.scale_ = scales[0]
        merged = [
            self._merge(source.graphs, scale.to_target(np.asarray(source.errors, dtype=float)))
            for source, scale in zip(self.sources_, scales, strict=True)
        ]
        self.graphs_, self.targets_, _ = merged[0]
        rows = [self.features.rows(seen) for seen, _, _ in merged]
        self._places = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        targets, times = (np.concatenate([part[i] for part in merged]) for i in (1, 2))
        self._fit_joint(np.concatenate(rows), targets, 1.0 / times)
        return self

    def fit_if_better(
        self, graphs: Sequence[LabeledGraph], errors: Sequence[float], others: Sequence[Source]
    ) -> SourcedGP:
        """The process with other sources, or without where these make predictions worse.

        A misleading source is noise to the fit, but the kernel is shared, and learnt from it too.
        So both are fitted, and the one is taken that predicts the target's observations better,
        each from all others. ``ignored_`` then has what each of the sources would have contributed.
        """
        self.fit(graphs, errors, others)
        alone = copy(self).fit(graphs, errors)
        if (alone.check_.gain or 0.0) <= (self.check_.gain or 0.0):
            return self
        alone.ignored_ = {worth.name: worth.contribution or 0.0 for worth in self.worth[1:]}
        return alone

    @property
    def hyperparameters(self) -> dict[str, float]:
        """The fitted hyperparameters by name: the kernel's, and those of every source."""
        if len(self.sources_) == 1:
            plain = super().hyperparameters
            for name, contribution in self.ignored_.items():
                plain |= {f"correlation {name}": 0.0, f"contribution {name}": contribution}
            return plain
        kernel = self.gpr_.kernel_
        found = dict(zip(name_parameters(kernel), np.exp(kernel.theta).tolist(), strict=True))
        found["noise"] = self.noise_
        for i, worth in enumerate(self.worth[1:], start=1):
            found[f"noise {worth.name}"] = float(self.noises_[i])
            found[f"scale {worth.name}"] = float(self.mixing_.scales[i])
            found[f"correlation {worth.name}"] = worth.correlation
            found[f"contribution {worth.name}"] = worth.contribution or 0.0
        return found

    @property
    def worth(self) -> list[SourceWorth]:
        """What each source is worth, the target first."""
        if not hasattr(self, "_worth"):
            self._worth = self._weigh_sources()
        return self._worth

    def assume_predicted(
        self, graphs: Sequence[LabeledGraph], source: str | None = None
    ) -> SourcedGP:
        """A copy of the process, as if a source, or the target, had said what is expected."""
        place = 0 if source is None else self._find(source)
        if len(self.sources_) == 1:
            plain: SourcedGP = super().assume_predicted(graphs)  # type: ignore[assignment]
            plain._take_plain()
            return plain
        rows = self.features.rows(graphs)
        means = self._foresee(rows, place)[0]
        believer = copy(self)
        believer._places = np.append(self._places, np.full(len(rows), place, dtype=np.intp))
        old_rows, old_targets, old_noise = self._joint
        noise = np.full(len(rows), self.noises_[place] + self.jitter_)
        believer._condition(
            np.concatenate([old_rows, rows]),
            np.concatenate([old_targets, means]),
            np.concatenate([old_noise, noise]),
        )
        return believer

    def foresee(self, graphs: Sequence[LabeledGraph], source: str) -> tuple[Array, Array]:
        """What an observation by a source would tell of the target.

        Returns:
            For each graph the standard deviation σ of the target now, and that of its mean once the
            observation is made: τ, with τ² ≤ σ². What remains is √(σ² - τ²).

        Example:
            >>> from nasgoat import nasbench201
            >>> cells = nasbench201().sample(20, np.random.default_rng(0))
            >>> errors = [float(len(cell.edges)) for cell in cells]
            >>> short = Source("short", cells[:15], errors[:15])
            >>> gp = SourcedGP(nasbench201()).fit(cells[:5], errors[:5], [short])
            >>> now, told = gp.foresee(cells[15:], "short")
            >>> left = gp.assume_predicted(cells[15:16], "short").predict(cells[15:16])[1]
            >>> bool(np.isclose(left**2, now[:1] ** 2 - told[:1] ** 2, atol=1e-6).all())
            True
        """
        place = self._find(source)
        _, variance, covariance, own = self._foresee(self.features.rows(graphs), place)
        told = covariance / np.sqrt(variance + self.noises_[place])
        deviation = np.sqrt(np.maximum(own, 0.0))
        return deviation, np.minimum(abs(told), deviation)

    def _take_plain(self) -> None:
        """Note what a process of one source has observed."""
        self._joint = self._observed
        self._places = np.zeros(len(self._observed[0]), dtype=np.intp)

    def _find(self, source: str) -> int:
        names = [known.name for known in self.sources_]
        if source not in names:
            raise SettingError(f"the source must be one of {', '.join(names)}, got {source!r}")
        return names.index(source)

    def _fit_joint(self, rows: Array, targets: Array, share: Array) -> None:
        """Fit all hyperparameters, then condition, with more jitter each time that fails."""
        part = spread_over_sources(targets, self._places)
        fixed = None if self.noise == "fit" else float(self.noise)
        for jitter in JITTERS:
            try:
                observed = rows[part], targets[part], share[part]
                plain = make_likelihood(self.kernel, *observed, jitter, 1.0, self.priors)
                joint = SourceLikelihood(plain, self._places[part], len(self.sources_), fixed)
                kernel, self.mixing_, self.noises_ = joint.maximize(self.restarts, self.seed)
                self.noise_, self.jitter_ = float(self.noises_[0]), jitter
                self.gpr_ = GaussianProcessRegressor(kernel, optimizer=None)
                self.gpr_.fit(rows[:1], targets[:1])  # the rest is told by the matrix below
                self._condition(rows, targets, self.noises_[self._places] * share + jitter)
            except np.linalg.LinAlgError:
                logger.info("the kernel matrix is singular with jitter %g; trying more", jitter)
                continue
            self.check_ = self._check_target()
            return
        raise refuse_singular()

    def _condition(self, rows: Array, targets: Array, noise: Array) -> None:
        """The posterior of the target, given all observations."""
        kernel, mixing, places = self.gpr_.kernel_, self.mixing_, self._places
        K = kernel(rows)
        colored = mixing.colour_noise(K, places, noise)
        told = mixing.believe(places, targets)
        self._joint = (rows, targets, noise)
        self._observed = (rows, told, colored)
        self.posterior_ = make_posterior(kernel, rows, colored, told)
        self.gpr_ = copy(self.gpr_)  # what it says of any row is what the posterior says
        self.gpr_.X_train_, self.gpr_.y_train_ = rows, told
        self.gpr_.L_ = np.linalg.cholesky(K + colored)
        self.gpr_.alpha_ = cho_solve((self.gpr_.L_, True), told)

    def _foresee(self, rows: Array, place: int) -> tuple[Array, Array, Array, Array]:
        """Mean and variance of a source at rows, covariance with the target, its variance."""
        return self.mixing_.foresee(self.gpr_.kernel_, *self._joint, self._places, rows, place)

    def _check_target(self) -> ModelCheck:
        """How well each observation of the target is predicted from all others, of any source."""
        return ModelCheck.of(*self._invert(self._places >= 0), at_bounds=[])

    def _invert(self, kept: np.ndarray) -> tuple[Array, Array, Array]:
        """The target's observations y, C⁻¹ y and the diagonal of C⁻¹, of those that are kept."""
        rows, targets, noise = (part[kept] for part in self._joint)
        places = self._places[kept]
        C = self.mixing_.matrix[np.ix_(places, places)] * self.gpr_.kernel_(rows) + np.diag(noise)
        inverse = np.linalg.inv(C)
        own = places == 0
        return targets[own], (inverse @ targets)[own], np.diag(inverse)[own]

    def _weigh_sources(self) -> list[SourceWorth]:
        counts = np.bincount(self._places, minlength=len(self.sources_)).tolist()
        names = [source.name for source in self.sources_]
        known = zip(names, counts, self.mixing_.correlations.tolist(), strict=True)
        worth = [SourceWorth(*row) for row in known]
        whole = log_density(*self._invert(self._places >= 0)) if len(worth) > 1 else 0.0
        for i in range(1, len(worth)):
            without = log_density(*self._invert(self._places != i))
            worth[i] = replace(worth[i], contribution=whole - without)
        return worth
