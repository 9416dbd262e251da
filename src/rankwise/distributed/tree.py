"""Sums over partitions in one fixed order, whoever adds them up.

Partitions are the leaves of a binary tree: node (level, i) is the sum of the nodes 2i and 2i + 1 of the level below,
and the last one, where it has no neighbour, is that one alone. A worker adds up what it has of the tree and sends the
few nodes that are left, so the result is the same to the last bit however partitions lie on the workers.
"""

from collections.abc import Iterable, Mapping

from rankwise.foundation.arrays import Array

Node = tuple[int, int]
Nodes = dict[Node, Array]


def add(nodes: Nodes, node: Node, value: Array, n_leaves: int) -> None:
    """Put a node in, and whatever of the tree above it is now known in place of what it is known from."""
    level, i = node
    width = -(-n_leaves >> level)
    while width > 1:
        neighbour = (level, i ^ 1)
        if neighbour[1] < width:
            if neighbour not in nodes:
                break
            value = value + nodes.pop(neighbour)
        level, i, width = level + 1, i // 2, (width + 1) // 2
    nodes[level, i] = value


def merge(nodes: Nodes, others: Mapping[Node, Array], n_leaves: int) -> None:
    for node, value in others.items():
        add(nodes, node, value, n_leaves)


def missing(nodes: Iterable[Node], n_leaves: int) -> list[int]:
    """The leaves that are in none of the nodes."""
    left = set(range(n_leaves))
    for level, i in nodes:
        left.difference_update(range(i << level, min((i + 1) << level, n_leaves)))
    return sorted(left)


def total(nodes: Nodes) -> Array:
    """The whole sum, once no leaf is missing."""
    (whole,) = nodes.values()
    return whole
