"""Table 2 of the paper: mean and standard deviation over 20 replications."""

from __future__ import annotations

MEASURES = ("rmse", "mnll", "spearman")
Pair = tuple[float, float]

#: By benchmark and kernel: RMSE, MNLL and Spearman, each (mean, standard deviation).
PAPER: dict[str, dict[str, tuple[Pair, Pair, Pair]]] = {
    "nb101": {
        "RW": ((0.29, 0.01), (30.29, 5.26), (0.81, 0.04)),
        "WL": ((0.15, 0.02), (-0.77, 0.07), (0.87, 0.03)),
        "SP": ((0.21, 0.05), (227.67, 114.59), (0.83, 0.04)),
        "ESP": ((0.11, 0.02), (28.83, 15.02), (0.93, 0.02)),
    },
    "nb201/cifar10": {
        "RW": ((0.32, 0.02), (43.07, 19.14), (0.78, 0.05)),
        "WL": ((0.23, 0.04), (0.98, 1.02), (0.81, 0.07)),
        "WL-edge": ((0.37, 0.02), (46.00, 16.73), (0.11, 0.09)),
        "SP": ((0.33, 0.04), (465.15, 152.20), (0.63, 0.10)),
        "ESP": ((0.30, 0.04), (0.36, 0.22), (0.64, 0.11)),
    },
}
#: A cell differs from the paper's when the means are further apart than so many of its deviations.
FAR = 2.0


def published(benchmark: str, kernel: str, measure: str) -> Pair | None:
    """Mean and deviation in the paper; None where it has none.

    Example:
        >>> published("nb101", "ESP", "spearman")
        (0.93, 0.02)
    """
    row = PAPER.get(benchmark, {}).get(kernel)
    return None if row is None else row[MEASURES.index(measure)]


def is_far(benchmark: str, kernel: str, measure: str, mean: float) -> bool:
    """Whether a mean differs from the paper's by more than two of its deviations.

    Example:
        >>> is_far("nb101", "ESP", "spearman", 0.88), is_far("nb101", "ESP", "spearman", 0.90)
        (True, False)
    """
    known = published(benchmark, kernel, measure)
    # The paper's numbers have two decimals: a difference that rounding explains is none.
    return known is not None and abs(mean - known[0]) > FAR * known[1] + 0.005
