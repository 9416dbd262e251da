"""Speed, by measurement: `python -m benchmarks` runs everything, `python -m benchmarks NAME` one part of it."""
