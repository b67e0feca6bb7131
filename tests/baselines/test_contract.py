"""Every method keeps the contract of methods, ours included."""

import pytest

from nasgoat import make_method, methods, nasbench201
from nasgoat.errors import SettingError, UnknownNameError
from nasgoat.testing import MethodContract


class TestMethods(MethodContract):
    methods = {name: name for name in methods()}
    spaces = {name: MethodContract.spaces[name] for name in ("edges with limits",)}
    slow = ("smac", "optuna-gp")  # other packages' optimisers take seconds for a proposal
    options = {
        "bananas": {"epochs": 10},
        "bonas": {"epochs": 4},
        "gcn": {"epochs": 4, "width": 8},
        "dngo": {"epochs": 20},
        "bohamiann": {"steps": 200, "burn_in": 100},
    }


@pytest.mark.slow
class TestMethodsOnOtherSpaces(TestMethods):
    spaces = {name: MethodContract.spaces[name] for name in ("edges", "nodes", "nodes with limits")}


def test_unknown_method_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean bananas"):
        make_method("banana", nasbench201())


def test_initial_must_be_positive() -> None:
    with pytest.raises(SettingError, match="initial must be at least 1"):
        make_method("random", nasbench201(), initial=0)
