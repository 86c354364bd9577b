"""What a step, an import, a fan-out and the codec cost, beside comparable libraries: `python -m tests.benchmarks`."""
