"""The command line sets signal handlers; a test that calls it in this process gives the old ones back."""

import signal
from collections.abc import Iterator

import pytest

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
