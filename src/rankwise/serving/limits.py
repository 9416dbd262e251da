"""What a request may take. In a file of its own, so that the command line can show the defaults without NumPy."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Of one request.

    size       bytes of its body
    documents  how many it may have
    seconds    within which it must have arrived
    """

    size: int = 8 << 20
    documents: int = 10_000
    seconds: float = 10.0


DEFAULTS = Limits()
