"""Policies as they are compared: with all they extend, and complete or not."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, ValidationInfo, create_model, field_validator

from leafgate.api.options import UNREAD
from leafgate.api.registry import Plugins
from leafgate.errors import PolicyError
from leafgate.policy.inherit import inherited, with_source_locations
from leafgate.policy.load import as_json, homes_of, policy_model
from leafgate.policy.models import ColumnSpec, Data, Policy
from leafgate.policy.sources import PolicyDocument, load_extends_chain
from leafgate.policy.validation import problems_of

LEFT_OUT: Mapping[str, Any] = {"name": "", "build": None, "attacks": (), "metrics": ()}
"""What a policy that others extend may leave to them, besides `data` and its columns."""


class PartialData(Data):
    """Some of what is known of the people."""

    columns: dict[str, ColumnSpec] = Field({}, description="Some columns, whatever their roles.")

    @field_validator("columns")
    @classmethod
    def _roles_complete(cls, columns: dict[str, ColumnSpec], info: ValidationInfo) -> dict[str, ColumnSpec]:
        return columns


@dataclass(frozen=True)
class Compared:
    """A policy as it is written, and what its digest covers; that is None where a component says not what it uses."""

    written: PolicyDocument
    digested: Mapping[str, Any] | None


def read_one(path: Path, plugins: Plugins) -> Compared:
    """A policy with all it extends; it need not be complete. PolicyError for whatever else is wrong with it."""
    written, loosened = inherited(load_extends_chain(path))
    if loosened:
        raise PolicyError.listing(loosened)
    context = {"beside": path.parent, "root": path.parent}
    try:
        policy = _partial_model(plugins).model_validate_json(as_json(written.document), context=context)
    except ValidationError as error:
        if wrong := problems_of(error, written.document, plugins):
            with with_source_locations(written):
                raise PolicyError.listing(wrong) from None
        return Compared(written, None)
    return Compared(written, homes_of(written).resolve(policy).digested(UNREAD))


def _partial_model(plugins: Plugins) -> type[Policy]:
    whole = policy_model(plugins)
    fields: dict[str, Any] = {"data": (PartialData, PartialData())}
    for name, default in LEFT_OUT.items():
        field = copy(whole.model_fields[name])
        field.default = default
        fields[name] = (field.annotation if default is not None else field.annotation | None, field)  # type: ignore[operator]
    return create_model("Policy", __base__=whole, **fields)
