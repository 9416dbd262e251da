"""Order-statistic trees in arrays: every node has the sum of the values in its subtree.

Three are search trees that differ only in how they are balanced after an insertion: red-black, AVL and AA. Equal keys
share a node. The selection tree is an array, one leaf per level, and needs no balancing.
Node 0 stands for no node: its sum and its rank are 0; its right child is the root.
"""

from typing import NamedTuple

import numpy as np

from rankwise.foundation.arrays import Floats, Ints
from rankwise.foundation.jit import kernel

RED_BLACK, AVL, AA, SELECTION = range(4)
BLACK, RED = 0, 1
LEFT, RIGHT = 0, 1
DEEPEST = 128  # the depth of a red-black tree of 2^62 nodes is less


class Tree(NamedTuple):
    kind: int
    child: Ints
    key: Floats
    own: Floats  # one row per node: the sum of the values of its own key
    total: Floats  # one row per node: the sum over its subtree
    rank: Ints  # colour (red-black), height (AVL) or level (AA): 1 for a new node in all three
    size: Ints  # one number: the nodes in use, or the leaves of a selection tree
    path: Ints  # from node 0 to the node just inserted


def new_tree(kind: int, capacity: int, n_columns: int) -> Tree:
    """A tree of up to `capacity` nodes, to be cleared before use.

    All of a node (key, two children, rank, sums) is in one row of memory, because every step of a search reads all.
    """
    numbers = np.empty((capacity + 1, 3 + 2 * n_columns))
    links = numbers.view(np.int32)
    child, rank, own, total = links[:, 2:4], links[:, 4], numbers[:, 3::2], numbers[:, 4::2]
    total[0], rank[0] = 0.0, 0
    return Tree(kind, child, numbers[:, 0], own, total, rank, np.empty(1, np.int64), np.empty(DEEPEST, np.int32))


Documents = tuple[Ints, Ints, Ints, Floats, Floats]  # starts, numbers of levels, rows, places, keys


@kernel
def sweep(tree: Tree, upward: bool, bounds: tuple[float, float], documents: Documents, v: Floats, out: Floats) -> None:
    """The sums of whole queries: insert the documents within bounds[0] by place; sum those within bounds[1] by key."""
    starts, n_levels, order, places, keys = documents
    sign, step = (-1.0, 1) if upward else (1.0, -1)
    for q in range(n_levels.size):
        clear(tree, n_levels[q])
        first, last = starts[q], starts[q + 1]
        place, end = (first, last) if upward else (last - 1, first - 1)
        entering = place
        while place != end:
            while entering != end and sign * (places[place] - places[entering]) < bounds[0]:
                insert(tree, keys[entering], v, order[entering])
                entering += step
            add_sum(tree, sign, keys[place], bounds[1], out, order[place])
            place += step


@kernel
def clear(tree: Tree, n_levels: int) -> None:
    tree.child[0, RIGHT] = 0
    tree.size[0] = 0
    if tree.kind == SELECTION:
        width = 1
        while width < n_levels:
            width *= 2
        tree.size[0] = width
        tree.total[: 2 * width] = 0.0


@kernel
def insert(tree: Tree, key: float, v: Floats, row: int) -> None:
    """Add the values v[row] at `key`."""
    if tree.kind == SELECTION:
        node = _leaf(tree, key)
        while node > 0:
            _add(tree.total, node, v, row)
            node >>= 1
        return
    depth, node, side = 0, tree.child[0, RIGHT], RIGHT
    tree.path[0] = 0
    while node != 0:
        depth += 1
        tree.path[depth] = node
        _add(tree.total, node, v, row)
        if key == tree.key[node]:
            _add(tree.own, node, v, row)
            return
        side = RIGHT if key > tree.key[node] else LEFT
        node = tree.child[node, side]
    tree.size[0] += 1
    node = tree.size[0]
    tree.child[tree.path[depth], side] = node
    tree.path[depth + 1] = node
    tree.child[node, LEFT] = tree.child[node, RIGHT] = 0
    tree.key[node] = key
    tree.rank[node] = 1
    for c in range(v.shape[1]):
        tree.own[node, c] = tree.total[node, c] = v[row, c]
    if tree.kind == RED_BLACK:
        _balance_red_black(tree, depth + 1)
    elif tree.kind == AVL:
        _balance_avl(tree, depth)
    else:
        _balance_aa(tree, depth)


