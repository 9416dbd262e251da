"""What a worker keeps of the data, and how it answers.

A partition lies in the worker's memory as the result of a Dask task: Dask makes it anew where it is lost, and frees it
when the client lets go of it or is gone. Beside it lie the last few *states* that questions were about, such as the
expansion at a point: a question names its state, and brings what it is made of only when it was not found.
"""

import asyncio
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rankwise.distributed.client import Worker
from rankwise.distributed.rows import Reduced, in_band
from rankwise.distributed.tree import Nodes, add, merge
from rankwise.foundation.arrays import Array

Content: TypeAlias = Any  # what `spread` was told to build of a partition's rows

KEPT = 2  # states: where a solver stands, and where it tries to go


@dataclass(frozen=True)
class Request:
    """question(state, *asked) of every partition, to be added up; state = make(partition's content, *made_of)."""

    n_leaves: int
    state: str
    make: Callable[..., object]
    made_of: tuple[object, ...] | None  # None: as before
    question: Callable[..., Array]
    asked: tuple[object, ...]


@dataclass(frozen=True)
class Post:
    """Who answers for which partitions (leaf -> key), and to whom the request is passed on."""

    leaves: dict[int, str]
    below: dict[str, "Post"] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    nodes: Nodes
    sent: int  # bytes, of this reply and of all messages below it


@dataclass(eq=False)
class Partition:
    content: Content
    nbytes: int
    states: OrderedDict[str, object] = field(default_factory=OrderedDict)

    def answer(self, request: Request) -> Array | None:
        """None where the state is not known and cannot be made."""
        if request.state in self.states:
            self.states.move_to_end(request.state)
        elif request.made_of is None:
            return None
        else:
            while len(self.states) >= KEPT:
                self.states.popitem(last=False)
            self.states[request.state] = request.make(self.content, *request.made_of)
        return request.question(self.states[request.state], *request.asked)

    def __sizeof__(self) -> int:  # Dask decides by it what to spill and where to work
        return self.nbytes

    def __reduce__(self) -> Reduced:  # without the states: they are made again
        return in_band(Partition, self.content, self.nbytes)


def content_of(partition: Partition) -> Content:
    return partition.content


async def answer(message: bytes, dask_worker: Worker) -> Reply:
    """What this worker, and those it passes the request on to, know of the sum; the message is a request and a post."""
    request, post = pickle.loads(message)
    others = [asyncio.ensure_future(_pass_on(dask_worker, to, below, request)) for to, below in post.below.items()]
    nodes: Nodes = {}
    for leaf, key in post.leaves.items():
        # One at a time: what was spilled comes back alone, and what was released meanwhile is not worked on any more.
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
    except OSError:  # it is gone; its partitions will be missed
        return Reply({}, len(message))
    if found["status"] == "error":
        raise clean_exception(**found)[1]
    reply = found["result"]
    return Reply(reply.nodes, reply.sent + len(message))
