"""Models on disk: the same answers, no code, and clear errors."""

import io
import json
import pickle
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import eosparse
from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.models import GaussianModel, MixtureModel, Normal
from eosparse.rows import fit_margins
from eosparse.rows.sealed_file import find_digest, from_npy, to_npy
from eosparse.tables import recognise_columns, take_cells
from eosparse.tables.model_checks import _is_margin, check_type
from eosparse.tables.models import ModelError, load_model, save_model


def made(n_rows=300, n_columns=4, **options):
    X, _ = make_contaminated(n_rows, n_columns, 0.1, random_state=0)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(n_columns)])
    columns = recognise_columns(frame)
    cells = take_cells(frame, columns)
    return EOSDetector(**options).fit(frame), columns, cells, frame


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((300, 4), {}),
        ((300, 4), {"alpha": 0.5, "weight_cut": 0.01}),
        ((300, 4), {"model": GaussianModel("diag"), "level": 0.01}),
        ((40, 60), {}),
    ],
)
def test_a_loaded_model_gives_the_same_answers(tmp_path, sizes, options):
    detector, columns, cells, frame = made(*sizes, **options)
    save_model(detector, columns, cells, tmp_path / "m.eos")
    saved = load_model(tmp_path / "m.eos")
    for name in ("p_values", "predict", "score_samples", "mahalanobis"):
        np.testing.assert_array_equal(
            getattr(saved.detector, name)(frame), getattr(detector, name)(frame)
        )
    np.testing.assert_array_equal(
        saved.detector.explain(frame).contributions, detector.explain(frame).contributions
    )
    assert saved.version == eosparse.__version__
    assert [c.name for c in saved.columns] == list(frame.columns)
    assert list(tmp_path.iterdir()) == [tmp_path / "m.eos"]