@kernel
def add_sum(tree: Tree, sign: float, key: float, bound: float, out: Floats, row: int) -> None:
    """Add the values of all keys k with sign * (key - k) < bound to out[row]; in a selection tree, bound is 0."""
    if tree.kind == SELECTION:
        node = _leaf(tree, key)
        beyond = 1 if sign > 0 else -1
        while node > 1:
            if (node & 1 == LEFT) == (sign > 0):
                _add(out, row, tree.total, node + beyond)
            node >>= 1
        return
    far = RIGHT if sign > 0 else LEFT  # if a node is within the bound, so is its subtree on this side
    node = tree.child[0, RIGHT]
    while node != 0:
        if sign * (key - tree.key[node]) < bound:
            _add(out, row, tree.own, node)
            _add(out, row, tree.total, tree.child[node, far])
            node = tree.child[node, 1 - far]
        elif bound == 0.0 and key == tree.key[node]:
            _add(out, row, tree.total, tree.child[node, far])
            return
        else:
            node = tree.child[node, far]


@kernel
def _leaf(tree: Tree, key: float) -> int:
    """Keys are 0, -1, -2, ..., counted from the rightmost leaf; the parent of node m is m // 2 and the root is 1."""
    leaf: int = 2 * tree.size[0] - 1 + int(key)
    return leaf


@kernel
def _add(to: Floats, i: int, of: Floats, j: int) -> None:
    for c in range(of.shape[1]):
        to[i, c] += of[j, c]


@kernel
def _lift(tree: Tree, parent: int, node: int, side: int) -> int:
    """Rotate: the child on that side takes the node's place under `parent`. Returns this child."""
    child, own, total = tree.child, tree.own, tree.total
    lifted: int = child[node, side]
    inner = child[lifted, 1 - side]
    outer = child[node, 1 - side]
    child[node, side] = inner
    child[lifted, 1 - side] = node
    child[parent, RIGHT if child[parent, RIGHT] == node else LEFT] = lifted
    for c in range(total.shape[1]):
        total[lifted, c] = total[node, c]
        total[node, c] = own[node, c] + total[inner, c] + total[outer, c]
    return lifted


@kernel
def _balance_red_black(tree: Tree, depth: int) -> None:
    """Restore the invariant: no red node has a red child, and all paths to leaves have equally many black nodes."""
    child, rank, path = tree.child, tree.rank, tree.path
    while rank[path[depth - 1]] == RED:
        node, parent, grandparent = path[depth], path[depth - 1], path[depth - 2]
        side = RIGHT if child[grandparent, RIGHT] == parent else LEFT
        uncle = child[grandparent, 1 - side]
        if rank[uncle] == RED:
            rank[parent] = rank[uncle] = BLACK
            rank[grandparent] = RED
            depth -= 2
        else:
            if child[parent, 1 - side] == node:
                _lift(tree, grandparent, parent, 1 - side)
            rank[_lift(tree, path[depth - 3], grandparent, side)] = BLACK
            rank[grandparent] = RED
            break
    rank[child[0, RIGHT]] = BLACK


@kernel
def _balance_avl(tree: Tree, depth: int) -> None:
    """Restore the invariant: the heights of two siblings differ by at most one."""
    child, height, path = tree.child, tree.rank, tree.path
    while depth > 0:
        node = path[depth]
        side = RIGHT if height[child[node, RIGHT]] > height[child[node, LEFT]] else LEFT
        tall = child[node, side]
        if height[tall] > height[child[node, 1 - side]] + 1:
            if height[child[tall, 1 - side]] > height[child[tall, side]]:
                _lift(tree, node, tall, 1 - side)
            top = _lift(tree, path[depth - 1], node, side)
            for lowered in (node, tall, top):
                height[lowered] = _height(tree, lowered)
            return
        if height[node] == height[tall] + 1:
            return
        height[node] = height[tall] + 1
        depth -= 1


@kernel
def _height(tree: Tree, node: int) -> int:
    height: int = 1 + max(tree.rank[tree.child[node, LEFT]], tree.rank[tree.child[node, RIGHT]])
    return height


@kernel
def _balance_aa(tree: Tree, depth: int) -> None:
    """Restore the invariant: a left child is one level below its parent; a right child may have the same level, but its
    own right child may not.
    """
    child, level, path = tree.child, tree.rank, tree.path
    while depth > 0:
        node, parent = path[depth], path[depth - 1]
        if level[child[node, LEFT]] == level[node]:
            node = _lift(tree, parent, node, LEFT)
        if level[child[child[node, RIGHT], RIGHT]] == level[node]:  # a node above the new one now has a right child
            level[_lift(tree, parent, node, RIGHT)] += 1
        depth -= 1
