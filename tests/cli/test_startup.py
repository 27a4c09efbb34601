"""Nothing heavy is imported before it is needed."""

import json
import subprocess
import sys

import pytest

import eosparse

HEAVY = ("pandas", "matplotlib", "pyarrow", "dask", "scipy.stats", "sklearn")


def run_and_list_imports(code):
    """Run code in a new process; return what it prints, and the heavy packages it imports."""
    listing = f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    script = f"import json, sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n{listing}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    *printed, listed = done.stdout.splitlines()
    return printed, json.loads(listed)


def test_the_package_imports_nothing_heavy():
    assert run_and_list_imports("import eosparse") == ([], [])


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_answers_without_heavy_packages(option):
    code = f"sys.argv = ['eosparse', '{option}']; from eosparse.cli import main; main()"
    printed, imported = run_and_list_imports(code)
    assert imported == []
    if option == "--version":
        assert printed == [f"eosparse {eosparse.__version__}"]
    else:
        assert any(line.strip().startswith("detect") for line in printed)


def test_names_are_imported_when_they_are_used():
    printed, imported = run_and_list_imports(
        "import eosparse; print(eosparse.EOSDetector.__name__)"
    )
    assert printed == ["EOSDetector"]
    assert "sklearn" in imported
    assert "matplotlib" not in imported


def test_public_names_and_subpackages_can_be_listed():
    assert {*eosparse.__all__, "datasets", "models", "tables"} <= set(dir(eosparse))
    assert eosparse.tables.Role.NUMBER.is_used
    with pytest.raises(AttributeError, match="no attribute 'EOSDetectr'"):
        _ = eosparse.EOSDetectr


def test_public_names_are_those_that_type_checkers_see():
    import ast
    from pathlib import Path

    tree = ast.parse(Path(eosparse.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in block.body for alias in node.names}
    assert names == set(eosparse.__all__)
