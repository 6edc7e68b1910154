"""Sphinx builds the documentation site from the pages beside this file.

.venv/bin/sphinx-build -q -W -b html docs build/site
"""

from importlib.metadata import version as installed_version

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
nb_execution_timeout = 300
"""Seconds that one cell of a notebook may take."""
nb_merge_streams = True

html_theme = "furo"
html_title = "leafgate"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["leafgate.css"]
html_js_files = ["scrollable.js"]
templates_path = ["_templates"]
autodoc_typehints = "description"
autodoc_member_order = "bysource"


def setup(app: Sphinx) -> None:
    """Highlight `sh-session` blocks, which GitHub knows and Pygments calls `console`."""
    app.add_lexer("sh-session", BashSessionLexer)
