"""Commands of campaigns, registered by entry points of the package."""

from functools import partial

import click

default_option = partial(click.option, show_default=True)  # an option whose default the help shows
