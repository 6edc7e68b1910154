"""Models compressed by gzip, bzip2 and xz are read within bounds; folders are refused by what they are."""

import bz2
import gzip
import hashlib
import io
import lzma
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import leafgate
from installed_readers import file_bytes, is_foreign, neutral_file, read_foreign
from leafgate import ReleaseError
from patience import ends_soon
from sample_model import MODEL

PLAIN = neutral_file(MODEL)


def compressed(content: bytes, name: str = "", flags: int | None = None, more: bytes = b"") -> bytes:
    """A gzip file as programs write it; with `flags` and what follows the fixed part as nobody should."""
    if flags is None:
        made = io.BytesIO()
        with gzip.GzipFile(filename=name, mode="wb", fileobj=made, mtime=0) as file:
            file.write(content)
        return made.getvalue()
    plain = compressed(content)
    return plain[:3] + bytes([flags]) + plain[4:10] + more + plain[10:]


@pytest.mark.parametrize("name", ["", "model.json"])
def test_a_gzip_file_is_read_as_what_it_holds(name: str) -> None:
    content = compressed(PLAIN, name)
    assert is_foreign(content[:4096])
    assert neutral_file(read_foreign(content, "model.json.gz")) == PLAIN


POLICY = """
leafgate: 1
name: model
data:
  path: people.csv
  columns:
    age: {role: quasi_identifier, bounds: [17, 90]}
    school: {role: quasi_identifier, values: [none, basic, high]}
    income: {role: [class, sensitive], values: [low, high]}
build: {use: published, path: FILE}
publish: {leaves: counts}
attacks: [{use: linking}]
metrics: [{use: k_anonymity, at_least: 2}]
"""


def test_a_gzip_file_is_audited_and_converted_as_what_it_holds(tmp_path: Path) -> None:
    people = "age,school,income\n" + "20,none,low\n30,basic,low\n" * 2 + "37,high,low\n25,high,high\n"
    (tmp_path / "people.csv").write_text(people)
    files = {"model.json": PLAIN, "model.json.gz": compressed(PLAIN)}
    documents, converted = [], []
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / "policy.yaml").write_text(POLICY.replace("FILE", name))
        document = dict(leafgate("audit", tmp_path / "policy.yaml", "--json").document)
        assert document["release"]["file"]["sha256"] == hashlib.sha256(content).hexdigest()
        documents.append((document["verdict"], [each["id"] for each in document["findings"]]))
        assert leafgate("convert", tmp_path / name, tmp_path / f"{name}.new.json").code == 0
        converted.append((tmp_path / f"{name}.new.json").read_bytes())
    assert documents[0] == documents[1]
    assert converted[0] == converted[1]


UNFIT: dict[str, tuple[Callable[[], bytes], str]] = {
    "the name of another file": (lambda: compressed(PLAIN, "jane-smith.json"), "name of another file"),
    "a comment": (lambda: compressed(PLAIN, flags=16, more=b"Jane Smith\x00"), "comment"),
    "an extra field": (lambda: compressed(PLAIN, flags=4, more=b"\x04\x00Jane"), "comment"),
    "bytes behind the end": (lambda: compressed(PLAIN) + b"Jane Smith", "goes on after its end"),
    "a second file": (lambda: compressed(PLAIN) + compressed(b"Jane Smith"), "goes on after its end"),
    "no end": (lambda: compressed(PLAIN)[:-9], "ends too early"),
    "damage": (lambda: compressed(PLAIN)[:40] + b"\xff" * 40 + compressed(PLAIN)[80:], "damaged"),
    "nothing that is known": (lambda: compressed(b"age,sex\n37,f\n"), "no model of a format that is known"),
    "a gzip file": (lambda: compressed(compressed(PLAIN)), "no model of a format that is known"),
}


@pytest.mark.parametrize(("make", "why"), UNFIT.values(), ids=UNFIT)
def test_a_gzip_file_that_holds_anything_else_is_refused(make: Callable[[], bytes], why: str) -> None:
    with pytest.raises(ReleaseError, match=why) as refusal:
        read_foreign(make(), "model.json.gz")
    assert "ane" not in str(refusal.value).replace("than", "")


@pytest.mark.thorough
def test_a_gzip_file_that_would_fill_the_memory_is_refused_soon() -> None:
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    chunk = b'{"learner":' + bytes(2**20)
    content = b"".join(compressor.compress(chunk) for _ in range(2**8 + 1)) + compressor.flush()
    assert len(content) < 2**20
    with ends_soon(), pytest.raises(ReleaseError, match="decompresses to more than 256 MB"):
        read_foreign(content, "model.json.gz")


def test_a_compressed_pickle_is_a_pickle(tmp_path: Path) -> None:
    content = compressed(pickle.dumps([1.0] * 5000), "model.pkl")
    with pytest.raises(ReleaseError, match="is a pickle"):
        read_foreign(content, "model.joblib")
    (tmp_path / "model.joblib").write_bytes(content)
    (tmp_path / "policy.yaml").write_text(POLICY.replace("FILE", "model.joblib"))
    assert "is a pickle" in leafgate("validate", tmp_path / "policy.yaml").err


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_bzip2_and_xz_files_are_read_as_what_they_hold(pack: Callable[[bytes], bytes]) -> None:
    assert neutral_file(read_foreign(pack(PLAIN), "model.json.xz")) == PLAIN
    with pytest.raises(ReleaseError, match="is a pickle"):
        read_foreign(pack(pickle.dumps([1.0] * 5000)), "model.joblib")
    with pytest.raises(ReleaseError, match="goes on after its end"):
        read_foreign(pack(PLAIN) + pack(b"Jane Smith"), "model.json.xz")


def test_an_xz_file_that_asks_for_a_large_dictionary_is_refused() -> None:
    content = bytearray(lzma.compress(PLAIN))
    end = 12 + (content[12] + 1) * 4  # of the header of the first block, which follows that of the file
    content[16] = 37  # 1.5 GiB
    content[end - 4 : end] = zlib.crc32(content[12 : end - 4]).to_bytes(4, "little")
    assert lzma.decompress(content) == PLAIN
    with pytest.raises(ReleaseError, match="takes more than 128 MB"):
        read_foreign(bytes(content), "model.json.xz")


def test_a_folder_without_a_model_of_mlflow_is_refused_with_what_to_name(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.xgb").write_text("{}")
    with pytest.raises(ReleaseError, match=r"is a folder, not a model's file.*file MLmodel"):
        file_bytes(folder)


def test_no_more_of_a_file_is_read_than_may_be(tmp_path: Path) -> None:
    with (tmp_path / "people.csv").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ReleaseError, match="is larger than"):
        file_bytes(tmp_path / "people.csv")
