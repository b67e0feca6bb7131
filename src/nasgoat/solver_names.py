"""Names of the solvers of mixed-integer programs, and of the formulations they are given."""

#: Solvers that can be named on the command line and in Python.
SOLVERS = ("scip", "gurobi")
#: Ways to write an acquisition problem as a program: the smaller one, and the paper's own.
FORMULATIONS = ("compact", "paper")
