"""Statements: as in-toto publishes them, signed so that others verify them, with nothing that the report has not."""

from __future__ import annotations

import hashlib
import json
import stat
from base64 import b64decode
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, struct_pb2
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from securesystemslib.signer import SSlibKey

from attested import (
    CODES,
    FINDING,
    OUTCOMES,
    STATEMENTS,
    TODAY,
    attest,
    audited,
    audited_model,
    envelope,
    report_of,
    statement,
    verify,
    waived,
)
from clock import set_today
from command_line import leafgate
from leafgate.commands.attest.statement import audit_predicate
from reports import renamed
from survey import survey

RESOURCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "uri": {"type": "string", "format": "uri"},
        "digest": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1},
        "content": {"type": "string"},
        "downloadLocation": {"type": "string"},
        "mediaType": {"type": "string"},
        "annotations": {"type": "object"},
    },
    "additionalProperties": False,
    "anyOf": [{"required": ["uri"]}, {"required": ["digest"]}, {"required": ["content"]}],
}
"""spec/v1/resource_descriptor.md of in-toto/attestation."""
STATEMENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "_type": {"const": "https://in-toto.io/Statement/v1"},
        "subject": {"type": "array", "items": {**RESOURCE, "required": ["digest"]}, "minItems": 1},
        "predicateType": {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:[^ ]+$"},
        "predicate": {"type": "object"},
    },
    "required": ["_type", "subject", "predicateType", "predicate"],
    "additionalProperties": False,
}
"""spec/v1/statement.md."""


def message_class(name: str) -> Any:
    """A message of in-toto's protobuf definitions: protos/in_toto_attestation/v1 and predicates/test_result/v0."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="in_toto.proto", package="in_toto", syntax="proto3")
    file.dependency.append("google/protobuf/struct.proto")
    fields: dict[str, list[tuple[str, str, bool, Any]]] = {
        "ResourceDescriptor": [
            ("name", "", False, field.TYPE_STRING),
            ("uri", "", False, field.TYPE_STRING),
            ("digest", "", True, ".in_toto.ResourceDescriptor.DigestEntry"),
            ("content", "", False, field.TYPE_BYTES),
            ("download_location", "", False, field.TYPE_STRING),
            ("media_type", "", False, field.TYPE_STRING),
            ("annotations", "", False, ".google.protobuf.Struct"),
        ],
        "Statement": [
            ("type", "_type", False, field.TYPE_STRING),
            ("subject", "", True, ".in_toto.ResourceDescriptor"),
            ("predicate_type", "", False, field.TYPE_STRING),
            ("predicate", "", False, ".google.protobuf.Struct"),
        ],
    }
    for message, described in fields.items():
        made = file.message_type.add(name=message)
        for number, (key, json_name, repeated, kind) in enumerate(described, 1):
            label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            of_message = isinstance(kind, str)
            made.field.add(
                name=key,
                number=number,
                label=label,
                type=field.TYPE_MESSAGE if of_message else kind,
                **({"type_name": kind} if of_message else {}),
                **({"json_name": json_name} if json_name else {}),
            )
        if message == "ResourceDescriptor":
            entry = made.nested_type.add(name="DigestEntry")
            entry.options.map_entry = True
            for number, key in enumerate(("key", "value"), 1):
                entry.field.add(name=key, number=number, label=field.LABEL_OPTIONAL, type=field.TYPE_STRING)
    pool = descriptor_pool.DescriptorPool()
    struct = descriptor_pb2.FileDescriptorProto()
    struct_pb2.DESCRIPTOR.CopyToProto(struct)
    pool.Add(struct)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"in_toto.{name}"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with attested audits of every outcome: what is no pass without digests, and with them."""
    top = tmp_path_factory.mktemp("attested")
    made = {outcome: audited(top / outcome, outcome) for outcome in OUTCOMES}
    made |= {"waived": waived(top / "waived"), "model": audited_model(top / "model")}
    for name, folder in made.items():
        code = CODES.get(name, 0)
        assert attest(folder).code == code
        assert attest(folder, "--with-digests", out="digests").code == code
    return made


EACH = pytest.mark.parametrize("name", [*OUTCOMES, "waived", "model"])
OUTS = pytest.mark.parametrize("out", ["statements", "digests"])


@EACH
@OUTS
def test_the_statement_is_what_in_toto_publishes(folders: dict[str, Path], name: str, out: str) -> None:
    found = statement(folders[name], out)
    Draft202012Validator(STATEMENT).validate(found)
    parsed = json_format.ParseDict(found, message_class("Statement")())
    assert json_format.MessageToDict(parsed)["subject"] == found["subject"]


def test_the_published_definitions_refuse_what_they_do_not_have() -> None:
    wrong: list[dict[str, Any]] = [{"subjects": []}, {"subject": [{"digests": {}}]}, {"_type": 1}]
    for each in wrong:
        with pytest.raises(json_format.ParseError):
            json_format.ParseDict(each, message_class("Statement")())
    assert not Draft202012Validator(STATEMENT).is_valid({"_type": "https://in-toto.io/Statement/v1", "subject": [{}]})


