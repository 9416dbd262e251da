"""Dask's client: which one to use, tasks that are always released, and clear errors if a cluster fails."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

if TYPE_CHECKING:  # Dask is imported where it is used
    import dask.array
    import dask.dataframe
    import dask.delayed
    import distributed

    Client: TypeAlias = distributed.Client
    Future: TypeAlias = distributed.Future
    Worker: TypeAlias = distributed.Worker
    Delayed: TypeAlias = dask.delayed.Delayed
    Collection: TypeAlias = dask.array.Array | dask.dataframe.DataFrame | dask.dataframe.Series
else:
    Client = Future = Worker = Delayed = Collection = Any

Path: TypeAlias = str | PathLike[str]
Table: TypeAlias = Collection | Path | Sequence[Path]  # what X may be
Column: TypeAlias = Collection | str | None  # what y, qid and weights may be: beside X, or the name of a column
Given: TypeAlias = tuple[Table, Column, Column, Column]  # X, y, qid, weights


class OnDevice(Protocol):
    """An estimator that could be told to compute on a device."""

    device: str | None


def require_dask() -> None:
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        cure = "pip install 'dask[dataframe]' distributed"
        raise ImportError(f"rankwise.distributed needs two packages: {cure}") from None


def current_client(given: Client | None = None) -> Client:
    """The given client, or the latest one."""
    import distributed

    if given is not None:
        return given
    try:
        return distributed.default_client()
    except ValueError:
        raise ValueError("there is no Dask cluster: make a distributed.Client first") from None


def check_device(ranker: OnDevice) -> None:
    if ranker.device is not None:
        raise ValueError(f"device is {ranker.device!r}: the workers of a cluster compute on their CPUs, leave it out")


def gone_scheduler(client: Client) -> ConnectionError:
    address = getattr(client.scheduler, "address", None)
    where = f" at {address}" if address else ""
    return ConnectionError(f"the Dask scheduler{where} no longer responds: start a cluster and fit again")


@contextmanager
def telling(client: Client) -> Iterator[None]:
    """A context that turns failures of a cluster into clear errors; other exceptions pass."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ConnectionError(
            "a partition was lost with every worker that computed it: they may run out of memory; start more "
            f"workers, or make partitions smaller (the last worker was {error.last_worker})"
        ) from None
    except CommClosedError:  # of the client's own connection; if a worker's fails, another worker is asked
        raise gone_scheduler(client) from None
    except CancelledError as error:
        if client.status != "running":
            raise gone_scheduler(client) from None
        raise ConnectionError(f"the cluster lost a part of the data, which cannot be computed again: {error}") from None


class Errand:
    """A context that submits tasks and releases all of them at its end, whatever happens."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.futures: list[Future] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def submit(self, work: Callable[..., object], *arguments: object, **options: object) -> Future:
        """The future of work(*arguments)."""
        self.futures.append(self.client.submit(work, *arguments, pure=False, **options))
        return self.futures[-1]

    def compute(self, parts: list[Delayed]) -> list[Future]:
        """The futures of Dask's delayed objects."""
        futures = list(self.client.compute(parts))
        self.futures += futures
        return futures

    def release(self) -> None:
        """Pending tasks are cancelled unless another task depends on them."""
        for future in self.futures:
            future.release()
