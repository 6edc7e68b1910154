"""A small YAML file of the user's, read strictly by a model: every problem at once, without any of its values."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from leafgate.errors import DocumentPath, InvalidError, PolicyError, Problem, format_path, nearest_name, plain
from leafgate.io.yaml import parse_yaml
from leafgate.kernel.options import Strict

Model = TypeVar("Model", bound=Strict)


def parse_strict_yaml(content: bytes, place: str, model: type[Model]) -> Model:
    """The content of a YAML file, checked by a model.

    Args:
        content: the bytes of the file.
        place: its name in errors.
        model: what it must be.

    Raises:
        InvalidError: every problem with its place and what to do; none of the values is quoted.
    """
    try:
        document = parse_yaml(content, place)
    except PolicyError as error:  # whose hints are about policies
        [problem] = error.problems
        keys = ", ".join(list(model.model_fields)[:4])
        remedy = f"write it as lines `key: value`, with keys such as {keys}"
        raise InvalidError(problem.message, place=problem.location, remedy=remedy) from None
    try:
        return model.model_validate_json(json.dumps(document))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        problems = [_problem(place, model, each["type"], each["loc"], each["msg"]) for each in errors]
        raise InvalidError.listing(dict.fromkeys(problems)) from None


def _problem(place: str, model: type[Strict], kind: str, location: DocumentPath, message: str) -> Problem:
    """A problem that pydantic found: where it is, what it is, what to do about it."""
    where = f"{place}: {format_path(location)}" if location else place
    if kind == "extra_forbidden":
        return Problem(
            where, "is no key that is known here", nearest_name(location[-1], _keys(model, location), "leave it out")
        )
    if kind == "missing":
        return Problem(where, "is missing", "add it")
    return Problem(where, plain(message))


def _keys(model: type[BaseModel], location: DocumentPath) -> Collection[str]:
    """The keys beside the last step of a location."""
    for step in location[:-1]:
        if isinstance(step, str):
            model = _model_in(model.model_fields[step].annotation) or model
    return model.model_fields


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in a type such as a tuple of models; None where it has none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
