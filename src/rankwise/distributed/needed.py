"""Dask is an extra."""


def require_dask() -> None:
    try:
        import dask.dataframe  # noqa: F401
        import distributed  # noqa: F401
    except ImportError:
        raise ImportError("rankwise.distributed needs two packages: pip install 'rankwise[dask]'") from None
