"""What all suites share: they run once for every subject that the inheriting class names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from inspect import signature
from itertools import product
from typing import Any, ClassVar

import pytest

from nasgoat.errors import SettingError


class Contract:
    """Base of the suites.

    A test method takes subjects as arguments, such as ``space`` or ``seed``. Their values are
    attributes of the class: ``spaces``, a mapping from names to spaces, or ``space`` for a single
    one. Every test runs for every combination of the subjects that it takes.
    """

    #: For each argument of a test method the attribute with its values by name.
    subjects: ClassVar[Mapping[str, str]] = {}
    #: Names of values whose tests are marked ``slow``.
    slow: ClassVar[Collection[str]] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Let pytest run each test for each value of the subjects that it takes."""
        for argument in self.subjects:
            if argument in metafunc.fixturenames:
                values = [
                    pytest.param(
                        value, id=name, marks=[pytest.mark.slow] if name in self.slow else []
                    )
                    for name, value in self._values(argument).items()
                ]
                metafunc.parametrize(argument, values)

    @classmethod
    def verify(cls, **chosen: Any) -> list[str]:
        """Run every test of the suite without pytest's runner, for a prompt or a property test.

        Args:
            chosen: Subjects that replace those of the class, by the argument's name.

        Returns:
            Names of the tests that ran; those that do not apply to the subjects are left out.

        Raises:
            AssertionError: If the contract is broken.
        """
        ran = []
        suite = cls()
        for name in sorted(name for name in dir(cls) if name.startswith("test_")):
            test = getattr(suite, name)
            done = [suite._applies(test, call) for call in suite._calls(test, chosen)]
            if any(done):
                ran.append(name)
        return ran

    @staticmethod
    def _applies(test: Any, call: Mapping[str, Any]) -> bool:
        try:
            test(**call)
        except pytest.skip.Exception:
            return False
        return True

    def _calls(self, test: Any, chosen: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        names = list(signature(test).parameters)
        values = [
            [chosen[name]] if name in chosen else list(self._values(name).values())
            for name in names
        ]
        for combination in product(*values):
            yield dict(zip(names, combination, strict=True))

    def _values(self, argument: str) -> Mapping[str, Any]:
        several = self.subjects[argument]
        if hasattr(self, argument):
            return {argument: getattr(self, argument)}
        found = getattr(self, several, None)
        if not found:
            raise SettingError(
                f"{type(self).__name__} must name what it tests, got nothing; "
                f"set the attribute {argument} or {several}"
            )
        return found if isinstance(found, Mapping) else {str(value): value for value in found}
