"""How the documentation is built: ``sphinx-build -W -E docs docs/_build``."""

import sys
from importlib.metadata import version as _version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mirflow"
author = "the authors of mirflow"
version = release = _version("mirflow")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mirflow_docs"]
exclude_patterns = ["_build", "_ext"]

# Notebooks have no outputs in the repository: they are executed here, each in an empty folder.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
_about = "mirflow evaluates music information retrieval systems over whole datasets: scores, tests, figures, reports."
myst_html_meta = {
    "description": _about,
    "property=og:title": "mirflow",
    "property=og:description": _about,
    "property=og:type": "website",
    "property=og:image": "_static/first-screen.png",  # a host that knows its address may make it absolute
}

smartquotes = False  # options begin with two hyphens
highlight_language = "text"  # of blocks that name none: not Python

autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "py:obj"  # `name` in docstrings
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
napoleon_custom_sections = ["Conventions", "Metrics"]  # of the modules of tasks

html_theme = "furo"
html_title = "mirflow"
html_favicon = "../mirflow/campaign/site/assets/icon.svg"
html_static_path = ["_static"]
html_css_files = ["mirflow.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c7d", "color-brand-content": "#0b5c7d"},
    "dark_css_variables": {"color-brand-primary": "#7cc4e4", "color-brand-content": "#7cc4e4"},
}
# Fonts, scripts and styles all come from the build: pages open from disk and ask no server for anything.
