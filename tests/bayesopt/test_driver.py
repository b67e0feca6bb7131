"""The driver: resume, order, failures, workers, asynchronous proposals."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from nasgoat import LabeledGraph, Optimizer, nasbench201, search
from nasgoat.acquisition import Acquisition, Certificate, Pool, Status
from nasgoat.bayesopt import (
    Driver,
    MemoryLedger,
    Objectives,
    Plan,
    SearchResult,
    Stop,
    Ticket,
    Workers,
)
from nasgoat.errors import ObjectiveError, SolverLostError, SurrogateError, WorkersLostError
from nasgoat.evaluation import Inline
from nasgoat.spaces import NodeLabeledSpace

SPACE = NodeLabeledSpace((2, 5), ["a", "b"], max_edges=6)


def error(graph: LabeledGraph) -> float:
    return 3.0 + len(graph.edges) + 0.5 * (graph.node_labels or ()).count("a")


def driver(ledger: MemoryLedger, evaluations: int = 24, **changes: object) -> Driver:
    asker = Optimizer(SPACE, initial=6)
    plan = Plan(evaluations, 4, bool(changes.pop("asynchronous", False)))
    return Driver(asker, Inline(error), plan, ledger, **changes)  # type: ignore[arg-type]


class DyingLedger(MemoryLedger):
    """Raises at the n-th write, like a driver that is killed there."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def propose(self, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            self._count()
            super().propose([ticket])

    def finish(self, ticket: Ticket) -> None:
        self._count()
        super().finish(ticket)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("writes", [0, 3, 6, 9, 13, 15, 17, 30, 47])
def test_a_search_that_died_anywhere_resumes_with_the_same_proposals(writes: int) -> None:
    whole = driver(MemoryLedger()).run()
    ledger = DyingLedger(writes)
    with pytest.raises(KeyboardInterrupt):
        driver(ledger).run()
    ledger.left = 10**6
    resumed = driver(ledger).run()
    assert [e.graph for e in resumed.evaluations] == [e.graph for e in whole.evaluations]
    assert len(ledger.tickets()) == 24


def test_a_larger_budget_goes_on_where_the_smaller_ended() -> None:
    whole = driver(MemoryLedger(), 24).run()
    ledger = MemoryLedger()
    driver(ledger, 9).run()
    extended = driver(ledger, 24).run()
    assert [e.graph for e in extended.evaluations] == [e.graph for e in whole.evaluations]


def test_workers_change_nothing_but_the_time() -> None:
    whole = driver(MemoryLedger()).run()
    parallel = driver(MemoryLedger(), workers=Workers.local(4)).run()
    assert [e.graph for e in parallel.evaluations] == [e.graph for e in whole.evaluations]


def test_asynchronous_evaluations_are_distinct_and_exactly_as_many_as_asked() -> None:
    result = driver(MemoryLedger(), asynchronous=True, workers=Workers.local(3)).run()
    assert len({SPACE.key(e.graph) for e in result.evaluations}) == 24
    assert result.stop is Stop.FINISHED


def test_an_asynchronous_search_resumes_with_its_exact_budget() -> None:
    ledger = DyingLedger(20)
    with pytest.raises(KeyboardInterrupt):
        driver(ledger, asynchronous=True, workers=Workers.local(2)).run()
    ledger.left = 10**6
    result = driver(ledger, asynchronous=True, workers=Workers.local(2)).run()
    assert len({SPACE.key(e.graph) for e in result.evaluations}) == 24


def test_the_first_failure_stops_and_later_ones_only_three_in_a_row() -> None:
    def at(bad: set[int]) -> tuple[Stop, int, int]:
        calls = iter(range(100))

        def objective(graph: LabeledGraph) -> float:
            if next(calls) in bad:
                raise RuntimeError("no")
            return error(graph)

        asker = Optimizer(SPACE, initial=6)
        made = Driver(asker, Inline(objective), Plan(20, 4), MemoryLedger()).run()
        return made.stop, len(made.evaluations), len(made.failures)

    assert at({0}) == (Stop.FAILING, 0, 1)
    assert at({1, 2, 5, 9}) == (Stop.FINISHED, 16, 4)
    assert at({8, 9, 10}) == (Stop.FAILING, 8, 3)


def fail_while(bad: set[int], evaluations: int = 40) -> SearchResult:
    """A search that learns from failures: those of the evaluations with these numbers."""
    calls = iter(range(100))

    def objective(graph: LabeledGraph) -> float:
        if next(calls) in bad:
            raise RuntimeError("no")
        return error(graph)

    asker = Optimizer(SPACE, initial=6, minimise=Objectives(learn_failures=True))
    return Driver(asker, Inline(objective), Plan(evaluations, 4), MemoryLedger()).run()


