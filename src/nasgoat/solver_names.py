"""Names of the solvers of mixed-integer programs, and of the formulations they are given."""

SOLVERS = ("scip", "gurobi")
FORMULATIONS = ("compact", "paper")
