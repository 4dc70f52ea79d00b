"""What all tests of the server need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mirflow.service import security


@pytest.fixture(scope="session", autouse=True)
def _name_of_the_test_client() -> Iterator[None]:
    """The name under which Starlette's client asks where a test says none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security, "LOCAL", security.LOCAL | {"testserver"})
        yield
