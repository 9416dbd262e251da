"""Speed, by measurement: `python -m benchmarks` runs everything, `python -m benchmarks fit` one part of it."""
