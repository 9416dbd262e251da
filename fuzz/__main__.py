"""All targets for a number of seconds: with compiled kernels, and under atheris where it is installed."""

import argparse
import hashlib
import importlib.util
import math
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

from fuzz import inputs

CORPUS = Path("build/fuzz")  # what atheris found worth keeping, by target
PREFIXED = ("letor", "table", "trec")  # whose first two bytes choose options
WORDS = {"letor": "letor", "table": "table", "trec": "trec", "npz": "npz", "manifest": "json", "model": "json"}
TARGETS = (*WORDS, "options")
FIRST = 72  # inputs before a target's clock starts: all seeds, or command lines of every kind; they compile the kernels


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=180.0, help="for all targets together")
    parser.add_argument("--target", choices=TARGETS, action="append", help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=None, help="of the mutations; a new one each time")
    asked = parser.parse_args()
    targets = asked.target or TARGETS
    guided = importlib.util.find_spec("atheris") is not None
    if not guided:
        print("atheris is not installed: mutations only, none of them guided by coverage", file=sys.stderr)
    seconds = asked.seconds / len(targets) / (2 if guided else 1)
    failed = False
    for name in targets:
        if guided and name != "options":
            failed |= not explore(name, seconds)
        failed |= not run(name, seconds, asked.seed)
    sys.exit(failed)


def explore(name, seconds):
    """A target under atheris, in a process of its own; whether reader and reference agreed."""
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds_of(name):
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    command = [sys.executable, "-m", "fuzz.guided", name, str(corpus), f"-max_total_time={int(seconds) + 1}"]
    command += [
        "-max_len=2048",
        "-timeout=60",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={CORPUS}/{name}-",
        "-verbosity=1",
    ]
    done = subprocess.run(command, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    n, kept = max(map(int, re.findall(r"^#([0-9]+)", done.stderr, re.M)), default=0), len(list(corpus.iterdir()))
    print(f"{name}: {n:,} inputs guided by coverage, {kept} of them kept", flush=True)
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n")
    return not done.returncode


def run(name, seconds, seed=None):
    """Mutated inputs with compiled kernels; whether reader and reference agreed on all of them."""
    check, draws = checked(name), inputs_of(name, seed)
    n, began = 0, math.inf
    while time.perf_counter() - began <= seconds:
        if n == FIRST:
            began = time.perf_counter()
        data = next(draws)
        n += 1
        try:
            check(data)
        except Exception as error:
            kept = CORPUS / f"{name}-{hashlib.sha1(data).hexdigest()[:12]}"
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
            print(f"{name}: {type(error).__name__} {str(error)[:500]}\n  input {data[:500]!r}\n  kept as {kept}")
            return False
    print(f"{name}: {n:,} inputs in {time.perf_counter() - began:.0f} s", flush=True)
    return True


def checked(name):
    if name == "options":
        from fuzz import commands

        return commands.check
    from fuzz import targets

    return getattr(targets, name)


def inputs_of(name, seed=None):
    """Inputs without end: first those that are kept, then mutations of them."""
    if name == "options":
        from fuzz import commands

        yield from commands.lines(seed)
    seeds = seeds_of(name)
    if (CORPUS / name).is_dir():
        seeds += [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]
    yield from seeds
    yield from inputs.stream(seeds, inputs.WORDS[WORDS[name]], seed)


def seeds_of(name):
    if name in PREFIXED:
        texts = inputs.SEEDS[name]
        return [bytes([77 * i % 256, 13 * i % 256]) + text for i in range(12) for text in texts]
    from fuzz import targets

    return list({"npz": targets.saved_data, "manifest": targets.saved_manifest, "model": targets.saved_models}[name]())


if __name__ == "__main__":
    main()
