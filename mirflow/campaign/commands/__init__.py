"""Commands of campaigns, registered by entry points of the package.

Several of them check here that the packages of the server are installed, and name the local user for the audit log.
"""

from functools import partial
from importlib.util import find_spec

import click

from ...errors import MirflowError

default_option = partial(click.option, show_default=True)  # an option whose default the help shows
# Modules of the extra `serve`.
_PACKAGES = (
    *("alembic", "jinja2", "markdown_it", "prometheus_client", "pyloudnorm", "python_multipart", "sqlalchemy"),
    *("standardwebhooks", "starlette", "uvicorn"),
)


def demand_packages() -> None:
    """Check that the packages of the server are installed."""
    for name in _PACKAGES:
        if find_spec(name) is None:
            raise MirflowError(f"the server needs {name}: pip install 'mirflow[serve]', or '.[serve]' in a checkout")


def operator() -> str:
    """Return the name of the local user, for the audit log."""
    import getpass

    try:
        return f"{getpass.getuser()} at the command line"
    except (KeyError, OSError):
        return "the command line"
