"""Upload a model to Hugging Face after an audit of this very file has passed, with what it found in the model card.

    python -I hugging_face_upload.py POLICY MODEL CARD OWNER/NAME

POLICY says `build: {use: published, path: MODEL}`. The audit is made now, in a new folder, so no older report can stand
in for it. The exit code is the audit's; 2 also where it audited another file. Nothing is uploaded unless it is 0.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BEGIN, END = "<!-- leafgate: begin -->", "<!-- leafgate: end -->"


def section(report_markdown: str) -> str:
    """The model card's section; headings are a level deeper than the report's."""
    deeper = re.sub(r"^#", "##", report_markdown, flags=re.MULTILINE)
    return f"{BEGIN}\n## What this model discloses\n\n{deeper.strip()}\n{END}\n"


def with_section(card: str, text: str) -> str:
    """A model card whose section is this one, in the place of an older one or at the end."""
    before, begin, rest = card.partition(BEGIN)
    after = rest.partition(END)[2].lstrip("\n") if begin else ""
    return before.rstrip("\n") + "\n\n" + text + after


def main(policy: str, model: str, card: str, repository: str) -> int:
    """Audit, and upload after a pass."""
    with tempfile.TemporaryDirectory() as temporary:
        results, staged = Path(temporary) / "results", Path(temporary) / "staged"
        staged.mkdir()
        name = Path(model).name
        (staged / name).write_bytes(Path(model).read_bytes())
        command = ["leafgate", "audit", f"--out={results}", "--to=markdown", "--", os.path.abspath(policy)]
        code = subprocess.run(command, check=False).returncode  # noqa: S603
        if code != 0:
            return code
        report = json.loads((results / "report.json").read_bytes())
        audited = report["release"].get("file", {}).get("sha256")
        if report["verdict"] != "pass" or audited != hashlib.sha256((staged / name).read_bytes()).hexdigest():
            print(f"{model}: is not the file that was audited; nothing is uploaded", file=sys.stderr)
            return 2
        text = with_section(Path(card).read_text(encoding="utf-8"), section((results / "report.md").read_text("utf-8")))
        (staged / "README.md").write_text(text, encoding="utf-8")
        (staged / "leafgate-report.json").write_bytes((results / "report.json").read_bytes())

        from huggingface_hub import HfApi

        HfApi().upload_folder(folder_path=str(staged), repo_id=repository, commit_message=f"{name}: audited")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
