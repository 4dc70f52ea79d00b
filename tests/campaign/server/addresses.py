"""Every address of a server, found by its routes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlalchemy import select
from starlette.routing import BaseRoute, Mount, Route

from mirflow.campaign.server.app import create_app
from mirflow.campaign.server.service import Service
from mirflow.campaign.server.submissions.submission_tables import Submission


def leaves(routes: list[BaseRoute]) -> Iterator[Route]:
    for route in routes:
        if isinstance(route, Mount):
            yield from leaves(list(route.routes))
        elif isinstance(route, Route):
            yield route


def addresses(service: Service) -> list[tuple[str, str]]:
    """Methods and addresses of every route, with the names of what is there and of what is hidden."""
    with service.database.read() as session:
        ids = list(session.scalars(select(Submission.id)))
        names = list(session.scalars(select(Submission.name)))
    values = {
        "store": ["dev", "test", "..%2Fstores%2Ftest", "test.zarr"],
        "evaluation": ["chord"],
        "system": names[:3],
        "track": ["dev0", "test0"],
        "submission": ids,
        "audio": ["test0", "0" * 32],
        "path": ["zarr.json", "chord/score/c/0/0/0", "chord/message/c/0/0", "../stores/test.zarr/zarr.json"],
        "key": ["zarr.json", "chord/score/c/0/0/0"],
        "address": ["chord/score", "../../stores/test.zarr/chord/score/c/0/0/0"],
        "round": ["none"],
        "token": ["x"],
        "name": ["site.css", "..%2Fcampaign.yaml"],
        "digest": ["x"],
    }
    found: list[tuple[str, str]] = []
    for route in leaves(list(create_app(service).routes)):
        filled = [route.path]
        for parameter in re.findall(r"\{(\w+)(?::\w+)?\}", route.path):
            place = re.compile(r"\{" + parameter + r"(?::\w+)?\}")
            filled = [
                place.sub(lambda _, one=one: one, path) for path in filled for one in values.get(parameter, ["x"])
            ]
        methods = sorted((route.methods or {"GET"}) - {"HEAD"})
        found += [(method, path) for path in filled for method in methods]
    return found
