"""Nothing in the tree evaluates text, starts a shell or unpickles without limits."""

import ast
import pickle
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from nasgoat.child_process import OUR_OWN
from nasgoat.errors import ChildError
from nasgoat.safe_files import loads

ROOT = Path(__file__).parent.parent
SUITES = ROOT / "src" / "nasgoat" / "testing"  # tests that others inherit
OURS = [
    path
    for folder in ("src", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if not path.is_relative_to(SUITES)
]
TESTS = sorted([*(ROOT / "tests").rglob("*.py"), *SUITES.rglob("*.py")])
BUILTINS = {"eval", "exec", "compile", "__import__"}
CALLS = {
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput",
    "pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open", "joblib.load",
    "cloudpickle.load", "cloudpickle.loads", "dill.load", "dill.loads", "yaml.load",
    "yaml.unsafe_load", "pandas.read_pickle", "pd.read_pickle",
}  # fmt: skip


def forbidden(text: str, pickles: bool = False) -> Iterator[str]:
    """What a module does that it must not."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        given = {k.arg: ast.unparse(k.value) for k in node.keywords}
        if name in BUILTINS or (name in CALLS and not (pickles and name.startswith("pickle."))):
            yield name
        if given.get("shell", "False") != "False":
            yield f"{name}(shell={given['shell']})"
        if given.get("allow_pickle", "False") != "False":
            yield f"{name}(allow_pickle={given['allow_pickle']})"
        if name.endswith("torch.load") and given.get("weights_only") != "True":
            yield f"{name} without weights_only=True"
        if name.endswith("Unpickler") and name == "pickle.Unpickler":
            yield name


def test_no_module_evaluates_starts_a_shell_or_unpickles_freely() -> None:
    assert len(OURS) > 100
    assert [f"{path}: {bad}" for path in OURS for bad in forbidden(path.read_text())] == []


def test_no_test_does_either_but_for_pickles_of_its_own() -> None:
    assert [f"{path}: {bad}" for path in TESTS for bad in forbidden(path.read_text(), True)] == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')", "run(x, shell=True)", "os.system('ls')", "pickle.loads(b)", "joblib.load(f)",
        "np.load(f, allow_pickle=True)", "torch.load(f)", "torch.load(f, weights_only=False)",
        "yaml.load(f)", "exec(code)", "pickle.Unpickler(f)",
    ],
)  # fmt: skip
def test_the_scan_finds_what_it_looks_for(text: str) -> None:
    assert list(forbidden(text))


def test_ruffs_security_rules_are_on_everywhere() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert "S" in lint["select"]
    off = {rule for rule in lint["ignore"] if rule.startswith("S")}
    for files, rules in lint["per-file-ignores"].items():
        ours = files in ("tests/**", "src/nasgoat/testing/*.py")
        kept = {"S101", "S603"} if ours else set()  # asserts, our own commands
        off |= {rule for rule in rules if rule[0] == "S" and rule[1:].isdigit()} - kept
    assert off == set()
    found = [p for p in OURS for line in p.read_text().splitlines() if "noqa: S30" in line]
    assert found == []


class Hostile:
    """Runs a command when it is unpickled freely."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        import os

        return os.system, ("touch pwned",)


def test_a_message_between_processes_cannot_name_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nasgoat.evaluation.workers import run_command

    monkeypatch.chdir(tmp_path)
    for hostile in (Hostile(), run_command, print):
        with pytest.raises(ChildError, match="must hold our own"):
            loads(pickle.dumps(hostile), OUR_OWN)
    assert not list(tmp_path.iterdir())


def test_the_package_never_forks_nor_trusts_the_wall_clock() -> None:
    unwanted = {"os.fork", "time.time", "multiprocessing.Process", "multiprocessing.Pool"}
    package = [path for path in OURS if path.is_relative_to(ROOT / "src")]
    calls = [
        (path, ast.unparse(node.func))
        for path in package
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]
    assert [(path, name) for path, name in calls if name in unwanted] == []