def tables_of_every_rung():
    """Tables with categories and dates, by the rung that describes them."""
    rng = np.random.default_rng(0)
    n = 600
    sex = rng.choice(["f", "m"], n)
    plain = pd.DataFrame({"sex": sex, "size": rng.normal(np.where(sex == "f", 165, 180), 7)})
    plain["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.normal(0, 9, n).round(), "D")
    skewed = plain.assign(income=np.exp(rng.normal(size=n)))
    groups = plain.assign(x=rng.normal(20 * (np.arange(n) % 2), 1), y=rng.normal(size=n))
    heap = plain.assign(rain=np.maximum(rng.normal(size=n), 0))
    return {"gaussian": plain, "margins": skewed, "groups": groups, "local": heap}


@pytest.mark.parametrize("rung", ["gaussian", "margins", "groups", "local"])
def test_every_rung_is_saved(tmp_path, rung):
    frame = tables_of_every_rung()[rung]
    columns = recognise_columns(frame)
    cells = take_cells(frame, columns)
    detector = EOSDetector(model="auto" if rung == "gaussian" else rung).fit(cells.frame)
    assert detector.rung_ == rung
    save_model(detector, columns, cells, tmp_path / "m.eos")
    saved = load_model(tmp_path / "m.eos").detector
    for name in ("p_values", "predict", "score_samples", "transform"):
        np.testing.assert_array_equal(
            getattr(saved, name)(cells.frame), getattr(detector, name)(cells.frame)
        )
    for name in ("rung_", "reason_", "promise_", "columns_"):
        assert getattr(saved, name) == getattr(detector, name)
    assert [str(group) for group in saved.groups_] == [str(group) for group in detector.groups_]


def with_gaps(frame):
    rng = np.random.default_rng(1)
    return frame.mask(rng.random(frame.shape) < 0.03)


def other_models():
    """Frames and options beside the rungs: gaps, levels, named models, structures, rules."""
    rng = np.random.default_rng(2)
    plain = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    levels = plain.assign(k=rng.integers(0, 4, 200), m=rng.integers(0, 3, 200))
    rungs = tables_of_every_rung()
    gaps = {name: with_gaps(frame.head(150)) for name, frame in rungs.items()}
    named = ("clusters", "subspace", "regression")
    return {
        **{f"{name} with gaps": (gaps[name], {"model": name}) for name in list(rungs)[1:]},
        "gaussian with gaps": (gaps["gaussian"], {}),
        **{name: (plain, {"model": name}) for name in named},
        **{f"{name} without weights": (plain, {"model": name, "alpha": np.inf}) for name in named},
        "subspace with gaps": (with_gaps(plain), {"model": "subspace"}),
        "levels": (levels, {}),
        "mixture": (plain.head(80), {"model": MixtureModel(2)}),
        "kinds": (rungs["groups"].head(150), {"groups": "kinds"}),
        "dependent columns": (plain.assign(d=plain["a"] + plain["b"]), {}),
        "share": (plain, {"contamination": 0.1}),
        "single-precision alpha": (plain, {"alpha": np.float32(0.9), "fdr": np.float32(0.02)}),
        "fractions": (plain, {"alpha": Fraction(9, 10), "level": Fraction(1, 50)}),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(other_models()))
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_model_is_saved(tmp_path, name):
    frame, options = other_models()[name]
    columns = recognise_columns(frame)
    cells = take_cells(frame, columns, missing="keep")
    detector = EOSDetector(**options).fit(cells.frame)
    save_model(detector, columns, cells, tmp_path / "m.eos")
    saved = load_model(tmp_path / "m.eos").detector
    new = cells.frame if options.get("model") in NO_GAPS else with_gaps(cells.frame)
    for method in ("p_values", "predict", "score_samples", "transform"):
        answer = getattr(saved, method)(new)
        np.testing.assert_array_equal(answer, getattr(detector, method)(new))
        assert np.isfinite(answer).all()


NO_GAPS = ("clusters", "regression")


def rewritten(path, change):
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


@pytest.fixture
def path(tmp_path):
    detector, columns, cells, _ = made()
    save_model(detector, columns, cells, tmp_path / "m.eos")
    return tmp_path / "m.eos"


def test_a_changed_file_is_refused(path):
    def change(files):
        files["model.json"] = files["model.json"].replace(b'"fdr": 0.01', b'"fdr": 0.99')

    rewritten(path, change)
    with pytest.raises(ModelError, match="modified after it was saved"):
        load_model(path)


def forged(path, change):
    """Change the contents and the digest along."""

    def both(files):
        files.pop("digest")
        content = json.loads(files["model.json"])
        change(content, files)
        files["model.json"] = json.dumps(content).encode()
        files["digest"] = find_digest(files).encode()

    rewritten(path, both)


def test_other_formats_name_the_version(path):
    def change(content, _files):
        content["format"], content["eosparse"] = 99, "9.9"

    forged(path, change)
    with pytest.raises(ModelError, match=r"format 99.*install eosparse 9\.9"):
        load_model(path)


def test_only_our_classes_come_out(path):
    def change(content, _files):
        content["judge"]["class"] = "Popen"

    forged(path, change)
    with pytest.raises(ModelError, match="Popen"):
        load_model(path)


def test_pickles_are_not_loaded(path):
    class Evil:
        def __reduce__(self):
            return (print, ("run",))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Evil()], dtype=object), allow_pickle=True)

    def change(_content, files):
        files["array0.npy"] = buffer.getvalue()

    forged(path, change)
    with pytest.raises(ModelError, match="not an eosparse model"):
        load_model(path)


def set_at(*keys, value):
    """Return a change of model.json at a place."""

    def change(content, _files):
        for key in keys[:-1]:
            content = content[key]
        assert keys[-1] in content or isinstance(content, list)
        content[keys[-1]] = value

    return change


def set_array(of, edit):
    """Return a change of the array of a field of the judged θ."""

    def change(content, files):
        fields = content["judge"]["fields"]["fit"]["fields"]["result"]["fields"]["last"]["fields"]
        name = f"{fields[of]['array']}.npy"
        files[name] = to_npy(edit(from_npy(files[name])))

    return change


def drop(name):
    return lambda _content, files: files.pop(name)


