"""Engines: data sources whose rows stay where they are, and what is wrong with the suffixes of a data source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from leafgate.kernel.components import DataSource

SUFFIX = re.compile(r"(\.[a-z0-9_]+)+")
CORE_SUFFIXES = frozenset({".csv", ".parquet", ".pq"})
"""The suffixes of files that the core reads itself."""


@dataclass(frozen=True)
class DataLocation:
    """Where an engine finds the rows of a table: files that it opens itself, or a table that its options name.

    Attributes:
        paths: the files, in the order of their rows; empty where the options of the source name a table.
        format: what they are.
        columns: for CSV, the names of the columns in the order in which they are in every file.
        header: for CSV, is the first record names, and no row?
        delimiter: for CSV, the sign between two cells.
        quote: for CSV, the sign around a cell that needs it; doubled within one.
        results: a folder that results will be written into, where `writes_files`.
    """

    paths: tuple[Path, ...] = ()
    format: Literal["csv", "parquet", "json"] = "csv"
    columns: tuple[str, ...] = ()
    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    results: Path | None = None


class DataEngine(DataSource):
    """A data source whose rows stay where they are: an engine counts the distinct records, and only these are loaded.

    It reads every kind of file that the core reads too, and JSON lines. Where its options name a table, a policy needs
    no `data.path`.
    """

    most_records: int = Field(
        20_000_000,
        ge=1,
        description="Distinct records that are loaded into memory at most; where there are more, only what can be "
        "computed from blocks of them is.",
    )

    keeps_rows = frozenset({"most_records"})

    modules: ClassVar[tuple[str, ...]] = ()
    """The modules that it needs besides narwhals and pyarrow; the extra that installs them is named as the engine."""

    writes_files: ClassVar[bool] = False
    """Can `write_parquet` write what follows from the rows that `open` yields into a folder of this machine?"""

    numbers_rows: ClassVar[bool] = False
    """Can `open` number the rows in their order? Errors then say in which record the first wrong cell is."""

    @property
    def names_table(self) -> bool:
        """Do the options name the table, so that the policy names no file?"""
        return False

    @classmethod
    def is_installed(cls) -> bool:
        """Are its `modules` installed?"""
        return all(find_spec(module) for module in (*cls.modules, "narwhals", "pyarrow"))

    @classmethod
    def default(cls) -> Self | None:
        """The engine with which the core reads large CSV and Parquet files of policies without `source`, if any."""
        return None

    def open(self, location: DataLocation, number_rows: str | None = None) -> AbstractContextManager[Any]:
        """The rows as a lazy table of a library that narwhals supports; it is used within the `with` block alone.

        Args:
            location: what to open. All cells of CSV files are texts, the empty one too.
            number_rows: the name of a further column that numbers the rows of all files from 1; only where
                `numbers_rows`.

        Raises:
            DataError: the data cannot be opened; its text holds no cell.
        """
        raise NotImplementedError

    def rename(self, rows: Any, names: Mapping[str, str]) -> Any:
        """The rows that `open` returned, with another name for each column.

        Names in files may hold dots and quotes, which some engines interpret when narwhals passes them on. Such an
        engine overrides this and quotes the names.

        Args:
            rows: what `open` returned.
            names: the new name of each column, of letters and digits.
        """
        import narwhals as nw

        return nw.from_native(rows).rename(dict(names)).to_native()

    def write_parquet(self, rows: Any, path: Path) -> bool:
        """Write the distinct records to one Parquet file of this machine, without holding them all in main memory.

        Args:
            rows: a lazy table of the engine's library, made of the rows that `open` yielded.
            path: the file, in the folder `DataLocation.results`.

        Returns:
            Is the file there? False where these rows cannot be written; they are then loaded into memory.
        """
        import narwhals as nw

        nw.from_native(rows).lazy().sink_parquet(path)
        return True

    @classmethod
    def reads(cls, name: str) -> bool:
        """It reads every file."""
        return True


def suffix_mistakes(source: type[DataSource]) -> list[str]:
    """What is wrong with the `suffixes` of a data source, a sentence each; empty if a policy can use it."""
    if issubclass(source, DataEngine):
        return []
    suffixes = source.suffixes
    if not isinstance(suffixes, frozenset) or not suffixes:
        return ['it needs `suffixes`, the endings of the files that it reads: frozenset({".sqlite"})']
    problems = [
        f"the suffix {suffix!r} is no ending such as '.sqlite', in small letters"
        for suffix in sorted(map(str, suffixes))
        if not SUFFIX.fullmatch(suffix)
    ]
    return problems + [
        f"the suffix {suffix!r} belongs to leafgate itself" for suffix in sorted(CORE_SUFFIXES & suffixes)
    ]
