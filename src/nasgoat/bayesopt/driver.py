"""The driver: asks, hands out, collects and tells, until the budget is spent.

Batch-synchronous, a batch is told only when all of it has ended, in the order it was proposed, so
that nothing depends on which evaluation was fastest and a resumed search goes on as if it had never
stopped. Asynchronous, a freed worker gets the next graph at once, given what still runs.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field, replace
from typing import Any

from nasgoat.acquisition import Proposal
from nasgoat.bayesopt.executors import Pace, SerialExecutor, Workers, read_outcome
from nasgoat.bayesopt.gain import Convergence
from nasgoat.bayesopt.history import Evaluation, Ledger, Ticket
from nasgoat.bayesopt.plan import (
    Asker,
    Events,
    Iteration,
    Plan,
    describe_fit,
    find_objectives,
    tell,
)
from nasgoat.bayesopt.results import SearchResult, Stop
from nasgoat.evaluation import Evaluator, Failure, FailureKind, Outcome

logger = logging.getLogger(__name__)

_POLL = 0.2  # seconds between two looks at signals and workers


@dataclass
class Driver:
    """Runs one search from its ledger's state to the end of its plan.

    Args:
        asker: Proposes graphs; fresh, the driver tells it what the ledger holds.
        evaluator: Evaluates one graph; sent to the workers.
        plan: How much, in which portions.
        ledger: Keeps what happens.
        workers: Where evaluations run.
        events: Callbacks.
        asks_in: Where proposals are computed; a thread keeps the caller open to signals.
        stopping: Asked before each step; True ends the search once what runs is finished.
    """

    asker: Asker
    evaluator: Evaluator
    plan: Plan
    ledger: Ledger
    workers: Workers = field(default_factory=Workers.serial)
    events: Events = field(default_factory=Events)
    asks_in: Executor = field(default_factory=SerialExecutor)
    stopping: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        self._tickets: dict[int, Ticket] = {}
        self._waiting: deque[Ticket] = deque()
        self._running: dict[Future[Outcome], Ticket] = {}
        self._batch: list[int] = []  # synchronous: numbers of what is proposed, not yet told
        self._asking: Future[list[Proposal]] | None = None
        self._untold: list[Ticket] = []  # asynchronous: ended, the asker not yet free to hear it
        self._exhausted = False
        self._pace = Pace()
        self._failures = 0  # in a row, in this session
        self._stop: Stop | None = None
        self._converged: Convergence | None = None
        self._start = time.monotonic()
        self._earlier = 0.0  # seconds of earlier sessions

    def run(self) -> SearchResult:
        """Search until budget or space are used up, or something says stop."""
        self._restore()
        while True:
            if self._stop is None and self.stopping():
                self._stop = Stop.INTERRUPTED
            if self._stop is None:
                self._close_batch()
                self._refill()
                self._submit()
            # Proposals that are still computed are not waited for: a resumed search makes the same.
            if not self._running and (not self._asking or self._stop is not None):
                break
            self._collect()
        finished = [t for _, t in sorted(self._tickets.items()) if t.finished]
        stop, sought = self._stop or self._find_end(finished), find_objectives(self.asker)
        result = SearchResult.of(finished, self._elapsed, stop, sought, self._converged)
        return replace(result, known=tuple(getattr(self.asker, "known", ())))

    def _find_end(self, finished: list[Ticket]) -> Stop:
        """Why a search ended that nothing stopped; one in which nothing succeeded has failed."""
        if finished and all(ticket.failure for ticket in finished):
            return Stop.FAILING
        exhausted = self.plan.count_left(self._tickets.values()) > 0
        return Stop.EXHAUSTED if exhausted else Stop.FINISHED

    @property
    def _elapsed(self) -> float:
        return self._earlier + time.monotonic() - self._start

    def _restore(self) -> None:
        """Tell the asker what the ledger holds and queue what never ended."""
        past = self.ledger.tickets()
        self._tickets = {ticket.number: ticket for ticket in past}
        self._earlier = max((ticket.elapsed for ticket in past), default=0.0)
        left = [ticket for ticket in past if not ticket.finished]
        self.ledger.requeue(left)
        within = max(self.plan.count_left(past) + len(left), 0)
        self._waiting.extend(left[:within])
        last = max((ticket.iteration for ticket in past), default=-1)
        for ticket in past:
            if self.plan.asynchronous or ticket.iteration < last:
                tell(self.asker, ticket)
        if not self.plan.asynchronous:
            self._batch = [ticket.number for ticket in past if ticket.iteration == last]
            self._complete_batch(last)

    def _complete_batch(self, iteration: int) -> None:
        """A batch that was cut off while it was proposed gets the rest of its proposals."""
        size = self.plan.size_batch(iteration, self.asker, self._tickets.values())
        missing = size - len(self._batch)
        if iteration < 0 or missing <= 0:
            return
        batch = [self._tickets[number] for number in self._batch]
        known = {(ticket.graph, ticket.fidelity) for ticket in batch}
        proposals = self.asker.ask(size)
        fresh = [p for p in proposals if (p.graph, p.fidelity) not in known][:missing]
        self._propose(fresh, iteration)

    def _close_batch(self) -> None:
        """Synchronous: tell a batch once all of it has ended, in the order of its proposals."""
        batch = [self._tickets[number] for number in self._batch]
        if batch and all(ticket.finished for ticket in batch):
            self._batch = []
            for ticket in batch:
                tell(self.asker, ticket)
            self._report(batch)

    def _refill(self) -> None:
        """Start to compute proposals if some are needed and allowed."""
        if self._asking is not None:
            return
        for ticket in self._untold:
            tell(self.asker, ticket)
        self._untold = []
        if self._exhausted:
            return
        if self.plan.asynchronous:
            slots = self.workers.slots()
            count = slots + self._pace.count_ahead(slots) - len(self._running) - len(self._waiting)
            # Nothing can be learnt before something ended: the initial design comes first.
            if not any(ticket.finished for ticket in self._tickets.values()):
                count = min(count, (self.asker.initial or count) - len(self._tickets))
        elif self._batch or self._waiting:
            return
        else:
            count = self.plan.size_batch(
                self._number_next_iteration(), self.asker, self._tickets.values()
            )
        count = min(count, self.plan.count_left(self._tickets.values()))
        if count > 0:
            self._pace.begin("ask")
            self._asking = self.asks_in.submit(self.asker.ask, count)

    def _number_next_iteration(self) -> int:
        return max((ticket.iteration for ticket in self._tickets.values()), default=-1) + 1

    def _take_proposals(self) -> None:
        if self._asking is None or not self._asking.done():
            return
        proposals = self._asking.result()
        self._pace.end("ask", "ask")
        self._asking = None
        gain = getattr(self.asker, "gain", None)
        if converged := self.plan.find_convergence(self._tickets.values(), gain):
            self._converge(converged)
            return
        self._exhausted = not proposals
        self._propose(proposals, self._number_next_iteration())

    def _converge(self, converged: Convergence) -> None:
        """Stop, unless something else has; what decided it is kept, as no ticket will hold it."""
        if self._stop is not None:
            return
        self._stop, self._converged = Stop.CONVERGED, converged
        if keep := getattr(self.ledger, "converge", None):
            keep(converged)

    def _propose(self, proposals: list[Proposal], iteration: int) -> None:
        """Give each proposal a ticket, and write it to the ledger before anything is evaluated."""
        fitted, model = describe_fit(self.asker)
        gain = getattr(self.asker, "gain", None)
        fresh = [
            Ticket(number, iteration, proposal, fitted, model=model, gain=gain)
            for number, proposal in enumerate(proposals, start=len(self._tickets))
        ]
        self.ledger.propose(fresh)
        self._tickets |= {ticket.number: ticket for ticket in fresh}
        self._waiting.extend(fresh)
        if not self.plan.asynchronous:
            self._batch += [ticket.number for ticket in fresh]
        if self.events.proposed:
            for ticket in fresh:
                self.events.proposed(ticket)

    def _submit(self) -> None:
        submit = self.workers.executor.submit
        while self._waiting and len(self._running) < self.workers.slots():
            ticket = self._waiting.popleft()
            self._pace.begin(ticket.number)
            future = submit(self.evaluator, ticket.graph, ticket.number, *ticket.at)
            self._running[future] = ticket
            if future.done():  # a serial executor: its outcome is kept before the next one starts
                return

    def _collect(self) -> None:
        """Wait a moment; keep every outcome that came and take finished proposals."""
        waited: set[Future[Any]] = {*self._running, *filter(None, [self._asking])}
        wait(waited, timeout=_POLL, return_when=FIRST_COMPLETED)
        self._take_proposals()
        done = [future for future in self._running if future.done()]
        for future in sorted(done, key=lambda future: self._running[future].number):
            ticket = self._running.pop(future)
            self._pace.end(ticket.number, "evaluation")
            self._finish(ticket, read_outcome(future))
        if not done:
            self.workers.check()

    def _finish(self, ticket: Ticket, outcome: Outcome) -> None:
        """Keep an outcome, then report it."""
        if outcome.failure is not None and outcome.failure.kind is FailureKind.CANCELLED:
            return
        if complete := getattr(self.asker, "complete", None):
            outcome = complete(ticket.graph, outcome)
        ticket = replace(ticket, outcome=outcome, elapsed=self._elapsed)
        self.ledger.finish(ticket)
        first = not any(other.finished for other in self._tickets.values())
        self._tickets[ticket.number] = ticket
        if self.plan.asynchronous:
            self._untold.append(ticket)
        if outcome.failure is None:
            self._failures = 0
            logger.info("evaluation %d ended: %s", ticket.number, outcome.metrics)
            if self.events.evaluation:
                self.events.evaluation(Evaluation.of(ticket))
        else:
            self._failures += 1
            logger.info("evaluation %d failed: %s", ticket.number, outcome.failure.reason)
            if self.events.failure:
                self.events.failure(ticket)
            if self._is_failing(first, outcome.failure):
                self._stop = Stop.FAILING
        if self.plan.asynchronous:
            self._report([ticket])

    def _is_failing(self, first: bool, failure: Failure) -> bool:
        """Whether the objective itself is probably wrong, and not the graphs that it was given."""
        learnt = find_objectives(self.asker).learn_failures
        most = self.plan.count_tolerated(self.asker.initial or 0, learnt)
        wrong_at_once = first and not learnt and not failure.diverged
        return wrong_at_once or self._failures >= most

    def _report(self, batch: list[Ticket]) -> None:
        tickets = self._tickets.values()
        iteration = Iteration.of(batch, tickets, self._elapsed, find_objectives(self.asker))
        if iteration is not None and self.events.iteration is not None:
            self.events.iteration(iteration)
