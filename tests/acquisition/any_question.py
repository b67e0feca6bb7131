"""One question to an optimiser on any declared space, in a process of its own with limits.

``python -m tests.acquisition.any_question`` reads a JSON document (the space as TOML, the
optimiser, seconds, megabytes, k) and prints another: seconds of the processor and by the clock,
memory at its peak, and what came back. The test beside it draws the questions.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nasgoat.acquisition import Effort, choose, make_optimizer, random_problem
from nasgoat.errors import NasgoatError
from nasgoat.spaces import load_space


def _measure() -> tuple[float, float]:
    """Seconds of the processor and by the clock, of this process and of its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used), time.perf_counter()


def ask(question: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question, with what it took."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "space.toml"
        file.write_text(question["space"])
        space = load_space(str(file))
    kernel, k = question["kernel"], question["k"]
    problem = random_problem(space, 8, kernel)
    effort = Effort(time_limit=question["seconds"], memory=question["megabytes"], threads=1)
    before, start = _measure()
    choice = choose(space, kernel, name=question["optimizer"], time_limit=effort.time_limit)
    optimizer = make_optimizer(choice, space, effort=effort)
    pool = optimizer.optimize(problem.acquisition, k, problem.observed)
    after, end = _measure()
    values = [proposal.lcb for proposal in pool]
    outside = sum(proposal.graph not in space for proposal in pool)
    return {
        "optimizer": optimizer.name,
        "status": str(pool.certificate.status),
        "proposals": len(pool),
        "others": len(space.sample(k, _generator(), set(problem.observed))),
        "distinct": len({space.key(p.graph) for p in pool} - problem.observed),
        "outside": outside,
        "values": values,
        "bound": pool.certificate.bound,
        "processor": after - before,
        "clock": end - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _generator() -> Any:
    import numpy as np

    return np.random.default_rng(0)


def main() -> None:
    """Answer the question on standard input."""
    question = json.load(sys.stdin)
    most = int(question["address_space"]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        answer = ask(question)
    except NasgoatError as refusal:
        answer = {"refusal": f"{type(refusal).__name__}: {refusal}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
