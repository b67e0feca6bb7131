"""Contract suites: what every space, kernel, optimiser, method and benchmark must keep.

Inherit one in a test file, name what is to be tested, and pytest runs the whole suite on it. The
package's own spaces, kernels, optimisers, methods and benchmarks are tested by the same suites.
"""

try:
    import pytest
except ImportError as missing:
    from nasgoat.errors import MissingPackageError

    raise MissingPackageError("pytest", "dev") from missing

for name in ("contract", "spaces", "optimizers", "methods_and_benchmarks"):
    pytest.register_assert_rewrite(f"nasgoat.testing.{name}")

from nasgoat.testing.contract import Contract, KernelContract  # noqa: E402
from nasgoat.testing.methods_and_benchmarks import BenchmarkContract, MethodContract  # noqa: E402
from nasgoat.testing.optimizers import OptimizerContract  # noqa: E402
from nasgoat.testing.spaces import CellContract, SpaceContract  # noqa: E402

__all__ = [
    "BenchmarkContract",
    "CellContract",
    "Contract",
    "KernelContract",
    "MethodContract",
    "OptimizerContract",
    "SpaceContract",
]
