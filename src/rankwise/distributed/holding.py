"""What a worker stores of the data, and how it replies.

A partition is the result of a Dask task in the worker's memory: Dask computes it again if it is lost, and frees it when
the client releases it or disconnects. It keeps the last few *states* that requests were about, such as the expansion at
a point: a request names its state, and contains what the state is made of only if the worker did not have it.
"""

import asyncio
import pickle
from _thread import LockType
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

from rankwise.distributed.client import Worker
from rankwise.distributed.rows import Reduced, in_band
from rankwise.distributed.tree import Nodes, add, merge
from rankwise.foundation.arrays import Array

Content: TypeAlias = Any  # what `spread` was told to build of a partition's rows

KEPT = 2  # states: the current point of a solver, and the next candidate


@dataclass(frozen=True)
class Request:
    """question(state, *asked) of every partition, to be added up; state = make(partition's content, *made_of)."""

    n_leaves: int
    state: str
    make: Callable[..., object]
    made_of: tuple[object, ...] | None  # None: the worker has the state already
    question: Callable[..., Array]
    asked: tuple[object, ...]


@dataclass(frozen=True)
class Post:
    """The partitions of a worker (leaf -> key), and the workers to which it passes the request on."""

    leaves: dict[int, str]
    below: dict[str, "Post"] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    nodes: Nodes
    sent: int  # bytes of this reply and of all messages below it


@dataclass(eq=False)
class Partition:
    content: Content
    nbytes: int
    states: OrderedDict[str, object] = field(default_factory=OrderedDict)
    lock: LockType = field(default_factory=Lock, init=False, repr=False)  # of the states: requests come in threads

    def answer(self, request: Request) -> Array | None:
        """None if the state is not known and cannot be made."""
        with self.lock:
            if request.state in self.states:
                self.states.move_to_end(request.state)
            elif request.made_of is None:
                return None
            else:
                while len(self.states) >= KEPT:
                    self.states.popitem(last=False)
                self.states[request.state] = request.make(self.content, *request.made_of)
            state = self.states[request.state]
        return request.question(state, *request.asked)

    def __sizeof__(self) -> int:  # Dask uses it to decide what to spill and where to run tasks
        return self.nbytes

    def __reduce__(self) -> Reduced:  # without the states, which are made again, and their lock
        return in_band(Partition, self.content, self.nbytes)


def content_of(partition: Partition) -> Content:
    return partition.content


async def answer(message: bytes, dask_worker: Worker) -> Reply:
    """The part of the sum that this worker and those below it can add up; the message is a request and a post."""
    request, post = pickle.loads(message)
    others = [asyncio.ensure_future(_pass_on(dask_worker, to, below, request)) for to, below in post.below.items()]
    nodes: Nodes = {}
    for leaf, key in post.leaves.items():
        # One at a time: spilled partitions are loaded one by one, and partitions released meanwhile are skipped.
        partition = dask_worker.data.get(key)
        value = None if partition is None else await asyncio.to_thread(partition.answer, request)
        if value is not None:
            add(nodes, (0, leaf), value, request.n_leaves)
    replies = await asyncio.gather(*others)
    for reply in replies:
        merge(nodes, reply.nodes, request.n_leaves)
    return Reply(nodes, sum(one.nbytes for one in nodes.values()) + sum(reply.sent for reply in replies))


async def _pass_on(worker: Worker, address: str, post: Post, request: Request) -> Reply:
    from distributed.core import clean_exception

    message = pickle.dumps((request, post))
    packed = {"function": pickle.dumps(answer), "args": pickle.dumps((message,)), "kwargs": pickle.dumps({})}
    try:
        found = await worker.rpc(address).run(**packed)
    except OSError:  # it died; its partitions will be missing
        return Reply({}, len(message))
    if found["status"] == "error":
        raise clean_exception(**found)[1]
    reply = found["result"]
    return Reply(reply.nodes, reply.sent + len(message))
