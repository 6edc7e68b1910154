"""Sphinx builds the documentation site from the pages beside this file.

.venv/bin/sphinx-build -q -W -b html docs build/site
"""

import re
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

from pygments.lexers.shell import BashSessionLexer
from sphinx.application import Sphinx

project = "leafgate"
project_copyright = "the leafgate maintainers"
release = version = installed_version("leafgate")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["ci/**", "reproduce/**", "results/**"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
"""Headings down to this level are link targets, named as GitHub names them."""
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 900
"""Seconds that one cell of a notebook may take."""
nb_merge_streams = True

html_theme = "furo"
html_title = "leafgate"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["leafgate.css"]
html_js_files = ["scrollable.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
templates_path = ["_templates"]

sys.path.insert(0, str(Path(__file__).parent))
extensions.append("public_names")
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 100


PAGES_OF_FILES = {f"{name}.md": f"{name.lower()}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")}
"""Files of the repository's root, and their pages in `project`."""


def follow_links(app: Sphinx, file: Path, page: str, content: list[str]) -> None:
    """Let links of a file of the root lead from its page to the same places."""
    for name, of_page in PAGES_OF_FILES.items():
        content[0] = content[0].replace(f"]({name}", f"]({of_page}")
    content[0] = content[0].replace("](docs/", "](../")


def divide_modules(app: Sphinx, page: str, content: list[str]) -> None:
    """Give each module of a `public-modules` block a section of its own."""
    content[0] = re.sub(
        r"^```\{public-modules\}\n(.*?)^```$",
        lambda block: re.sub(r"(.+)", r"## \1\n\n```{public-names} \1\n```\n", block[1]),
        content[0],
        flags=re.DOTALL | re.MULTILINE,
    )


def setup(app: Sphinx) -> None:
    """Highlight `sh-session` blocks, which GitHub knows and Pygments calls `console`."""
    app.connect("source-read", divide_modules)
    app.add_lexer("sh-session", BashSessionLexer)
    app.connect("include-read", follow_links)
