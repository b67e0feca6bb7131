"""Methods against each other: benchmarks x settings x seeds x methods."""
