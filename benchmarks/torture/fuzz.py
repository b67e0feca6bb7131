"""Figure 2: damaged studies, wild objective values, wild error vectors.

Space files and limit expressions are fuzzed with the space format, where that lives.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from nasgoat import Optimizer
from nasgoat.cli import app
from nasgoat.errors import NasgoatError
from nasgoat.evaluation import Outcome
from nasgoat.spaces import NodeLabeledSpace

HANG = 5.0  # seconds


def bit_flips(count: int, seed: int = 0) -> tuple[bool, str]:
    """Flip one bit of a study file, then ask for its status and resume it."""
    rng = random.Random(seed)  # noqa: S311 no secret
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "sound"
        call = ["search", "--quiet", "--no-pictures", "--initial", "4", "--evaluations"]
        _quietly([*call, "8", "--report", str(sound)])
        content = (sound / "study.db").read_bytes()
        codes: Counter[int] = Counter()
        tracebacks = hangs = 0
        for i in range(count):
            run = Path(folder) / f"run{i}"
            run.mkdir()
            flipped = bytearray(content)
            place = rng.randrange(len(flipped))
            flipped[place] ^= 1 << rng.randrange(8)
            (run / "study.db").write_bytes(flipped)
            start = time.monotonic()
            for command in (["status", str(run)], [*call, "9", "--report", str(run)]):
                try:
                    codes[_quietly(command)] += 1
                except Exception:
                    tracebacks += 1
            hangs += time.monotonic() - start > 2 * HANG
            shutil.rmtree(run, ignore_errors=True)
    wrong = sum(n for code, n in codes.items() if code not in (0, 1, 2))
    shown = ", ".join(f"{n} x exit {code}" for code, n in sorted(codes.items()))
    text = f"{count} bit-flipped studies: {tracebacks} tracebacks, {hangs} hangs, {shown}"
    return not (tracebacks or hangs or wrong), text


def tell_values(count: int, seed: int = 0) -> tuple[bool, str]:
    """Whatever an objective returns becomes finite metrics or a failure that names it."""
    rng = random.Random(seed)  # noqa: S311 no secret
    bad = 0
    for _ in range(count):
        value = _wild(rng)
        outcome = Outcome.of(value)
        if outcome.metrics is not None:
            bad += not math.isfinite(outcome.metrics["error"])
        else:
            bad += outcome.failure is None or "got" not in outcome.failure.reason
    return bad == 0, f"{count} objective values: {bad} wrong"


def error_vectors(count: int, seed: int = 0) -> tuple[bool, str]:
    """Whatever finite errors were told, the next proposal is defined."""
    rng = random.Random(seed)  # noqa: S311 no secret
    space = NodeLabeledSpace((2, 4), ["a", "b"])
    bad = warned = 0
    for i in range(count):
        optimizer = Optimizer(space, initial=6, seed=i % 20)
        kind = rng.choice(["constant", "huge", "tiny", "mixed", "equal but one", "denormal"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                for proposal in optimizer.ask(rng.randint(1, 6)):
                    optimizer.tell(proposal.graph, _error(kind, rng))
                bad += len(optimizer.ask(1)) != 1
            except NasgoatError:
                bad += 1
        warned += len(caught) > 1
    return not (bad or warned), f"{count} error vectors: {bad} without proposal, {warned} noisy"


def _error(kind: str, rng: random.Random) -> float:
    errors: dict[str, float] = {
        "constant": 1.0,
        "huge": 10.0 ** rng.uniform(50, 99),
        "tiny": 10.0 ** -rng.uniform(50, 99),
        "mixed": rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, 9),
        "equal but one": rng.choice([0.0, 0.0, 0.0, 1e-12]),
        "denormal": 5e-324 * rng.randint(0, 9),
    }
    return errors[kind]


def _wild(rng: random.Random) -> Any:
    simple: list[Any] = [
        math.nan, math.inf, -math.inf, None, True, "", "0.1", b"x", [], [1.0], {}, set(), object(),
        10**400, -(10**400), 1e308, -1e308, 1j, 0, -0.0, 3, 2.5, print, Ellipsis, range(3),
    ]  # fmt: skip
    value = rng.choice(simple)
    if rng.random() < 0.5:
        return {"error": value, rng.choice(["loss", 1, None, "x" * 9999]): rng.choice(simple)}
    return value


def _quietly(command: list[str]) -> int:
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        return app.run(command)
