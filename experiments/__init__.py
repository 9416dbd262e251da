"""The papers' tables and figures, and some of our own, one module each, made with rankwise's public API only.

To add one, write `experiments/PAPER_figure_N.py` or `experiments/PAPER_table_N.py` (PAPER as in `registry.PAPERS`;
nothing else has to be registered) with

    TITLE = "Lee and Lin, figure 4: ..."          what it is, the first line of its page
    NEEDS = ("mq2008",)                           sets of sources.toml without which it is skipped; () for none
    QUICK_NEEDS = ()                              the same with --quick; NEEDS unless defined
    def units(quick): ...                         -> list[Unit]: the work, in pieces of bounded time
    def report(found): ...                        -> Report, from {unit's name: what it returned}

A unit is `Unit(name, work, options, limit, timed)`: `work(data, **options)` is a function at module level that takes
the data folder first and returns what JSON can hold. Units run in processes of their own, which are ended after `limit`
seconds: `found` then holds None. A unit runs alone, unless `timed` is False: of such units, as many run at the same
time as there are cores. What is finished is kept in the cache, keyed by function, options and limit, so an interrupted
run goes on where it stopped, and tables that ask for the same thing share it. `quick` means seconds instead of minutes:
fewer or smaller units. The pages come out as results/NAME.csv, NAME.md and, where the report has a picture, NAME.png. A
note at the top of the page says if all data are synthetic (NEEDS is empty), the run was a quick one, the data differ
from those in sources.toml, or units exceeded their limit.
"""
