"""Building: from a policy and a table to the very bytes that would be published."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from leafgate.algorithms.publication import published
from leafgate.api.registry import Plugins, isolate_plugin_errors
from leafgate.engine.evidence import is_json_encodable
from leafgate.errors import InconclusiveError, PolicyError, ReleaseError
from leafgate.io.release_codec import SealedRelease, serialize
from leafgate.kernel.components import TreeBuilder
from leafgate.kernel.large_table import LargeTable
from leafgate.kernel.policy import Policy
from leafgate.kernel.release import BuildResult, FileDisclosure, Publish, Release
from leafgate.kernel.schema import Schema
from leafgate.kernel.table import Table
from leafgate.models.checks import refuse_unaudited


def build(
    policy: Policy,
    plugins: Plugins,
    table: Table | LargeTable,
    test: Table | None = None,
) -> SealedRelease:
    """The release as its file has it: built, cut down to what is published, written and read back.

    Raises PolicyError when the release discloses more than the policy publishes and cannot be cut down,
    InconclusiveError when the builder fails or makes what no file can hold.
    """
    builder = policy.build
    rng = np.random.default_rng(None if builder.one_shot else policy.seed)
    origin = f"{builder.use} ({plugins.origin(builder)})"
    if isinstance(table, Table):
        builder.refuse_persons(table)
    with isolate_plugin_errors(builder, plugins):
        extras = _extras(builder, plugins, test, ask_library=policy.origin.asks_library)
        if isinstance(table, LargeTable):
            built = builder.build_large(replace(table, cell_counts={}), rng, **extras)
        else:
            built = builder.build(table.without_key.defensive_copy(), rng, **extras)
        if not isinstance(built, Release | BuildResult):
            raise InconclusiveError(f"{origin} returned a {type(built).__name__} where a Release belongs")
        result = BuildResult.of(built)
        if table.person_rows is not None and not _is_written(result):
            result = replace(result, release=replace(result.release, unit="rows"))
        _check_origins(result, 0 if isinstance(table, LargeTable) else len(table.without_key), origin)
        if not all(isinstance(step, dict) and is_json_encodable(step) for step in result.trail):
            raise InconclusiveError(f"{origin} kept a trail that JSON cannot say")
    if isinstance(result, SealedRelease) and result.provenance.model_content is not None:
        from leafgate.models.exposure.cells import cells_disclosed  # which reads features of models
        from leafgate.models.exposure.held import held_disclosed

        content, few = result.provenance.model_content, policy.report.smallest_cell
        held, cells = held_disclosed(content.held, table, few), cells_disclosed(content, table, few)
        result = _with_disclosures(result, (*held, *_disclosures(result), *cells))
    if not _is_written(result):
        return publish(policy, plugins, result)
    refuse_unaudited(result.release, plugins)
    if result.release.unit == "rows" and not policy.data.persons and policy.data.rows is None:
        raise InconclusiveError(
            "the release file counts rows, of which a person may have several, and each row of the table as a person",
            place="data.columns",
            remedy="give the column that numbers the people `role: person`; or `data.rows: people`, if each row is one",
        )
    artifact = publish(policy, plugins, result)
    return replace(artifact, release=with_policy_columns(artifact.release, table.schema))


def with_cells_of(artifact: SealedRelease, counted: Table, others: Table, few: int) -> SealedRelease:
    """The artifact of a file, what this discloses of the cells of a few people judged anew.

    Args:
        artifact: as it was judged; one that was not read from a file is returned as it is.
        counted: the table that it was judged by.
        others: the table with the people counted otherwise.
        few: a cell that so many people share is nobody's.
    """
    content = artifact.provenance.model_content
    if content is None:
        return artifact
    from leafgate.models.exposure.cells import cells_disclosed  # which reads features of models

    before, now = cells_disclosed(content, counted, few), cells_disclosed(content, others, few)
    return _with_disclosures(artifact, (*(item for item in _disclosures(artifact) if item not in before), *now))


def _disclosures(result: SealedRelease) -> tuple[FileDisclosure, ...]:
    """What the file of a release discloses beyond its predictions."""
    return result.provenance.discloses if result.release.file is None else result.release.file.discloses


def _with_disclosures(result: SealedRelease, discloses: tuple[FileDisclosure, ...]) -> SealedRelease:
    """The release of a file that discloses this."""
    file = result.release.file
    if file is None:
        return replace(result, provenance=replace(result.provenance, discloses=discloses))
    return replace(result, release=replace(result.release, file=replace(file, discloses=discloses)))


def _is_written(result: BuildResult) -> bool:
    """Was it read from a release file? Then it is published as it is."""
    return isinstance(result, SealedRelease) and result.written is not None


def with_policy_columns(release: Release, schema: Schema) -> Release:
    """The release with the roles and domains that the policy declares: those that a file states are not trusted."""
    return replace(release, schema=Schema(tuple(schema[column.name] for column in release.schema.columns)))


def publish(policy: Policy, plugins: Plugins, built: Release | BuildResult) -> SealedRelease:
    """What was built, cut down to what the policy publishes, written and read back; raises as `build` does.

    A release that was read from a file is published as it is.
    """
    builder, result = policy.build, BuildResult.of(built)
    level = _level(policy, result)
    try:
        with isolate_plugin_errors(builder, plugins):
            if not _is_written(result):
                result = replace(result, release=published(result.release, level, builder.measure_options))
            return serialize(result)
    except ReleaseError as error:
        origin = f"{builder.use} ({plugins.origin(builder)})"
        raise InconclusiveError(f"{origin} built a release that no file can hold: {error}") from error


def _check_origins(result: BuildResult, rows: int, origin: str) -> None:
    """Origins name one of so many rows of the table for each record; InconclusiveError where they do not."""
    if result.origins is None:
        return
    records = 0 if result.release.records is None else len(result.release.records.rows)
    if len(result.origins) != records or any(not 0 <= row < rows for row in result.origins):
        raise InconclusiveError(f"{origin} says not for each record which row of the table it was made from")


def _extras(builder: TreeBuilder, plugins: Plugins, test: Table | None, *, ask_library: bool) -> dict[str, Any]:
    """What the builder wants besides: model readers, the test table; PolicyError when there is no such table."""
    extras: dict[str, Any] = {"readers": plugins.readers} if builder.wants_readers else {}
    extras |= {"ask_library": True} if builder.wants_readers and ask_library else {}
    if not builder.wants_test:
        return extras
    if test is None:
        raise PolicyError("this builder needs a test table", place="data.test", remedy="name one, or give --test FILE")
    return extras | {"test": test.without_key.defensive_copy()}


def _level(policy: Policy, result: BuildResult) -> Publish:
    """What the policy publishes of this release; of a file, and unless the policy states otherwise, all there is."""
    release = result.release
    if policy.publish is None or release.file is not None:
        return release.publish  # leafgate.models.checks compares what a model's file discloses with the policy
    wanted = policy.publish
    from_file = _is_written(result)
    if from_file and wanted.leaves != release.publish.leaves:
        raise PolicyError(
            f"the release file publishes {release.publish.leaves}, the policy says {wanted.leaves}",
            place="publish.leaves",
            remedy="say what the file publishes",
        )
    if from_file and wanted.measure != release.publish.measure:
        kept = "tells" if release.publish.measure else "keeps back"
        raise PolicyError(f"the release file {kept} the measure", place="publish.measure", remedy="say so")
    if _discloses_classes(release) and wanted.leaves != "counts":
        raise PolicyError(
            f"the published records tell class counts, the leaves are to tell {wanted.leaves} only",
            place="publish.leaves",
            remedy="publish counts, or the tree without records",
        )
    return wanted


def _discloses_classes(release: Release) -> bool:
    """Do its records have the class?"""
    published_columns = () if release.records is None else release.records.columns
    return any(column.name in published_columns for column in release.schema.having("class"))
