"""Models on disk: the same answers, no code, and clear errors."""

import io
import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest

import eosparse
from eosparse import EOSDetector
from eosparse.datasets import make_contaminated
from eosparse.models import GaussianModel
from eosparse.tables import recognise_columns, take_cells
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
    from eosparse.rows.sealed_file import find_digest

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