@EACH
def test_the_signature_holds_by_another_implementation(folders: dict[str, Path], name: str) -> None:
    key: Any = load_pem_public_key((folders[name] / "public.pem").read_bytes())
    document = envelope(folders[name])
    [signature] = document["signatures"]
    kind, payload = document["payloadType"], b64decode(document["payload"])
    encoded = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    key.verify(b64decode(signature["sig"]), encoded)
    assert signature["keyid"] == SSlibKey.from_crypto(key).keyid


def test_the_same_report_and_key_give_the_same_bytes(folders: dict[str, Path]) -> None:
    folder = folders["pass"]
    report, key = folder / "out" / "report.json", folder / "private.pem"
    for out in ("first", "second"):
        assert leafgate("attest", report, "--key", key, "--out", folder / out).code == 0
    assert (folder / "first" / STATEMENTS).read_bytes() == (folder / "second" / STATEMENTS).read_bytes()


def test_the_subjects_of_a_pass_are_release_model_report_policy_and_what_was_read(folders: dict[str, Path]) -> None:
    folder = folders["model"]
    files = {
        "model.skops": folder / "model.skops",
        "release.json": folder / "out" / "release.json",
        "report.json": folder / "out" / "report.json",
    }
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    policy = report_of(folder)["policy"]
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement(folder)["subject"]}
    assert subjects == {**digests, policy["name"]: policy["sha256"]}


@pytest.mark.parametrize("name", ["fail", "inconclusive"])
def test_what_is_no_pass_is_for_its_owner_and_has_no_digest_of_release_or_report(
    folders: dict[str, Path], name: str
) -> None:
    folder = folders[name]
    kept_back = [
        report_of(folder)["release"]["sha256"],
        hashlib.sha256((folder / "out" / "report.json").read_bytes()).hexdigest(),
    ]
    texts = {out: json.dumps(statement(folder, out)) for out in ("statements", "digests")}
    assert [digest in texts["statements"] for digest in kept_back] == [False, False]
    assert [digest in texts["digests"] for digest in kept_back] == [True, True]
    for out in texts:
        assert stat.S_IMODE((folder / out / STATEMENTS).stat().st_mode) == 0o600
    ended = attest(folder)
    assert "for its owner's eyes only, without the digests of release and file" in ended.out
    assert stat.S_IMODE((folders["pass"] / "statements" / STATEMENTS).stat().st_mode) == 0o644


def test_a_waived_limit_is_named_with_its_waiver(folders: dict[str, Path]) -> None:
    predicate = statement(folders["waived"])["predicate"]
    assert [each["id"] for each in predicate["limits"] if each.get("waiver")] == [FINDING]
    assert [each["status"] for each in predicate["waivers"]] == ["applied"]


def test_no_statement_names_a_person_or_a_reason(folders: dict[str, Path]) -> None:
    text = json.dumps(statement(folders["waived"])).casefold()
    report = json.dumps(report_of(folders["waived"])).casefold()
    for name in ("planted", "jane", "dpo@example.org"):
        assert (name in report, name in text) == (True, False)


def leaves(thing: object) -> Iterator[object]:
    """Every key and every value of a document that holds no others."""
    if isinstance(thing, Mapping):
        yield from thing
        for each in thing.values():
            yield from leaves(each)
    elif isinstance(thing, list | tuple):
        for each in thing:
            yield from leaves(each)
    else:
        yield thing


CONSTANTS = {
    *("https://in-toto.io/Statement/v1", "leafgate:predicate/audit/0", "release.json", "report.json", "policy"),
    *("_type", "subject", "predicateType", "predicate", "digest", "sha256", "limits", "files_sha256", "people"),
    *("report", "waivers"),
}
"""What every statement may say."""


def unfounded(made: object, report: Mapping[str, Any], *digests: str) -> list[object]:
    """The values in a statement that the report does not have, and that are no constants."""
    known = {repr(each) for each in leaves(report)} | {repr(each) for each in {*CONSTANTS, *digests}}
    return [each for each in leaves(made) if repr(each) not in known]


@EACH
@OUTS
def test_statements_say_nothing_that_the_public_report_does_not(folders: dict[str, Path], name: str, out: str) -> None:
    folder = folders[name]
    content = (folder / "out" / "report.json").read_bytes()
    found = statement(folder, out)
    assert unfounded(found, json.loads(content), hashlib.sha256(content).hexdigest()) == []
    assert unfounded(found, {}) != []


