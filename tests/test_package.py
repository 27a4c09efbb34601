"""The package as a whole."""

import subprocess
import sys
from importlib.metadata import requires, version
from importlib.resources import files

import eosparse


def test_version_is_defined_once():
    assert version("eosparse") == eosparse.__version__


def test_only_scikit_learn_and_what_it_needs_are_required():
    required = {
        name.split(">")[0].strip() for name in requires("eosparse") or [] if "extra ==" not in name
    }
    assert required == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}


def test_it_is_typed():
    assert (files("eosparse") / "py.typed").is_file()


def test_public_names_exist():
    assert all(hasattr(eosparse, name) for name in eosparse.__all__)


def test_optional_packages_are_imported_when_they_are_needed():
    optional = ("matplotlib", "dask", "numba", "openTSNE")
    code = f"import sys, eosparse; print([name for name in {optional} if name in sys.modules])"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"
