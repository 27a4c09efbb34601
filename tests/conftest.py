"""Rows in every storage: numerical tests that ask for `storage` run on memory, files and Dask."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from eosparse import open_rows

# Both have the same module name, and hold no examples to run.
collect_ignore = ["conftest.py", "browser/conftest.py"]


def in_memory(X, _):
    return X


def in_parquet(X, folder):
    """Three files with row groups of uneven size."""
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    for i, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        frame.iloc[part].to_parquet(folder / f"part-{i}.parquet", row_group_size=1 + len(X) // 7)
    return open_rows(folder)


def in_dask_array(X, _):
    return da.from_array(X, chunks=(1 + len(X) // 4, max(1, X.shape[1] // 2)))


def in_dask_frame(X, _):
    columns = [f"c{i}" for i in range(X.shape[1])]
    return dd.from_pandas(pd.DataFrame(X, columns=columns), npartitions=3)


STORAGES = {
    "memory": in_memory,
    "parquet": in_parquet,
    "dask array": in_dask_array,
    "dask frame": in_dask_frame,
}


@pytest.fixture(params=STORAGES)
def storage(request, tmp_path):
    """Put an array into a storage."""
    return lambda X: STORAGES[request.param](X, tmp_path)
