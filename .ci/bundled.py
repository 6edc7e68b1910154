"""Add the programs and libraries that packages bring along to an SBOM, and validate it: no package manager lists them.

    python .ci/bundled.py SBOM SITE_PACKAGES

A package is what its metadata says. GEKKO also has the solver `apm`, whose source is closed, for five platforms;
NumPy and SciPy have OpenBLAS and the runtime of gfortran.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

BUNDLED = re.compile(r"[^/]+\.libs/.+|gekko/bin/apm[^/]*")
"""What no build of the package made: libraries that were put beside it, and programs."""


def bundled_files(site_packages: Path) -> dict[str, list[dict[str, Any]]]:
    """The files that each package brings along, as components of CycloneDX by the name of the package."""
    found: dict[str, list[dict[str, Any]]] = {}
    for distribution in distributions(path=[str(site_packages)]):
        for file in sorted(distribution.files or ()):
            if BUNDLED.fullmatch(str(file)):
                digest = hashlib.sha256((site_packages / file).read_bytes()).hexdigest()
                component = {"type": "file", "name": str(file), "hashes": [{"alg": "SHA-256", "content": digest}]}
                found.setdefault(distribution.name.lower(), []).append(component)
    return found


def main(sbom: Path, site_packages: Path) -> None:
    """Write the SBOM anew, with these files inside the components of their packages."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    document = json.loads(sbom.read_text(encoding="utf-8"))
    bundled = bundled_files(site_packages)
    for component in document["components"]:
        if files := bundled.pop(component["name"].lower(), None):
            component["components"] = files
    assert not bundled, f"not in the list: {sorted(bundled)}"
    content = f"{json.dumps(document, indent=2)}\n"
    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(content)
    assert problem is None, problem
    sbom.write_text(content, encoding="utf-8")
    print(f"{sbom}: {len(document['components'])} packages")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
