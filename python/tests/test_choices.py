"""The choices of a configuration: listed once in Rust, documented and accepted in Python."""

import inspect

import pytest

import ziggurat


@pytest.mark.parametrize("key", ["method", "krylov"])
def test_docstrings_name_every_choice(key):
    text = inspect.getdoc(ziggurat.solver)
    missing = [name for name in ziggurat.choices()[key] if f"'{name}'" not in text]
    assert not missing


def test_every_choice_is_accepted():
    A = ziggurat.gallery.poisson2d(6)
    for path, names in ziggurat.choices().items():
        for name in names:
            config = name
            for key in reversed(path.split(".")):
                config = {key: config}
            if name == "cpr":  # this matrix has no cells by itself
                config["cpr"] = {"unknowns": 2}
            if name == "fc-jacobi":  # its coarse rows are among the fine ones
                config["method"] = "classical"
            if name == "device":  # there are no GPUs in Python yet
                with pytest.raises(ziggurat.ConfigError, match="`device` needs a GPU"):
                    ziggurat.solver(A, config=config)
                continue
            ziggurat.solver(A, config=config)