FIT = ("judge", "fields", "fit", "fields")
FORGERIES = [
    ("negative variance", set_array("covariance", np.negative)),
    ("singular", set_array("covariance", np.ones_like)),
    ("not symmetric", set_array("covariance", np.triu)),
    ("not finite", set_array("location", lambda a: a * np.nan)),
    ("too long", set_array("location", lambda a: np.append(a, 0.0))),
    ("another shape", set_array("covariance", lambda a: a[:, :-1])),
    ("another type", set_array("location", lambda a: a.astype(int))),
    ("a word for a number", set_at("judge", "fields", "cut", value="7")),
    ("NaN", set_at("judge", "fields", "cut", value=float("nan"))),
    ("no rows", set_at(*FIT, "n_rows", value=0.0)),
    ("infinite rows", set_at(*FIT, "n_rows", value=float("inf"))),
    ("true", set_at(*FIT, "n_rows", value=True)),
    ("another class", set_at("judge", "fields", "law", "class", value="Normal")),
    ("no law", set_at("judge", "fields", "law", value=None)),
    ("negative scale", set_at("judge", "fields", "law", "fields", "scale", value=-1.0)),
    ("no weight", set_at("judge", "fields", "held", value=0.0)),
    ("another column", set_at("names", 0, value="other")),
    ("one column less", set_at("names", value=["c0", "c1", "c2"])),
    ("names are numbers", set_at("names", value=[0, 1, 2, 3])),
    ("a role that is none", set_at("columns", 0, "role", value="king")),
    ("columns of another role", set_at("columns", 0, "role", value="text")),
    ("fills are a list", set_at("fills", value=[])),
    ("a date format that is none", set_at("formats", value={"c0": 3})),
    ("a parameter out of range", set_at("parameters", "fdr", value=7)),
    ("an unknown parameter", set_at("parameters", value={"verbose": True})),
    ("statements are missing", set_at("statements", value={})),
    ("no promise", set_at("statements", "promise_", value=None)),
    ("no JSON object", lambda content, _files: content.clear()),
    ("an array is missing", drop("array0.npy")),
    ("an array too many", lambda _c, files: files.update({"array99.npy": to_npy(np.ones(2))})),
    ("a file too many", lambda _c, files: files.update({"readme.txt": b"hello"})),
]


@pytest.mark.parametrize(("_name", "change"), FORGERIES, ids=[name for name, _ in FORGERIES])
def test_forged_models_are_refused_in_a_sentence(path, _name, change):
    forged(path, change)
    with pytest.raises(ModelError, match="not an eosparse model, or was damaged") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("bracket", [b"[", b'{"a":'])
def test_nested_json_is_refused(path, bracket):
    def change(files):
        files.pop("digest")
        files["model.json"] = bracket * 100_000
        files["digest"] = find_digest(files).encode()

    rewritten(path, change)
    with pytest.raises(ModelError, match="not an eosparse model, or was damaged"):
        load_model(path)


def test_json_beyond_the_limit_is_not_parsed(path, monkeypatch):
    monkeypatch.setattr("eosparse.tables.models._MOST_JSON_BYTES", 100)
    with pytest.raises(ModelError, match="more than 100 bytes besides its numbers"):
        load_model(path)
    with pytest.raises(ModelError, match="4 columns with their names and categories are too many"):
        save_model(*made()[:3], path)


@pytest.mark.parametrize("content", [b"", b"nonsense", pickle.dumps({"a": 1})])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "m.eos").write_bytes(content)
    with pytest.raises(ModelError, match="not an eosparse model"):
        load_model(tmp_path / "m.eos")


def test_files_cut_off_are_refused(path):
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ModelError, match="not an eosparse model"):
        load_model(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelError, match="File not found"):
        load_model(tmp_path / "nothing.eos")


def test_a_location_whose_square_fits_no_float_is_refused():
    forged = Normal(np.array([-1e300, 0.0]), np.eye(2))
    with pytest.raises(ValueError, match="theta"):
        check_type(forged, Normal, "theta")
    check_type(Normal(np.zeros(2), np.eye(2)), Normal, "theta")


@pytest.mark.parametrize("numbers", [(0.0, -1e3), (-9.0, 0.0), (0.0, 4.0)])
def test_a_margin_has_numbers_that_a_fit_finds(numbers):
    margin = fit_margins(np.exp(np.random.default_rng(0).normal(size=(500, 1))), np.ones(500))
    found = margin.columns[0]
    assert _is_margin(found)
    assert not _is_margin(replace(found, numbers=numbers))
