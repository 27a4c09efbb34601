"""Rules of the house that no linter knows; see CONTRIBUTING.md."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "eosparse"
FILES = sorted(SOURCE.rglob("*.py"))
TREES = {path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
# Nouns and verbs that end like participles, or noun phrases that begin with one.
ALLOWED = {"seed", "embed", "feed", "speed", "need", "exceed"}
NOUN_PHRASES = re.compile(r"^(weighted|centred|squared|bounded|fitted|shared)_\w*[a-z]$")
IRREGULAR = {"told", "held", "kept", "shown", "drawn", "given", "known", "taken", "seen", "made"}


def functions(tree):
    """Functions that are called as such: properties are attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            if not any("property" in decorator for decorator in decorators):
                yield node


def is_participle(name):
    words = name.strip("_").split("_")
    if name.startswith("test_") or NOUN_PHRASES.match(name.strip("_")):
        return False
    return words[0] in IRREGULAR or (words[0].endswith("ed") and words[0] not in ALLOWED)


@pytest.mark.parametrize("path", TREES, ids=str)
def test_functions_are_not_named_by_participles(path):
    assert not [node.name for node in functions(TREES[path]) if is_participle(node.name)]


def test_only_exceptions_end_in_error():
    classes = {n.name: n for tree in TREES.values() for n in ast.walk(tree)
               if isinstance(n, ast.ClassDef)}  # fmt: skip
    for name, node in classes.items():
        bases = [ast.unparse(base) for base in node.bases]
        is_exception = any(base.endswith(("Error", "Exception")) for base in bases)
        assert name.endswith("Error") == is_exception, name


def test_no_type_of_a_storage_or_model_is_asked_for_elsewhere():
    homes = {
        node.name: path
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and path.parts[0] in ("rows", "models")
        and node.name.endswith(("Rows", "Model"))
        and node.name != "TableModel"  # what is no model at all has to be told
    }
    assert len(homes) > 10
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = set(re.findall(r"\w+", ast.unparse(node.args[1])))
                assert not {name for name in asked & set(homes) if homes[name] != path}, path


@pytest.mark.parametrize("path", TREES, ids=str)
def test_files_and_functions_are_short(path):
    text = (SOURCE / path).read_text(encoding="utf-8")
    assert text.count("\n") <= 450
    for node in functions(TREES[path]):
        documentation = (ast.get_docstring(node, clean=False) or "").count("\n")
        assert node.end_lineno - node.lineno - documentation <= 50, node.name


def test_storages_are_written_by_one_file_and_files_renamed_in_one_place():
    renames = [path for path in TREES if "os.replace(" in (SOURCE / path).read_text("utf-8")]
    assert renames == [Path("rows/whole_file.py")]
