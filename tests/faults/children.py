"""Work in forked processes."""

import os
import traceback
import warnings
from collections.abc import Callable

BROKEN = 99  # the exit code where the work raised


def forked(work: Callable[[], int]) -> int:
    """Begin `work` in a forked process, whose exit code is what it returns; the process id."""
    child = os.fork()
    if not child:
        code = BROKEN
        try:
            with warnings.catch_warnings(action="ignore"):
                code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def exit_code(child: int) -> int:
    """Wait for the process; negative where a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