@given(data=st.data())
@pytest.mark.thorough
def test_of_any_report_statements_say_nothing_else(folders: dict[str, Path], data: st.DataObject) -> None:
    report = report_of(folders[data.draw(st.sampled_from(sorted(folders)))])
    name = data.draw(st.text(max_size=8))
    changed = renamed(report, name)
    for finding in changed["findings"]:
        planted = {"smallest_detectable": data.draw(st.none() | st.floats(0, 1)), "says": "planted-evidence"}
        finding["evidence"] = {**finding["evidence"], **planted}
        finding["alarm"] = "planted-alarm"
    for waiver, original in zip(changed.get("waivers", ()), report.get("waivers", ()), strict=True):
        waiver |= {key: original[key] for key in ("release", "file") if key in original}
    changed["policy"] |= {key: each for key, each in report["policy"].items() if "sha256" in key}
    changed["notes"] = ["planted-note"]
    changed["data"]["keyed_sha256"] = "c" * 64
    changed["ledger"] = {"number": 3, "sha256": "e" * 64}
    if changed["release"]:
        changed["release"]["builder"] |= {"planted-option": "planted-value"}
    made = audit_predicate(changed, "d" * 64, with_digests=data.draw(st.booleans())).statement
    assert unfounded(json.loads(json.dumps(made)), changed, "d" * 64) == []
    assert "planted" not in json.dumps(made)
    assert "c" * 64 in json.dumps(made)
    assert made["predicate"]["ledger"] == changed["ledger"]


def test_an_auditors_report_is_refused(tmp_path: Path) -> None:
    folder = audited(tmp_path)
    leafgate("audit", folder / "policy.yaml", "--out", folder / "out", "--audience", "auditor")
    ended = attest(folder)
    assert (ended.code, "is an auditor's report" in ended.err) == (2, True)
    assert not (folder / "statements" / STATEMENTS).exists()


@pytest.mark.parametrize("wrong", ["--release", "--file"])
def test_a_report_of_another_release_or_file_is_not_attested(folders: dict[str, Path], wrong: str) -> None:
    folder = folders["model"]
    right = {"--release": folder / "out" / "release.json", "--file": folder / "model.skops"}
    assert attest(folder, *(word for pair in right.items() for word in pair), out="right").code == 0
    for value in (folder / "people.csv", "0" * 64, folder / "nowhere", ""):
        ended = attest(folder, wrong, value, out="wrong")
        assert ended.code == 2
        assert wrong in ended.err or "of another run" in ended.err
        assert not (folder / "wrong" / STATEMENTS).exists()


@pytest.mark.thorough
def test_a_report_whose_waiver_is_over_is_not_attested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = waived(tmp_path)
    set_today(monkeypatch, TODAY + timedelta(days=11))
    ended = attest(folder)
    assert (ended.code, "does not apply any more" in ended.err) == (2, True)


def test_an_older_file_of_statements_never_outlives_a_refusal(tmp_path: Path) -> None:
    folder = audited(tmp_path)
    assert attest(folder).code == 0
    (folder / "private.pem").write_text("no key")
    assert attest(folder).code == 2
    assert not (folder / "statements" / STATEMENTS).exists()


def test_a_new_audit_sets_older_statements_aside(tmp_path: Path) -> None:
    folder = audited(tmp_path)
    assert attest(folder, out="out").code == 0
    (folder / "people.csv").write_text("no table")
    assert leafgate("audit", folder / "policy.yaml", "--out", folder / "out").code == 2
    assert not (folder / "out" / STATEMENTS).exists()


@pytest.mark.thorough
def test_an_audit_attests_its_own_report(tmp_path: Path) -> None:
    folder = audited(tmp_path)
    words = ("audit", folder / "policy.yaml", "--out", folder / "out", "--attest", folder / "private.pem")
    ended = leafgate(*words)
    assert (ended.code, "signed" in ended.err) == (0, True)
    assert verify(folder, "--release", folder / "out" / "release.json", out="out").code == 0
    survey(folder, OUTCOMES["fail"])
    assert leafgate(*words, "-q").code == 1
    assert verify(folder, out="out").code == 1
    assert leafgate(*words, "--audience", "auditor").code == 2
    assert leafgate("audit", folder / "policy.yaml", "--attest", folder / "private.pem").code == 2
    (folder / "private.pem").write_text("no key")
    refused = leafgate(*words)
    assert (refused.code, "private key" in refused.err) == (2, True)
    assert not (folder / "out" / STATEMENTS).exists()


def test_the_policys_digest_is_taken_before_the_first_attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from leafgate import Policy
    from leafgate.engine import audit as engine

    done: list[str] = []
    attack, digests = engine.attack, vars(Policy)["_digests"]

    def noted_attack(*words: Any) -> Any:
        done.append("attack")
        return attack(*words)

    def noted_digest(policy: Policy) -> Any:
        done.append("digest")
        return digests.fget(policy)

    monkeypatch.setattr(engine, "attack", noted_attack)
    monkeypatch.setattr(Policy, "_digests", property(noted_digest))
    audited(tmp_path)
    assert done == ["digest", "attack"]


def test_a_release_that_no_statement_names_says_how_to_name_it(folders: dict[str, Path]) -> None:
    folder = folders["fail"]
    ended = verify(folder, "--release", "0" * 64)
    assert ended.code == 2
    assert "names none" in ended.err
    assert "--with-digests" in ended.err
    other = verify(folder, "--release", "0" * 64, out="digests")
    assert (other.code, "--with-digests" in other.err, "of another run" in other.err) == (2, False, True)
