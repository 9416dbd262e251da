"""python -m tests.torture --cases 100000 --seed 0: that many nasty problems, and a table of what came of them."""

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor

from .campaign import Tally

BATCH = 50


def batch(seeds: range) -> Tally:
    tally = Tally()
    for seed in seeds:
        tally.add(seed)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case; the others follow")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    end = asked.seed + asked.cases
    batches = [range(first, min(first + BATCH, end)) for first in range(asked.seed, end, BATCH)]
    total = Tally()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for done in pool.map(batch, batches):
            total.merge(done)
            for one in done.wrong:
                print(one, flush=True)
            print(f"\r{total.cases:,} of {asked.cases:,} cases", end="", file=sys.stderr, flush=True)
    print(f"\n{total.table()}")
    sys.exit(bool(total.wrong))


if __name__ == "__main__":
    main()
