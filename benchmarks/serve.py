"""`python -m benchmarks.serve`: the benchmark "serve" alone, printed as a table (`--quick`: in seconds)."""

import argparse
from tempfile import TemporaryDirectory

from benchmarks.measures.serving import serving
from rankwise.foundation.texts import table


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few requests")
    quick = parser.parse_args(arguments).quick
    with TemporaryDirectory(prefix="rankwise-bench-") as folder:
        rows = [[row["what"], f"{row['value']:,.4g}", row["unit"]] for row in serving(folder, quick)]
    print(table(rows, ["what", "value", ""]))


if __name__ == "__main__":
    main()
