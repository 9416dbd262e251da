"""Parses of synthetic sentences as graphs, and a Weisfeiler-Lehman kernel to compare them.

A parse is a graph: words with their classes, each linked to its head. A small grammar links the words, and a bad parse
has some of them linked at random; its goodness is the share of links that are right.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

# The classes of words that a word may have as its head, the usual one first.
GRAMMAR = {
    "verb": ("verb", "noun"),
    "noun": ("verb", "preposition"),
    "determiner": ("noun",),
    "adjective": ("noun", "verb"),
    "adverb": ("verb", "adjective"),
    "preposition": ("noun", "verb"),
}


@dataclass(frozen=True)
class Graph:
    """Labelled nodes, and for each node its links: (kind of link, other node)."""

    labels: list[str]
    links: list[list[tuple[str, int]]]


def weisfeiler_lehman(graphs, depth):
    """k(g, h): how many pairs of nodes of g and h have equal neighbourhoods of radius 0, 1, ..., depth; cosine-scaled.

    Every round a node's name becomes its own name with the sorted names around it, and each new name gets a number. The
    names' counts are the features of a graph, so the kernel is a sparse product.
    """
    numbers = {}
    names = [[numbers.setdefault(label, len(numbers)) for label in graph.labels] for graph in graphs]
    counts = [Counter(own) for own in names]
    for round_ in range(depth):
        for g, graph in enumerate(graphs):
            own = names[g]
            around = (sorted((kind, own[j]) for kind, j in links) for links in graph.links)
            fresh = [(round_, own[i], *near) for i, near in enumerate(around)]
            names[g] = [numbers.setdefault(name, len(numbers)) for name in fresh]
            counts[g].update(names[g])
    columns = np.concatenate([list(count) for count in counts])
    values = np.concatenate([list(count.values()) for count in counts]).astype(float)
    starts = np.cumsum([0, *map(len, counts)])
    features = sparse.csr_array((values, columns, starts), shape=(len(graphs), len(numbers)))
    norms = np.sqrt(features.multiply(features).sum(axis=1))
    features = sparse.diags_array(1 / norms) @ features
    return (features @ features.T).toarray()


def make_sentence(rng):
    """Classes of words and for each word its head; the head of the first one, a verb, is itself."""
    classes, heads = ["verb"], [0]
    for word in rng.choice(list(GRAMMAR), size=rng.integers(6, 16)):
        usual = [i for wanted in GRAMMAR[word] for i, known in enumerate(classes) if known == wanted]
        if usual:
            classes.append(str(word))
            heads.append(usual[0] if rng.random() < 0.5 else int(rng.choice(usual)))
    return classes, np.array(heads)


def make_parse(classes, heads, difficulty, rng):
    """The sentence with some words linked at random, and the share of links that are right."""
    wrong = rng.random(heads.size) < difficulty * rng.random()
    wrong[0] = False
    guess = np.where(wrong, rng.integers(0, heads.size, heads.size), heads)
    links = [[] for _ in classes]
    for i, head in enumerate(guess[1:], start=1):
        links[i].append(("head", int(head)))
        links[head].append(("child", i))
    return Graph(classes, links), float(np.mean(guess[1:] == heads[1:])) if heads.size > 1 else 1.0


def make_corpus(n_sentences, n_parses, seed=0):
    """Parses, their goodness scores and the sentences they belong to."""
    rng = np.random.default_rng(seed)
    graphs, goodness, sentence = [], [], []
    for s in range(n_sentences):
        classes, heads = make_sentence(rng)
        difficulty = rng.beta(1, 2)  # the parser finds some sentences harder than others
        for _ in range(n_parses):
            graph, right = make_parse(classes, heads, difficulty, rng)
            graphs.append(graph)
            goodness.append(right)
            sentence.append(s)
    return graphs, np.array(goodness), np.array(sentence)
