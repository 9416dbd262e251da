"""What Dask has to say of a cluster that fails, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def gone_scheduler(client: Any) -> ConnectionError:
    address = getattr(client.scheduler, "address", None)
    where = f" at {address}" if address else ""
    return ConnectionError(f"the Dask scheduler{where} does not answer any more: start a cluster and fit again")


@contextmanager
def telling(client: Any) -> Iterator[None]:
    """A context in which the failures of a cluster are told in one sentence; others pass."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ConnectionError(
            "a partition was lost with every worker that tried to make it: they may run out of memory; give more "
            f"workers, or smaller partitions (the last was {error.last_worker})"
        ) from None
    except CommClosedError:  # of the client's own connection: a worker's is answered by asking another
        raise gone_scheduler(client) from None
    except CancelledError as error:
        if client.status != "running":
            raise gone_scheduler(client) from None
        raise ConnectionError(f"the cluster gave up a part of the data, which cannot be made anew: {error}") from None
