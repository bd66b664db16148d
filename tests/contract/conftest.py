"""Both time domains and all ways to compute windows, for every test that asks for them."""

from __future__ import annotations

import pytest

from tests.contract.windows import DOMAINS, WAYS, Domain, Way


@pytest.fixture(params=DOMAINS.values(), ids=DOMAINS.keys())
def domain(request: pytest.FixtureRequest) -> Domain:
    found: Domain = request.param
    return found


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found
