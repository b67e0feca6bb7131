"""Fixtures that every test may use."""

import gc
import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from nasgoat import progress
from nasgoat.child_process import ChildProcess
from nasgoat.cli import search_output, terminal
from tests.report.browser import Browser, chromium

settings.register_profile("nasgoat", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("nasgoat")

# Compiling makes so many objects that looking for garbage among them took a tenth of its time.
gc.set_threshold(50_000)

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of the test run's own: nothing of the user's is read or written."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASGOAT_CACHE", str(folder))
        yield folder


#: What needs the machine code of branch and bound at once, so that one worker begins with it and
#: the other finds it on disk later: on a fresh clone it takes a minute to compile.
_COMPILES = ("tests/acquisition/", "tests/spaces/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that compile most in the first half, which is the first worker's."""
    items.sort(key=lambda item: not item.nodeid.startswith(_COMPILES))


@pytest.fixture(scope="session", autouse=True)
def no_two_workers_compile_the_same(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Who needs machine code that another worker is making waits for it and reads it from disk."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    folder = tmp_path_factory.getbasetemp().parent  # the workers' common one
    compile_here = Dispatcher.compile

    def compile_once(dispatcher: Any, signature: Any) -> Any:
        if isinstance(dispatcher._cache, NullCache):  # not kept: part of what its callers compile
            return compile_here(dispatcher, signature)
        code = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}{signature}"
        name = hashlib.sha256(code.encode()).hexdigest()[:16]
        # Numba's own lock comes first: a thread that holds a file never waits for another thread.
        with global_compiler_lock, FileLock(folder / f"compiling-{name}.lock"):
            return compile_here(dispatcher, signature)

    with patch.object(Dispatcher, "compile", compile_once):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_search_takes_the_end_of_the_tests_for_its_own() -> Iterator[None]:
    """SIGTERM, from a time-out say, ends the test run; no search in it is interrupted instead."""
    with patch.object(terminal, "_SIGNALS", (signal.SIGINT,)):
        yield


@pytest.fixture(scope="session", autouse=True)
def no_line_depends_on_how_busy_the_machine_is() -> Iterator[None]:
    """What takes longer than two seconds says so: tests that look at every line would fail."""
    with patch.object(progress, "PATIENCE", 3600.0):
        yield


class SharedProcess:
    """Hands the tasks of many to one process, which stays where it was started."""

    def __init__(self, process: ChildProcess) -> None:
        self._process = process
        self._one_at_a_time = threading.Lock()

    def ask(self, work: Callable[..., Any], *args: Any, **limits: Any) -> Any:
        with self._one_at_a_time:
            self._process._started_in = (Path.cwd(), self._process.environment)
            return self._process.ask(work, *args, **limits)

    def kill(self) -> None:
        """Do nothing: others may still need it."""


@pytest.fixture(scope="session", autouse=True)
def one_process_draws_the_pictures_of_all_searches() -> Iterator[None]:
    """To load Matplotlib takes longer than most searches of the tests."""
    process = ChildProcess("the picture")
    shared = SharedProcess(process)
    with patch.object(search_output, "ChildProcess", lambda task: shared):
        yield
    process.kill()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of full benchmark tables; tests that need it skip where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the benchmark tables are not in {SHARED_DATA}")
    return SHARED_DATA


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A real browser; tests that need it skip where it is absent."""
    program = chromium()
    if program is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened
