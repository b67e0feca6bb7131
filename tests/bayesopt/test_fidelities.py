"""Searches over trainings of several lengths."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from nasgoat import EdgeLabeledSpace, LabeledGraph, nasbench201, search
from nasgoat.acquisition import LowerConfidenceBound, Status
from nasgoat.bayesopt import FidelityOptimizer, MemoryLedger, Settings, Stop, Ticket
from nasgoat.bayesopt.driver import Driver
from nasgoat.bayesopt.fidelities import expect_improvement, value_cheap_evaluation
from nasgoat.bayesopt.plan import Plan
from nasgoat.bayesopt.transfer import declare_sources
from nasgoat.benchmarks import NasBench201
from nasgoat.benchmarks.table_files import find_data_folder
from nasgoat.errors import ObjectiveError, SettingError
from nasgoat.evaluation import FailureKind, Fidelities, Inline, Isolated, Outcome
from nasgoat.integrations import StorageAddress, StudyLedger
from nasgoat.integrations.stored_search import read_run, read_status
from nasgoat.surrogate import SourcedGP

SPACE = nasbench201()
EPOCHS = "epochs=12,200"
DEAR = "epochs=12:1,200:3"  # fewer evaluations in a budget


def train(cell: LabeledGraph, epochs: float) -> float:
    """An error that depends on the labels; a short training ranks a little differently."""
    digits = SPACE.digits(cell)
    error = 10.0 + float(digits @ [3.0, 1.0, -2.0, 0.5, 1.0, 2.0])
    return error if epochs == 200 else 3 * error + 40 + float(digits[2] % 2)


def value_of(thing: Any) -> float:
    """The value of the fidelity of a proposal or an evaluation."""
    proposal = getattr(thing, "proposal", thing)
    assert proposal.fidelity is not None
    return float(proposal.fidelity.value)


def list_steps(result: Any) -> list[tuple[str, float]]:
    both = sorted([*result.evaluations, *result.partial], key=lambda e: e.number)
    return [(e.graph.to_json(), value_of(e)) for e in both]


class TestFidelities:
    def test_costs_are_in_proportion_unless_given(self) -> None:
        assert [f.cost for f in Fidelities.parse("epochs=12,50,200")] == [0.06, 0.25, 1.0]
        assert [f.cost for f in Fidelities.of({"epochs": {12: 2, 200: 8}})] == [0.25, 1.0]

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ("epochs=12", "at least two fidelities, got 1"),
            ("epochs=0,12", "value of a fidelity must be positive, got 0"),
            ("epochs=12:-1,200:3", "cost of a fidelity must be positive, got -1"),
            ("epochs=12:0,200:3", "cost of a fidelity must be positive, got 0"),
            ("epochs=200,12", "values of fidelities must increase, got 200, 12"),
            ("epochs=12:5,200:3", "costs of fidelities must increase, got 5, 3"),
            ("epochs=12,12", "values of fidelities must increase, got 12, 12"),
            ("epochs=a,b", "NAME=VALUE,VALUE"),
            ("epochs=12:1,200", "NAME=VALUE:COST"),
            ("12,200", "NAME=VALUE,VALUE"),
            ("epochs=nan,3", "value of a fidelity must be positive, got nan"),
            ({"epochs": ["12", 200]}, "value of a fidelity must be a number, got '12'"),
            ({"epochs": [1, 2], "width": [1, 2]}, "one name with its values"),
        ],
    )
    def test_wrong_ones_are_refused_in_one_line(self, given: Any, said: str) -> None:
        with pytest.raises(SettingError, match=said) as caught:
            Fidelities.of(given)
        assert "\n" not in str(caught.value)

    def test_an_unknown_value_is_refused(self) -> None:
        optimizer = FidelityOptimizer(SPACE, EPOCHS)
        with pytest.raises(SettingError, match="epochs must be one of 12, 200, got 13"):
            optimizer.tell(SPACE.sample(1, np.random.default_rng(0))[0], 5.0, 13)

    def test_a_budget_without_room_for_a_full_evaluation_is_refused(self) -> None:
        with pytest.raises(SettingError, match=r"at least 1\.06 full evaluations.*got 1$"):
            FidelityOptimizer(SPACE, EPOCHS, budget=1)


class TestRepeats:
    def run(self, repeats: int, seed: int = 0) -> FidelityOptimizer:
        """A search under noise that spends 20 full trainings."""
        rng = np.random.default_rng(seed)
        asker = FidelityOptimizer(
            SPACE, EPOCHS, 20, settings=Settings(kernel="linear", repeats=repeats), progress=None
        )
        while proposals := asker.ask(5):
            for proposal in proposals:
                error = train(proposal.graph, value_of(proposal)) + rng.normal(0, 2)
                asker.tell(proposal.graph, error, proposal.fidelity)
        return asker

    def test_some_full_trainings_are_made_again_and_short_ones_never(self) -> None:
        asker = self.run(repeats=3)
        full, short = ([*Counter(map(SPACE.key, s.graphs)).values()] for s in asker.sources)
        assert max(short) == 1
        assert 1 < max(full) <= 3
        assert sum(full) - len(full) <= sum(full) / 5  # one in five at most
        assert asker.spent <= 20

    def test_without_repeats_every_training_is_another(self) -> None:
        for source in self.run(repeats=1).sources:
            assert len({SPACE.key(graph) for graph in source.graphs}) == len(source.graphs)


class TestKernel:
    def test_several_are_fitted_unless_one_is_chosen(self) -> None:
        assert len(FidelityOptimizer(SPACE, EPOCHS).candidates) > 1
        chosen = FidelityOptimizer(SPACE, EPOCHS, settings=Settings(kernel="linear"))
        assert [candidate.form for candidate in chosen.candidates] == ["linear"]

    def test_one_is_taken_where_graphs_can_not_be_scored_one_by_one(self) -> None:
        branch = FidelityOptimizer(SPACE, EPOCHS, optimizer="branch")
        assert [candidate.form for candidate in branch.candidates] == ["exponential"]

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [1012, 1013])
    def test_the_best_cell_is_found_where_the_kernel_of_the_paper_ruled_it_out(
        self, seed: int
    ) -> None:
        """With that kernel alone neither search saw it within 100 full trainings."""
        if not (find_data_folder() / "nb201.csv.xz").exists():
            pytest.skip("trainings of 12 epochs are not in the data folder")
        tables = {epochs: NasBench201("cifar10", epochs=epochs) for epochs in (12, 200)}

        def query(cell: LabeledGraph, epochs: float) -> float:
            return tables[int(epochs)].mean_error(cell)

        result = search(query, SPACE, 40, seed=seed, fidelities=EPOCHS, progress=None)
        assert result.best.error == pytest.approx(tables[200].optimum)


class TestValue:
    @pytest.mark.parametrize(("mean", "std", "told"), [(0.0, 1.0, 0.8), (1.0, 0.5, 0.2)])
    @pytest.mark.parametrize("price", [0.0, 0.1])
    def test_it_is_the_integral_that_the_rule_says(
        self, mean: float, std: float, told: float, price: float
    ) -> None:
        left = np.array([np.sqrt(std**2 - told**2)])

        def inner(z: float) -> float:
            after = expect_improvement(np.array([mean + told * z]), left, 0.2)
            return max(float(after[0]) - price, 0.0) * float(norm.pdf(z))

        expected = quad(inner, -8, 8, limit=200)[0]
        # The quadrature has a kink where the price is met.
        assert value_cheap_evaluation(mean, std, told, 0.2, price) == pytest.approx(
            expected, abs=4e-3
        )

    def test_expected_improvement_is_the_mean_of_improvements(self) -> None:
        draws = np.random.default_rng(0).normal(0.3, 0.7, 400_000)
        expected = np.maximum(0.1 - draws, 0).mean()
        found = expect_improvement(np.array([0.3]), np.array([0.7]), 0.1)[0]
        assert found == pytest.approx(expected, abs=2e-3)  # four standard errors


class TestOptimizer:
    def test_the_result_is_a_graph_with_a_full_training(self) -> None:
        result = search(train, SPACE, 8, fidelities=EPOCHS, progress=None)
        assert {value_of(e) for e in result.evaluations} == {200}
        assert {value_of(e) for e in result.partial} == {12}
        assert result.best.error == train(result.best.graph, 200)
        assert len(result.partial) > len(result.evaluations)
        assert result.stop is Stop.FINISHED

    def test_the_budget_is_kept_and_used_up(self) -> None:
        result = search(train, SPACE, 6, fidelities=EPOCHS, progress=None)
        spent = len(result.evaluations) + 0.06 * len(result.partial)
        assert 5 < spent <= 6 + 1e-9

    @pytest.mark.parametrize("budget", [2, 3])
    def test_even_a_small_budget_ends_with_a_full_training(self, budget: int) -> None:
        result = search(
            train, SPACE, budget, initial=40, fidelities={"epochs": [50, 200]}, progress=None
        )
        assert result.evaluations
        assert len(result.evaluations) + 0.25 * len(result.partial) <= budget

    def test_every_full_training_was_a_short_one_before_and_none_comes_twice(self) -> None:
        result = search(train, SPACE, 8, fidelities=EPOCHS, progress=None)
        steps = list_steps(result)
        assert len(set(steps)) == len(steps)
        full = [place for place, (_, epochs) in enumerate(steps) if epochs == 200]
        assert full
        for place in full:
            graph, _ = steps[place]
            assert (graph, 12) in steps[:place]

    def test_promotions_are_the_exact_minimum_over_what_was_seen(self) -> None:
        optimizer = FidelityOptimizer(SPACE, DEAR, optimizer="catalogue", seed=1)
        for _ in range(4):
            for p in optimizer.ask(5):
                assert p.fidelity is not None
                optimizer.tell(p.graph, train(p.graph, value_of(p)), p.fidelity)
        promoted = []
        for _ in range(8):
            seen = list(optimizer._list_promotable())
            place = optimizer._count_proposed()
            (proposal,) = optimizer.ask(1)
            assert proposal.certificate.status is Status.OPTIMAL
            assert proposal.certificate.value == proposal.certificate.bound
            assert proposal.fidelity is not None
            if proposal.fidelity.full:
                betas = Settings().sqrt_betas
                surrogate = optimizer.surrogate
                lcb = LowerConfidenceBound(betas[place % 5], surrogate)
                values = lcb.score([optimizer._seen[key] for key in seen])
                assert proposal.lcb == pytest.approx(values.min())
                promoted.append(proposal)
            error = train(proposal.graph, proposal.fidelity.value)
            optimizer.tell(proposal.graph, error, proposal.fidelity)
        assert promoted

    def test_three_graphs_of_each_fidelity_come_before_the_price(self) -> None:
        optimizer = FidelityOptimizer(SPACE, "epochs=12,50,200", initial=5, progress=None)
        values = []
        for k in (5, 3, 3):
            for p in optimizer.ask(k):
                optimizer.tell(p.graph, train(p.graph, 200) + 100 / value_of(p), p.fidelity)
                values.append(value_of(p))
        assert values == [12] * 5 + [50] * 3 + [200] * 3

    def test_all_fidelities_are_used_and_learnt_from(self) -> None:
        def three(cell: LabeledGraph, epochs: float) -> float:
            return train(cell, 200) + 100 / epochs

        result = search(three, SPACE, 12, fidelities="epochs=12,50,200", progress=None)
        assert {value_of(e) for e in result.partial} == {12, 50}
        assert {"correlation epochs 12", "correlation epochs 50"} <= {*result.hyperparameters[-1]}

    def test_short_trainings_help(self) -> None:
        alone = search(lambda cell: train(cell, 200), SPACE, 10, progress=None)
        helped = search(train, SPACE, 10, fidelities=EPOCHS, progress=None)
        assert helped.best.error < alone.best.error

    def test_a_space_may_be_used_up(self) -> None:
        space = EdgeLabeledSpace(nodes=3, ops=["conv", "skip"])
        result = search(
            lambda cell, epochs: len(cell.edges) + 1 / epochs, space, 40, fidelities=EPOCHS
        )
        assert (len(result.evaluations), len(result.partial)) == (12, 12)
        assert result.stop is Stop.EXHAUSTED

    def test_pending_evaluations_are_believed(self) -> None:
        optimizer = FidelityOptimizer(SPACE, EPOCHS, seed=2)
        for _ in range(3):
            for p in optimizer.ask(5):
                optimizer.tell(p.graph, train(p.graph, value_of(p)), p.fidelity)
        first = optimizer.ask(3)
        second = optimizer.ask(3)
        assert isinstance(optimizer.surrogate, SourcedGP)
        assert not {SPACE.key(p.graph) for p in first} & {SPACE.key(p.graph) for p in second}
        spent = sum(1 if value_of(p) == 200 else 0.06 for p in (*first, *second))
        told = sum(len(s.graphs) * (1 if "200" in s.name else 0.06) for s in optimizer.sources)
        assert optimizer.spent == pytest.approx(spent + told)


class TestFaults:
    def test_a_graph_that_fails_is_left_alone_and_its_cost_is_spent(self) -> None:
        calls = itertools.count()

        def fragile(cell: LabeledGraph, epochs: float) -> float:
            number = next(calls)
            if number in (3, 11):
                raise RuntimeError("out of luck")
            return float("nan") if number == 14 else train(cell, epochs)

        result = search(fragile, SPACE, 8, fidelities=EPOCHS, progress=None)
        assert [f.failure.kind for f in result.failures if f.failure] == [
            "exception",
            "exception",
            "value",
        ]
        for ticket in result.failures:
            later = [e for e in (*result.evaluations, *result.partial) if e.number > ticket.number]
            assert ticket.graph not in {e.graph for e in later}
        spent = sum(t.cost for t in result.failures)
        spent += len(result.evaluations) + 0.06 * len(result.partial)
        assert spent <= 8 + 1e-9

    def test_failures_of_short_trainings_are_no_promotions(self) -> None:
        optimizer = FidelityOptimizer(SPACE, EPOCHS, initial=8, seed=0, progress=None)
        *rest, one, two, three = optimizer.ask(8)
        for p in (one, two, three):
            optimizer.tell_failed(p.graph, p.fidelity)
        for p in rest:
            optimizer.tell(p.graph, train(p.graph, 12), p.fidelity)
        promoted = []
        for _ in range(3):
            (proposal,) = optimizer.ask(1)
            assert value_of(proposal) == 200
            optimizer.tell_failed(proposal.graph, proposal.fidelity)
            promoted.append(SPACE.key(proposal.graph))
        assert len(set(promoted)) == 3
        assert set(promoted) < {SPACE.key(p.graph) for p in rest}
        (proposal,) = optimizer.ask(1)  # enough of that: the price decides
        assert value_of(proposal) == 12

    def test_an_objective_that_takes_no_fidelity_is_refused(self) -> None:
        with pytest.raises(ObjectiveError, match="positional argument"):
            search(lambda cell: 1.0, SPACE, 8, fidelities=EPOCHS, progress=None)

    def test_a_time_out_at_a_fidelity_is_a_failure(self) -> None:
        cell = SPACE.sample(1, np.random.default_rng(0))[0]
        slow = Isolated(command=("sleep", "30"), timeout=0.3, retries=0)
        outcome = slow(cell, 0, Fidelities.parse(EPOCHS)[0])
        assert outcome.failure is not None
        assert outcome.failure.kind is FailureKind.TIMEOUT


class TestCheckpoints:
    def test_a_graph_finds_what_it_kept(self, tmp_path: Path) -> None:
        found = []

        def resume(cell: LabeledGraph, epochs: float, checkpoint: Path) -> float:
            state = checkpoint / "epochs.txt"
            found.append((epochs, state.read_text() if state.exists() else None))
            state.write_text(f"{epochs}")
            return train(cell, epochs)

        search(resume, SPACE, 5, fidelities=EPOCHS, checkpoints=tmp_path / "kept", progress=None)
        assert {state for epochs, state in found if epochs == 12} == {None}
        assert {state for epochs, state in found if epochs == 200} == {"12"}
        assert len(list((tmp_path / "kept").iterdir())) == sum(epochs == 12 for epochs, _ in found)

    def test_they_come_with_fidelities(self) -> None:
        with pytest.raises(SettingError, match="checkpoints must come with fidelities"):
            search(train, SPACE, 5, checkpoints="here", progress=None)


class TestResume:
    def run(self, path: Path, dies_at: int | None, seed: int = 0) -> Any:
        calls = itertools.count()

        def evaluate(graph: LabeledGraph, number: int, fidelity: Any = None) -> Outcome:
            if next(calls) == dies_at:
                raise KeyboardInterrupt
            return Outcome.of(train(graph, fidelity.value))

        asker = FidelityOptimizer(SPACE, DEAR, 9, initial=5, seed=seed, progress=None)
        plan = Plan(9, 5, fidelities=asker.fidelities)
        declaration = {"seed": seed, **declare_sources(asker.fidelities, ())}
        with StudyLedger(StorageAddress.of(path), "run", SPACE, declaration) as ledger:
            return Driver(asker, evaluate, plan, ledger).run()

    def test_a_search_killed_in_the_middle_of_a_promotion_goes_on_as_if_it_had_not_been(
        self, tmp_path: Path
    ) -> None:
        whole = self.run(tmp_path / "whole.db", None)
        steps = list_steps(whole)
        at = next(i for i, (_, epochs) in enumerate(steps) if epochs == 200 and i > 8)
        with pytest.raises(KeyboardInterrupt):
            self.run(tmp_path / "cut.db", at)
        resumed = self.run(tmp_path / "cut.db", None)
        assert list_steps(resumed) == steps
        assert resumed.best.graph == whole.best.graph

    def test_a_batch_that_was_cut_off_while_it_was_proposed_is_completed(self) -> None:
        class Cut(MemoryLedger):
            """Dies after the third ticket of the third batch."""

            dead = False

            def propose(self, tickets: Any) -> None:
                if tickets and tickets[0].iteration == 3 and not self.dead:
                    self.dead = True
                    super().propose(tickets[:3])
                    raise KeyboardInterrupt
                super().propose(tickets)

        def drive(ledger: MemoryLedger) -> Any:
            asker = FidelityOptimizer(SPACE, DEAR, 12, progress=None)
            plan = Plan(12, 5, fidelities=asker.fidelities)
            return Driver(asker, Inline(train), plan, ledger).run()

        whole, ledger = drive(MemoryLedger()), Cut()
        with pytest.raises(KeyboardInterrupt):
            drive(ledger)
        assert list_steps(drive(ledger)) == list_steps(whole)

    def test_a_stored_search_counts_its_cost_and_is_learnt_from(self, tmp_path: Path) -> None:
        result = self.run(tmp_path / "a.db", None)
        status = read_status(StorageAddress.of(tmp_path / "a.db"), "run")
        assert status.complete == len(result.evaluations) + len(result.partial)
        assert status.best is not None
        assert status.best["error"] == result.best.error
        observed = read_run(tmp_path / "a.db")
        assert [told["error"] for _, told in observed] == [e.error for e in result.evaluations]

    def test_other_fidelities_are_another_search(self, tmp_path: Path) -> None:
        plain, other = (Fidelities.parse(text) for text in (EPOCHS, DEAR))
        assert declare_sources(plain, ()) != declare_sources(other, ())
        ticket = Ticket(0, 0, FidelityOptimizer(SPACE, EPOCHS).ask(1)[0])
        assert (ticket.cost, ticket.full) == (0.06, False)
