"""The ``nasgoat`` command: its verbs, and how errors leave it.

Exit codes: 0 done; 1 the work failed; 2 the call was wrong; 130 interrupted. A wrong call prints
one line to standard error that says what is wrong and how to mend it.

Modules of nasgoat are imported inside the verbs: ``--help`` stays fast.
"""

from __future__ import annotations

import functools
import logging
import os
import sys
import traceback
from importlib import import_module, metadata
from typing import Annotated, Any

import typer

from nasgoat.cli import experiments, methods_and_data, search, solve, space, stored_runs
from nasgoat.cli.terminal import (
    MaskingFormatter,
    hide_password,
    make_harmless,
    mask_passwords,
    remember_arguments,
)
from nasgoat.errors import NasgoatError, SettingError

__all__ = ["app", "main", "run"]

#: The command with all its verbs.
app = typer.Typer(
    name="nasgoat",
    help="Find the best graph in the fewest evaluations, with proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for verb in (
    search.search,
    stored_runs.status,
    stored_runs.report,
    solve.solve,
    methods_and_data.methods,
    experiments.compare,
    experiments.fronts,
    experiments.kernels,
    experiments.scale,
):
    app.command(verb.__name__)(verb)
app.add_typer(space.space_verbs, name="space")
app.add_typer(methods_and_data.data_verbs, name="data")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nasgoat {metadata.version('nasgoat')}")
        raise typer.Exit


@app.callback()
def nasgoat(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log what happens inside.")
    ] = False,
    plugin: Annotated[
        list[str] | None,
        typer.Option(help="Module to import: it may register kernels, spaces, methods, ..."),
    ] = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find the best graph in the fewest evaluations, with proof."""
    for module in plugin or ():
        _import(module)
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(MaskingFormatter("nasgoat: %(message)s"))
    handler.setLevel(level)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("optuna", "distributed", "asyncio", "alembic", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    if arguments is None:
        hide_password()
    sys.excepthook = _show_bug
    code = run(arguments)
    if code == 130:
        # A cancelled search may have a solver thread that nothing can stop; do not wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    # Small matrices on a shared machine: one thread is fastest, more can be many times slower.
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    remember_arguments(arguments)
    try:
        code = _make_command().main(arguments, prog_name="nasgoat", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except NasgoatError as problem:
        _say(str(problem))
        return 2 if isinstance(problem, ValueError) else 1
    except OSError as problem:
        _say(f"{problem.strerror or problem}: {problem.filename or ''}".rstrip(": "))
        return 1
    except Exception as problem:
        # Click's usage errors know their own message and exit code.
        if hasattr(problem, "format_message") and hasattr(problem, "exit_code"):
            _say(f"{problem.format_message()} (see nasgoat --help)")
            return int(problem.exit_code)
        raise
    return code if isinstance(code, int) else 0


@functools.cache
def _make_command() -> Any:
    return typer.main.get_command(app)


def _show_bug(kind: type[BaseException], problem: BaseException, trace: Any) -> None:
    """A traceback means a bug of ours; it may go into a report, so it holds no password."""
    text = "".join(traceback.format_exception(kind, problem, trace))
    print(make_harmless(mask_passwords(text)), file=sys.stderr, end="")


def _import(module: str) -> None:
    """Import a module from the current folder or from wherever Python looks."""
    if not sys.path or sys.path[0] != "":
        sys.path.insert(0, "")
    try:
        import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name != module:
            raise
        raise SettingError(
            f"--plugin must name a module that can be imported, got {module!r}"
        ) from None


def _say(message: str) -> None:
    line = make_harmless(" ".join(mask_passwords(message).split()))
    print(f"nasgoat: {line}", file=sys.stderr)
