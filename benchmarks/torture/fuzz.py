"""Figure 2, first part: damaged studies, wild objective values, wild error vectors."""

from __future__ import annotations

import contextlib
import io
import math
import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.torture.hangs import Hang, no_longer_than
from benchmarks.torture.record import Record, Result

from nasgoat import Optimizer, cli
from nasgoat.errors import NasgoatError
from nasgoat.evaluation import Outcome
from nasgoat.spaces import NodeLabeledSpace

_SEARCH = ["search", "--quiet", "--no-pictures", "--initial", "4", "--evaluations"]


def in_portions(
    record: Record, part: str, count: int, portion: int, work: Callable[[int, int], Counter[str]]
) -> Counter[str]:
    """The sum of ``work(start, stop)`` over portions of so many cases, each kept by itself."""
    total: Counter[str] = Counter()
    for start in range(0, count, portion):
        stop = min(start + portion, count)

        def portion_of(start: int = start, stop: int = stop) -> Result:
            return dict(work(start, stop))

        result = record.result(part, f"{start}-{stop}", portion_of)
        total += Counter({"crashes": 1} if "crash" in result else result)
    return total


def judged(what: str, found: Counter[str], allowed: tuple[str, ...]) -> tuple[bool, str]:
    """Whether nothing but what is allowed was found, and the line to print."""
    good = all(name in allowed for name, n in found.items() if n)
    named = {"tracebacks": 0, "hangs": 0, **dict(sorted(found.items()))}
    return good, f"{what}: " + ", ".join(f"{n} {name}" for name, n in named.items())


def called(command: list[str]) -> str:
    """What a command came to: its exit code, a traceback or a hang."""
    try:
        with no_longer_than(), _silence():
            return f"exit {cli.run(command)}"
    except Hang:
        return "hangs"
    except Exception:
        return "tracebacks"


def bit_flips(count: int, record: Record) -> tuple[bool, str]:
    """Flip one bit of a study file, ask for its status, resume it."""
    found = in_portions(record, "bit flips", count, 25, _flips)
    allowed = ("exit 0", "exit 1", "exit 2")
    return judged(f"{count} bit-flipped studies, status and search", found, allowed)


def _flips(start: int, stop: int) -> Counter[str]:
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        sound = Path(folder) / "sound"
        called([*_SEARCH, "8", "--report", str(sound)])
        content = (sound / "study.db").read_bytes()
        for i in range(start, stop):
            run = Path(folder) / f"run{i}"
            run.mkdir()
            flipped = bytearray(content)
            rng = random.Random(i)  # noqa: S311 no secret
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
            study = run / "study.db"
            study.write_bytes(flipped)
            found[called(["status", str(run)])] += 1
            code = called([*_SEARCH, "9", "--report", str(run)])
            found[code] += 1
            if code == "exit 2" and study.read_bytes() != flipped:
                found["refused but changed"] += 1
    return found


def tell_values(count: int, record: Record) -> tuple[bool, str]:
    """Whatever an objective returns becomes finite metrics or a failure that names it."""
    found = in_portions(record, "tell values", count, 1000, _values)
    return judged(f"{count} tell values", found, ("learnt", "refused"))


def _values(start: int, stop: int) -> Counter[str]:
    found: Counter[str] = Counter()
    optimizer = Optimizer(NodeLabeledSpace((2, 4), ["a", "b"]))
    graph = optimizer.ask(1)[0].graph
    for i in range(start, stop):
        value = _wild(random.Random(i))  # noqa: S311 no secret
        outcome = Outcome.of(value)
        if outcome.metrics is not None:
            sound = math.isfinite(outcome.metrics["error"])
        else:
            sound = outcome.failure is not None and "got" in outcome.failure.reason
        if not sound:
            found["wrong outcomes"] += 1
        try:
            optimizer.tell(graph, value)
            found["learnt"] += 1
        except NasgoatError as problem:
            found["refused" if "got" in str(problem) else "without a reason"] += 1
        except Exception:
            found["tracebacks"] += 1
    if not all(math.isfinite(error) for _, error in optimizer.observations):
        found["not finite but learnt"] += 1
    return found


def error_vectors(count: int, record: Record) -> tuple[bool, str]:
    """Whatever finite errors were told, the next proposal is defined."""
    found = in_portions(record, "error vectors", count, 50, _vectors)
    return judged(f"{count} error vectors", found, ("proposals",))


def _vectors(start: int, stop: int) -> Counter[str]:
    space = NodeLabeledSpace((2, 4), ["a", "b"])
    found: Counter[str] = Counter()
    for i in range(start, stop):
        rng = random.Random(i)  # noqa: S311 no secret
        optimizer = Optimizer(space, initial=6, seed=i % 20)
        kind = rng.choice(["constant", "huge", "tiny", "mixed", "equal but one", "denormal"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                with no_longer_than():
                    for proposal in optimizer.ask(rng.randint(1, 6)):
                        optimizer.tell(proposal.graph, _error(kind, rng))
                    found["proposals" if len(optimizer.ask(1)) == 1 else "no proposal"] += 1
            except Hang:
                found["hangs"] += 1
            except Exception:
                found["tracebacks"] += 1
        found["floods of warnings"] += len(caught) > 1
    return found


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


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    sink = io.StringIO()
    with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
        yield
