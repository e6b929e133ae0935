"""Time the library beside its peers: `python -m benchmarks [--quick] [name ...]`, or `make bench`."""
