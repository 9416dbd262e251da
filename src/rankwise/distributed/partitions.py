"""Partitions of whole queries on the workers of a cluster, and the rounds of messages that sum over them.

A round: one request to every worker that has partitions, passed on by a tree of workers; replies are added up on the
way back. What is missing, because a worker died or a state was not kept, is requested again when Dask has computed the
lost partitions again.
"""

import asyncio
import itertools
import pickle
import uuid
from collections.abc import Callable, Iterable
from typing import Self, TypeVar

from rankwise.distributed.client import Client, Future, gone_scheduler, telling
from rankwise.distributed.holding import Content, Partition, Post, Reply, Request, answer, content_of
from rankwise.distributed.tree import Nodes, merge, missing, total
from rankwise.foundation.arrays import Array

T = TypeVar("T")

FAN_OUT = 8  # workers that the client, or a worker, sends a request to
CHECK = 1.0  # seconds after which to check whether a worker that has not replied is alive
PATIENCE = 30.0  # seconds to wait for a worker when all are gone


class Traffic:
    """Rounds so far, and bytes sent in them."""

    def __init__(self) -> None:
        self.rounds = 0
        self.bytes = 0


class Partitions:
    """Futures of `holding.Partition`s; a context that releases them at its end."""

    def __init__(self, client: Client, futures: list[Future], traffic: Traffic | None = None) -> None:
        self.client = client
        self.futures = futures
        self.traffic = Traffic() if traffic is None else traffic
        self.owners: dict[int, str] = {}  # partition -> the worker that stores it, if known
        self.states = itertools.count()
        self.name = uuid.uuid4().hex
        self.children: list[Partitions] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release all futures: pending tasks are cancelled, and the workers free their partitions."""
        for future in self.futures:
            future.release()
        for child in self.children:
            child.release()

    def wait(self) -> None:
        """Wait until every partition is computed."""
        self._wait(self.futures)

    def chosen(self, which: Iterable[int]) -> "Partitions":
        """Some of the partitions, which still belong to this context."""
        return Partitions(self.client, [self.futures[i] for i in which], self.traffic)

    def derived(self, make: Callable[..., object], arguments: dict[int, tuple[object, ...]]) -> "Partitions":
        """make(partition, *arguments) of some partitions, on their workers; these belong to this context too."""
        futures = [self.client.submit(make, self.futures[i], *given, pure=False) for i, given in arguments.items()]
        self.children.append(Partitions(self.client, futures, self.traffic))
        return self.children[-1]

    def contents(self) -> list[Content]:
        """The contents of the partitions, copied to the client."""
        with telling(self.client):
            return list(self.client.gather(self.client.map(content_of, self.futures, pure=False)))

    def each(self, question: Callable[..., T], *asked: object) -> list[T]:
        """question(content, *asked) of every partition, not added up."""
        self.traffic.rounds += 1
        with telling(self.client):
            answers = self.client.map(_about, self.futures, question=question, asked=asked, pure=False)
            return list(self.client.gather(answers))

    def state(self, make: Callable[..., object], *made_of: object) -> "State":
        """make(content, *made_of) of every partition, not yet made."""
        return State(self, f"{self.name}-{next(self.states)}", make, made_of)

    def ask(self, state: "State", question: Callable[..., Array], *asked: object) -> Array:
        """The sum over the partitions of question(state, *asked)."""
        n = len(self.futures)
        nodes: Nodes = {}
        self.traffic.rounds += 1
        made_of = None if state.made else state.made_of
        with telling(self.client):
            while left := missing(nodes, n):
                request = Request(n, state.name, state.make, made_of, question, asked)
                for reply in self._round(request, self._posts(left)):
                    merge(nodes, reply.nodes, n)
                    self.traffic.bytes += reply.sent
                made_of = state.made_of  # if the reply was incomplete, the next request contains everything
                for leaf in missing(nodes, n):  # Dask may have dropped the copy that was asked, one of several
                    self.owners.pop(leaf, None)
        state.made = True
        return total(nodes)

    def _round(self, request: Request, posts: dict[str, Post]) -> list[Reply]:
        replies = self.client.sync(self._send, request, posts)
        for address, reply in replies.items():
            if isinstance(reply, OSError):  # of the connection: the worker died
                self.owners = {leaf: owner for leaf, owner in self.owners.items() if owner != address}
            elif isinstance(reply, BaseException):
                raise reply
        return [reply for reply in replies.values() if isinstance(reply, Reply)]

    async def _send(self, request: Request, posts: dict[str, Post]) -> dict[str, Reply | BaseException]:
        """The reply of each worker, or the reason why there is none."""
        tasks = {}
        for address, post in posts.items():
            message = pickle.dumps((request, post))
            self.traffic.bytes += len(message)
            asked = self.client.run(answer, message, workers=[address], on_error="return")
            tasks[address] = asyncio.ensure_future(asked)
        waiting = set(tasks.values())
        while waiting:
            _, waiting = await asyncio.wait(waiting, timeout=CHECK)
            if waiting:
                # Dask would try to connect to a dead worker for half a minute.
                alive = await self.client.nthreads()
                for address, task in tasks.items():
                    if task in waiting and address not in alive:
                        task.cancel()
        failed = [error for task in tasks.values() if not task.cancelled() and (error := task.exception())]
        if failed:  # the scheduler was not reached
            raise failed[0]
        gone = OSError("the worker is gone")
        return {address: gone if task.cancelled() else task.result()[address] for address, task in tasks.items()}

    def _posts(self, leaves: list[int]) -> dict[str, Post]:
        self._locate(leaves)
        by_owner: dict[str, dict[int, str]] = {}
        for leaf in leaves:
            by_owner.setdefault(self.owners[leaf], {})[leaf] = self.futures[leaf].key
        return _tree(list(by_owner.items()))

    def _locate(self, leaves: list[int]) -> None:
        """Find out which worker stores which partition; wait for those that are computed again."""
        unknown = [i for i in leaves if i not in self.owners or self.futures[i].status != "finished"]
        while unknown:
            self._wait([self.futures[i] for i in unknown])
            found = self.client.who_has([self.futures[i] for i in unknown])
            for i in unknown:
                owners = found.get(self.futures[i].key)
                if owners:
                    self.owners[i] = min(owners)
            unknown = [i for i in unknown if not found.get(self.futures[i].key)]

    def _wait(self, futures: list[Future]) -> None:
        import distributed

        while True:
            try:
                distributed.wait(futures, timeout=PATIENCE)
            except TimeoutError:
                if self.client.status != "running":
                    raise gone_scheduler(self.client) from None
                if not self.client.nthreads():
                    address = self.client.scheduler.address
                    raise ConnectionError(f"no worker is left at the Dask scheduler {address}: start one") from None
            else:
                for future in futures:
                    if future.status in ("error", "cancelled"):
                        future.result()
                return


def _about(partition: Partition, question: Callable[..., T], asked: tuple[object, ...]) -> T:
    return question(content_of(partition), *asked)


class State:
    """What requests are about; `made` when every partition has it."""

    def __init__(self, of: Partitions, name: str, make: Callable[..., object], made_of: tuple[object, ...]) -> None:
        self.of, self.name, self.make, self.made_of = of, name, make, made_of
        self.made = False

    def ask(self, question: Callable[..., Array], *asked: object) -> Array:
        return self.of.ask(self, question, *asked)


def _tree(owners: list[tuple[str, dict[int, str]]]) -> dict[str, Post]:
    """The post of every worker: the first of each of `FAN_OUT` runs of neighbours passes on to the rest of the run."""
    step = -(-len(owners) // FAN_OUT)
    runs = [owners[i : i + step] for i in range(0, len(owners), step)] if owners else []
    return {address: Post(leaves, _tree(rest)) for (address, leaves), *rest in runs}
