"""LetorError, apart from the modules that need Numba, so that it can be caught before anything was read."""


class LetorError(ValueError):
    """Ranking text that cannot be read. Lines and columns (bytes) count from 1; None where the whole file is meant."""

    def __init__(self, message: str, path: str, line: int | None = None, column: int | None = None) -> None:
        where = path if line is None else f"{path}, line {line}, column {column}"
        super().__init__(f"{where}: {message}")
        self.path, self.line, self.column = path, line, column

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.args, self.path, self.line, self.column)


def _restored(args: tuple[object, ...], path: str, line: int | None, column: int | None) -> LetorError:
    error = LetorError("", path, line, column)
    error.args = args
    return error
