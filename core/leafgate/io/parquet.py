"""Parquet to cells as text, so that both kinds of file are read by the same rules."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pandas as pd

from leafgate.errors import DataError
from leafgate.io.cells import as_cells, check_header, refuse_wide


def read_parquet(content: bytes, names: Sequence[str] | None, place: str) -> pd.DataFrame:
    """The declared columns of a Parquet file (None: all) as text; a null becomes an empty text."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(
            "Parquet needs pyarrow", place=place, remedy='install it: pip install "leafgate[parquet]"'
        ) from None
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        header = list(file.schema_arrow.names)
        refuse_wide(len(header), place)
        check_header(header, header if names is None else names, place)
        table = file.read()
    except (pyarrow.ArrowException, OSError):
        raise DataError("is not a Parquet file", place=place) from None
    cells = {}
    for i, name in enumerate(table.column_names):
        try:
            text = table.column(i).cast(pyarrow.string()).fill_null("").combine_chunks().dictionary_encode()
        except pyarrow.ArrowException:
            raise DataError("does not hold plain values", place=f"{place}, column {name!r}") from None
        cells[i] = as_cells(text.indices.to_numpy(), text.dictionary.to_pylist())
    return pd.DataFrame(cells).set_axis(header, axis=1).loc[:, header if names is None else list(names)]
