"""The public names of the kit: each is what it says, in whatever order its modules were imported."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import pytest

import graph_agent
from graph_agent import testing


def test_no_module_stands_where_a_public_name_is_wanted() -> None:
    """A submodule, once imported, would hide a function of the same name."""
    for package in (testing, graph_agent):
        modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
        assert modules & set(package.__all__) == set()


@pytest.mark.parametrize("name", testing.__all__)
def test_each_name_is_there_and_is_no_module(name: str) -> None:
    for module in pkgutil.iter_modules(testing.__path__):
        if module.name != "substitute":  # a script of its own
            importlib.import_module(f"graph_agent.testing.{module.name}")
    found = getattr(testing, name)
    assert not isinstance(found, ModuleType)
    assert name in dir(testing)


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'explode'"):
        testing.explode  # type: ignore[attr-defined]
