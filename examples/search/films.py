"""A synthetic catalogue of films, and what people search in it.

A film is about one topic and touches a second one. Its title and its body are made of words of both, and of some other
topics, so that a word alone does not say what a film is about. Everything is drawn with a seed: the same each time.
"""

import random
from dataclasses import dataclass

TOPICS = {
    "sea": "harbour lighthouse sailor storm island whale captain shipwreck tide pirate reef anchor",
    "space": "orbit astronaut comet planet crater rocket gravity alien moon telescope captain signal",
    "war": "soldier trench general battle siege medal regiment truce bunker deserter cannon letter",
    "crime": "detective murder witness alibi gangster heist forger informer evidence verdict prison safe",
    "love": "wedding letter kiss divorce bride heart promise affair proposal summer jealousy dance",
    "horror": "ghost cellar curse scream vampire grave witch shadow nightmare doll fog island",
    "west": "ranch sheriff outlaw saloon cattle desert stagecoach bounty canyon rifle railway gold",
    "sport": "boxer champion coach stadium marathon cyclist team rival medal trainer race referee",
    "music": "orchestra singer piano tour band violin jazz concert song guitar choir dance",
    "school": "teacher pupil exam classroom holiday bully friendship uniform library bus summer race",
    "spies": "agent embassy code traitor border passport signal microfilm defector bridge safe train",
    "family": "mother brother inheritance farm twins grandfather kitchen reunion secret house wedding holiday",
    "mountain": "summit glacier avalanche climber rope valley storm hut expedition snow rescue cave",
    "circus": "acrobat clown tent lion magician trapeze ringmaster elephant juggler caravan curse tour",
    "hospital": "surgeon nurse patient epidemic ambulance cure heart night vaccine ward rescue secret",
    "railway": "train station conductor tunnel signal bridge carriage engine platform express luggage murder",
}
WORDS = {topic: words.split() for topic, words in TOPICS.items()}
ADJECTIVES = ("last", "silent", "broken", "golden", "hidden", "long", "lost", "northern", "strange", "distant")
TITLES = (
    "The {adjective} {word}",
    "{word} of the {word}",
    "The {word} and the {word}",
    "{adjective} {word}, {adjective} {word}",
    "Return of the {word}",
    "A {word} for the {word}",
)
SENTENCES = (
    "A {adjective} {word} changes everything when a {word} appears.",
    "Nobody believes the story of the {word} and the {word}.",
    "One night the {word} is gone, and only a {word} remains.",
    "Between {word} and {word} there is no way back.",
    "They follow a {word} to the {adjective} {word}.",
    "In the end it is all about the {word}.",
)


@dataclass(frozen=True)
class Film:
    id: str
    title: str
    body: str
    topics: tuple[str, str]  # not indexed: what the film is about, which only a person who judges it knows
    votes: int
    year: int


@dataclass(frozen=True)
class Query:
    text: str
    topic: str  # what the person has in mind
    film: str | None = None  # the one film that is searched for, if there is one


def catalogue(n: int = 3000, seed: int = 1) -> list[Film]:
    rng = random.Random(seed)
    return [_film(rng, f"film-{i:04d}") for i in range(1, n + 1)]


def _film(rng: random.Random, id: str) -> Film:
    first, second = rng.sample(sorted(TOPICS), 2)
    title = _filled(rng, rng.choice(TITLES), (first, second, None), (0.75, 0.15, 0.1))
    sentences = rng.choices(SENTENCES, k=rng.randint(3, 9))
    body = " ".join(_filled(rng, one, (first, second, None), (0.5, 0.3, 0.2)) for one in sentences)
    if rng.random() < 0.1:  # an advertisement for something else, which misleads a match by words
        body += f" For friends of {' '.join(rng.sample(WORDS[rng.choice(sorted(TOPICS))], 8))}."
    year = 2025 - min(75, int(rng.expovariate(1 / 20)))
    return Film(id, title, body, (first, second), int(rng.lognormvariate(5, 1.5)), year)


def _filled(rng: random.Random, pattern: str, topics: tuple[str | None, ...], weights: tuple[float, ...]) -> str:
    """A title or a sentence, with words of these topics; of any topic for None."""
    while "{" in pattern:
        topic = rng.choices(topics, weights)[0] or rng.choice(sorted(TOPICS))
        pattern = pattern.replace("{adjective}", rng.choice(ADJECTIVES), 1)
        pattern = pattern.replace("{word}", rng.choice(WORDS[topic]), 1)
    return pattern[0].upper() + pattern[1:]


def queries(films: list[Film], n: int = 300, seed: int = 2) -> list[Query]:
    """Words of a topic, and in one of five the title of a film; no two of the same words, in whatever order."""
    rng = random.Random(seed)
    asked: dict[frozenset[str], Query] = {}
    while len(asked) < n:
        topic = rng.choice(sorted(TOPICS))
        query = Query(" ".join(rng.sample(WORDS[topic], rng.randint(1, 3))), topic)
        if rng.random() < 0.2:
            film = rng.choice(films)
            query = Query(film.title.lower(), film.topics[0], film.id)
        asked.setdefault(frozenset(query.text.split()), query)
    return list(asked.values())
