"""Which tests stand behind each fault that must be survived."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

_DRIVER = "tests/bayesopt/test_driver.py::test_"
_EVALUATION = "tests/evaluation/test_evaluators.py::test_"
_LEDGER = "tests/integrations/test_study_ledger.py::test_"
_RESUME = "tests/cli/test_resume.py::test_"
_SOLVER = "tests/bayesopt/test_solver_faults.py::test_"
_DASK = "tests/integrations/test_dask_cluster.py::test_"
_FAULTS = "tests/cli/test_faults.py::test_"
_GP = "tests/surrogate/test_graph_gp.py::test_"
_SECURITY = "tests/test_security.py::test_"
_TABLES = "tests/benchmarks/test_"


@dataclass(frozen=True)
class Row:
    """A fault, and the beginnings of the names of the tests that provoke it."""

    fault: str
    tests: tuple[str, ...]


ROWS = {
    1: Row("objective raises", (f"{_DRIVER}the_first_failure", f"{_EVALUATION}an_exception")),
    2: Row("returns no number", (f"{_EVALUATION}values_that_cannot",)),
    3: Row("returns inf or a huge number", (f"{_EVALUATION}values_that_cannot",)),
    4: Row("hangs", (f"{_EVALUATION}a_hanging",)),
    5: Row("worker killed", (f"{_EVALUATION}a_dead", f"{_EVALUATION}an_evaluation_over")),
    6: Row("all workers lost", (f"{_DASK}a_lost", f"{_DASK}a_scheduler", f"{_DRIVER}a_cancelled")),
    7: Row("driver killed", (f"{_LEDGER}a_killed", f"{_DRIVER}a_search_that_died")),
    8: Row(
        "SIGTERM, Ctrl-C",
        (f"{_RESUME}the_first_signal", f"{_RESUME}the_second_signal", f"{_RESUME}ctrl_c"),
    ),
    9: Row(
        "disk full",
        (
            f"{_RESUME}a_full_disk",
            f"{_RESUME}a_report_that",
            f"{_FAULTS}a_picture",
            f"{_FAULTS}a_read_only",
        ),
    ),
    10: Row("study damaged", (f"{_LEDGER}a_damaged", f"{_LEDGER}a_value_that")),
    11: Row("resumed differently", (f"{_LEDGER}another_declaration", f"{_LEDGER}a_study_of")),
    12: Row("two drivers", (f"{_LEDGER}a_second_driver",)),
    13: Row("database locked or lost", (f"{_LEDGER}a_locked", f"{_LEDGER}a_lost_connection")),
    14: Row("solver without incumbent", (f"{_DRIVER}a_solver_that", f"{_SOLVER}a_solver_without")),
    15: Row("solver crashes", (f"{_DRIVER}a_solver_that", f"{_SOLVER}a_solver_that_is")),
    16: Row("solver contradicts", (f"{_DRIVER}a_wrong_answer", f"{_SOLVER}a_model")),
    17: Row(
        "duplicate observations",
        (f"{_GP}repeated", f"{_GP}isomorphic", f"{_GP}jitter", f"{_GP}a_kernel_that"),
    ),
    18: Row(
        "constant y, none",
        ("tests/bayesopt/test_optimizer.py::test_constant", f"{_GP}odd_data"),
    ),
    19: Row(
        "unsatisfiable space",
        (f"{_FAULTS}contradictory", "tests/acquisition/test_satisfiable.py::test_"),
    ),
    20: Row("space exhausted", (f"{_DRIVER}an_exhausted", f"{_FAULTS}a_space_that")),
    21: Row(
        "malformed TOML", (f"{_FAULTS}a_damaged_space", "tests/spaces/test_toml_file.py::test_")
    ),
    22: Row("hostile limit expression", ("tests/spaces/test_limit_text.py::test_",)),
    23: Row(
        "untrusted pickle",
        (
            f"{_TABLES}benchmarks.py::test_a_table_with",
            f"{_TABLES}nasbench201.py::test_a_pickle",
            f"{_TABLES}nasbench101.py::test_a_flipped",
            f"{_SECURITY}a_message",
            f"{_SECURITY}no_module",
        ),
    ),
    24: Row(
        "hostile labels",
        (
            "tests/figures/test_drawing.py::test_hostile",
            f"{_FAULTS}no_label",
            f"{_FAULTS}a_study_is",
            f"{_FAULTS}json_holds",
            "tests/report/test_cells.py::test_labels",
        ),
    ),
    25: Row(
        "database password",
        (
            f"{_LEDGER}passwords",
            f"{_RESUME}a_password",
            f"{_FAULTS}a_password",
            f"{_FAULTS}a_starred",
            f"{_FAULTS}a_traceback",
            f"{_FAULTS}an_objective",
        ),
    ),
    26: Row("--command", (f"{_EVALUATION}a_command",)),
    27: Row(
        "processes and threads",
        (f"{_EVALUATION}random_state", f"{_EVALUATION}children", f"{_SECURITY}the_package"),
    ),
    28: Row(
        "optional package missing",
        (f"{_RESUME}a_missing_package", "tests/solvers/test_gurobi.py::test_what"),
    ),
}


def tested_rows() -> Iterator[tuple[int, bool, str]]:
    """Run the tests behind all rows; each row's number, whether it held, and a line."""
    # Rows name the beginnings of tests: whole files are run, and their tests picked out after.
    files = sorted({test.partition("::")[0] for row in ROWS.values() for test in row.tests})
    options = ["-q", "-rA", "-m", "not slow", "-p", "no:cacheprovider"]
    done = subprocess.run(  # noqa: S603 our own tests
        [sys.executable, "-m", "pytest", *options, *files], capture_output=True, text=True
    )
    results = re.findall(r"^(PASSED|FAILED|SKIPPED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    for number, row in sorted(ROWS.items()):
        states = [state for state, name in results if name.startswith(row.tests)]
        passed = bool(states) and set(states) == {"PASSED"}
        yield number, passed, f"{row.fault}: {states.count('PASSED')} of {len(states)} tests"
