"""The command line with options joined at random: an answer, a refusal in one sentence, or wrong usage."""

import json
import random
from pathlib import Path

from click.testing import CliRunner
from typer.main import get_command

from fuzz.targets import FOLDER, agree
from rankwise.cli.app import app
from rankwise.exporting.targets import TARGETS

NUMBERS = ("0", "1", "-1", "3", "0.5", "1e-3", "1e400", "nan", "inf", "", "x", "99999999999999999999")
DATA = ("train.txt", "test.txt", "zero.txt", "bad.txt", "empty.txt", "train.csv", "absent.txt", ".", "model.json")
MODELS = ("model.json", "zero.json", "train.txt", "empty.txt", "absent.json")
MEASURES = ("ndcg@10", "ndcg@0", "map", "x", "ndcg:gain=linear", "pairwise-accuracy", "err", "")
OUTPUTS = ("out.json", "out.txt", "absent/out", "-")
COMMANDS = {
    "train": [(DATA,), ("-o", OUTPUTS), ("--C", NUMBERS), ("--loss", ("hinge", "squared_hinge", "huber", "x")),
              ("--solver", ("auto", "newton", "trust-region", "bundle", "x")), ("--tol", NUMBERS), ("--valid", DATA),
              ("--max-iter", ("0", "1", "-1", "x")), ("--measure", MEASURES), ("--normalize", ("query-minmax", "x")),
              ("--jobs", ("0", "1", "-1", "x")), ("--json",), ("--float32",), ("--names", ("names.txt", "absent")),
              ("--like", MODELS), ("--config", ("names.txt", "absent"))],
    "predict": [(MODELS,), (DATA,), ("-o", OUTPUTS)],
    "evaluate": [(MODELS,), (DATA,), ("--measure", MEASURES), ("--per-query",), ("--json",)],
    "convert": [(DATA,), (("out.csv", "out.npz", "out.txt", "out.chunks", "out.x"),), ("--to", ("csv", "npz", "x")),
                ("--label", ("label", "x")), ("--qid", ("qid", "x")), ("--feature", ("f1", "x")), ("--float32",)],
    "inspect": [(MODELS,), ("--top", NUMBERS), ("--json",)],
    "export": [(MODELS,), (tuple(f"--to={name}" for name in (*TARGETS, "x")),), ("-o", OUTPUTS), ("--check", DATA),
               ("--scaling", ("fold", "engine", "x")), ("--precision", ("float32", "float64", "x")),
               ("--names", ("names.txt", "absent")), ("--name", ("m", "", "a b")),
               ("--feature-map", ("names.txt", "empty.txt", "model.json", "absent"))],
}  # fmt: skip
FILES = {
    "train.txt": "".join(f"{i % 3} qid:{i // 4} 1:{i % 5} 2:{i * i % 7} 3:1\n" for i in range(16)),
    "test.txt": "1 qid:1 1:1\n0 qid:1 2:1\n",
    "zero.txt": "1 qid:1 0:1 1:2\n0 qid:1 1:1\n",
    "bad.txt": "1 qid:1 3:abc\n",
    "empty.txt": "",
    "train.csv": "label,qid,f1,f2,f3\n1,1,0,1,2\n0,1,3,1,2\n",
    "names.txt": "a\nb\nc\n",
}


def lines(seed=None):
    """Command lines without end, each as JSON."""
    draw = random.Random(seed)
    while True:
        command = draw.choice(sorted(COMMANDS))
        line = [command]
        for option in COMMANDS[command]:
            if option[0][:1] != "-" or (option[0] == "-o" and draw.random() < 0.9):
                line += [*option[:-1], draw.choice(option[-1])] if draw.random() < 0.95 else []
            elif draw.random() < 0.2:
                line += [option[0], *([draw.choice(option[1])] if len(option) > 1 else [])]
        yield json.dumps(line).encode()


def check(data):
    """Run one command line in the folder of files; it ends with 0, 1 or 2, and says something where it failed."""
    folder = FOLDER / "commands"
    if not folder.exists():
        folder.mkdir()
        for name, text in FILES.items():
            (folder / name).write_text(text)
        for source, model in (("train.txt", "model.json"), ("zero.txt", "zero.json")):
            _run(["train", str(folder / source), "-o", str(folder / model)])
    line = json.loads(data)
    names = {*DATA, *MODELS, *OUTPUTS, "names.txt"} | set(COMMANDS["convert"][1][0])
    result = _run([str(folder / one) if one in names and one not in ("-", "") else one for one in line])
    ended = result.exception is None or isinstance(result.exception, SystemExit)
    agree(ended and result.exit_code in (0, 1, 2), line, repr(result.exception))
    told = result.stderr.strip()
    agree(result.exit_code == 0 or told, "no reason given", line)
    agree("Traceback" not in told, line, told)
    outcomes = ("the weights differ from those of ", "the weights are not compared")  # of --like, and no errors
    repeated = any(one in told for one in outcomes)
    agree(result.exit_code != 1 or "rankwise: " in told or repeated, "no sentence", line, told)
    for name, text in FILES.items():
        agree(Path(folder / name).read_text() == text, "an input was overwritten", line, name)


def _run(line):
    return CliRunner().invoke(get_command(app), line)
