"""Graph kernels against each other: how well a Gaussian process with each predicts."""