def test_a_search_that_learns_failures_goes_on_after_some_of_them() -> None:
    result = fail_while({0, 7, 8, 9, 10, 11, 12})
    assert (result.stop, len(result.failures)) == (Stop.FINISHED, 7)


def test_a_search_that_learns_failures_stops_when_its_initial_design_and_two_batches_fail() -> None:
    result = fail_while({*range(8, 100)})
    assert (result.stop, len(result.failures)) == (Stop.FAILING, 6 + 2 * 4)


def test_a_budget_without_a_single_success_has_failed() -> None:
    result = fail_while({*range(100)}, evaluations=8)
    assert (result.stop, len(result.failures)) == (Stop.FAILING, 8)


def test_a_first_training_that_diverges_does_not_end_a_search() -> None:
    values = iter([float("nan")])
    result = search(lambda graph: next(values, error(graph)), SPACE, evaluations=8, initial=6)
    assert (len(result.evaluations), len(result.failures)) == (7, 1)
    with pytest.raises(ObjectiveError, match=r"again and again \(3 times\), got the error must be"):
        search(lambda graph: float("inf"), SPACE, evaluations=8, initial=6)


def test_search_raises_with_the_objectives_traceback() -> None:
    def objective(graph: LabeledGraph) -> float:
        raise RuntimeError("a telling message")

    with pytest.raises(ObjectiveError) as raised:
        search(objective, SPACE, evaluations=5)
    said = (
        "the objective must not fail in the first evaluation, got RuntimeError: a telling message"
    )
    assert str(raised.value) == said
    assert "in objective" in raised.value.__notes__[0]


def test_an_exhausted_space_ends_the_search() -> None:
    small = NodeLabeledSpace((2, 3), ["a", "b"])
    result = search(lambda g: float(g.n), small, evaluations=50, initial=3)
    assert result.stop is Stop.EXHAUSTED
    assert len(result.evaluations) == small.count()


def test_any_executor_will_do() -> None:
    with ThreadPoolExecutor(2) as executor:
        result = search(error, SPACE, evaluations=12, initial=6, executor=executor)
    assert len(result.evaluations) == 12


def test_a_cancelled_future_means_that_the_workers_are_lost() -> None:
    class Losing(ThreadPoolExecutor):
        def submit(self, *args: object, **kwargs: object) -> Future[object]:  # type: ignore[override]
            future: Future[object] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(WorkersLostError):
        driver(MemoryLedger(), workers=Workers.on(Losing(1))).run()


def test_running_graphs_are_accounted_for() -> None:
    space = nasbench201()
    asker = Optimizer(space, initial=5)
    for proposal in asker.ask(5):
        asker.tell(proposal.graph, 10.0 + len(proposal.graph.edges))
    first = asker.ask(1)[0]
    fitted = asker.surrogate
    assert fitted is not None
    _, before = fitted.predict([first.graph])
    _, after = fitted.assume_predicted([first.graph]).predict([first.graph])
    assert after[0] < before[0]
    assert asker.ask(1)[0].graph != first.graph


@pytest.mark.parametrize("how", ["nothing", "crash", "memory", "disagreement"])
def test_a_solver_that_ends_with_nothing_is_replaced_by_a_heuristic(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Weak:
        name = "weak"

        def optimize(self, acquisition: Acquisition, k: int = 1, exclude: object = ()) -> Pool:
            if how == "crash":
                raise SolverLostError("the solver died")
            if how == "memory":
                raise MemoryError
            if how == "disagreement":
                raise SurrogateError("the search and the surrogate must agree")
            return Pool((), Certificate(Status.FEASIBLE))

    space = nasbench201()
    result = search(
        lambda g: float(len(g.edges)), space, evaluations=9, initial=6, optimizer=Weak()
    )
    statuses = {str(e.proposal.certificate.status) for e in result.evaluations[6:]}
    assert statuses == {"heuristic"}
    assert result.certified == 0.0
    reasons = {"crash": "died", "memory": "MemoryError", "disagreement": "must agree"}
    assert reasons.get(how, "found nothing") in caplog.text


def test_the_curve_has_the_lowest_error_so_far() -> None:
    result = driver(MemoryLedger()).run()
    errors = [e.error for e in result.evaluations]
    assert result.curve() == [min(errors[: i + 1]) for i in range(24)]
