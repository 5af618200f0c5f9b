"""Modules have the names that they document, and no others."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types

import pytest

import ziggurat

PUBLIC = ["ziggurat", "ziggurat.gallery"]
MODULES = [f"ziggurat.{module.name}" for module in pkgutil.iter_modules(ziggurat.__path__)]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_has_its_public_names_only(name):
    module = importlib.import_module(name)
    names = {name for name in vars(module) if not name.startswith("_")}
    assert names == set(module.__all__) - {"__version__"}
    assert sorted(dir(module)) == sorted(module.__all__) and module.__all__ == sorted(module.__all__)


def test_all_other_modules_are_private():
    assert {name for name in MODULES if not name.rpartition(".")[2].startswith("_")} | {"ziggurat"} == set(PUBLIC)


@pytest.mark.parametrize("name", [name for name in MODULES if name != "ziggurat._native"])
def test_a_module_exports_what_it_defines(name):
    module = importlib.import_module(name)
    for exported in module.__all__:
        value = getattr(module, exported)
        assert not isinstance(value, types.ModuleType)
        assert getattr(value, "__module__", "ziggurat").partition(".")[0] in ("ziggurat", "typing", "collections")


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented(name):
    module = importlib.import_module(name)
    for exported in module.__all__:
        value = getattr(module, exported)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), exported
