"""Sums over partitions in one fixed order, whichever worker adds them up.

Partitions are the leaves of a binary tree: node (level, i) is the sum of the nodes 2i and 2i + 1 of the level below,
and a last node without neighbour is copied. A worker adds up its part of the tree and sends the few nodes that remain,
so the result does not depend on how partitions are distributed over the workers, to the last bit.
"""

from collections.abc import Iterable, Mapping

from rankwise.foundation.arrays import Array

Node = tuple[int, int]
Nodes = dict[Node, Array]


def add(nodes: Nodes, node: Node, value: Array, n_leaves: int) -> None:
    """Add a node, and replace pairs of neighbours by their sums, up the tree."""
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
    """The leaves that no node includes."""
    left = set(range(n_leaves))
    for level, i in nodes:
        left.difference_update(range(i << level, min((i + 1) << level, n_leaves)))
    return sorted(left)


def total(nodes: Nodes) -> Array:
    """The total, when no leaf is missing."""
    (whole,) = nodes.values()
    return whole
