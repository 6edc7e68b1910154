"""A stranger's plugin, installed without pip: the two files of a distribution that Python looks for."""

from __future__ import annotations

from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def install(folder: Path, module: str, source: str) -> None:
    """Put a distribution named like its one module into `folder`, which must be on the search path."""
    (folder / f"{module}.py").write_text(source)
    announce(folder, module)


def announce(folder: Path, module: str) -> None:
    """Put the two files of a distribution into `folder` whose plugin is `module`, found elsewhere."""
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(name=module))
    (info / "entry_points.txt").write_text(f"[leafgate]\n{module} = {module}\n")
