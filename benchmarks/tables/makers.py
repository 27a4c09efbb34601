"""Three tables as people have them, with some wrong rows, drawn from fixed seeds.

Each function writes a file and returns which rows are wrong.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

_Rng = np.random.Generator


def make_clinic_visits(path: Path, n_rows: int = 5000) -> np.ndarray:
    """Write a messy CSV: ids, dates, categories, gaps of several kinds, decimal commas, text."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], n_rows)
    height = np.where(sex == "m", 178.0, 165.0) + rng.normal(0, 7, n_rows)
    weight = 0.9 * (height - 95) + rng.normal(0, 9, n_rows)
    systolic = rng.normal(126, 13, n_rows)
    table = pd.DataFrame(
        {
            "visit_id": rng.permutation(10 * n_rows)[:n_rows],
            "patient_id": rng.integers(1, n_rows // 3, n_rows),
            "visited_on": pd.to_datetime("2023-01-02")
            + pd.to_timedelta(rng.integers(0, 700, n_rows), "D"),
            "born": (19_000_000 + 10_000 * rng.integers(25, 99, n_rows))
            + 100 * rng.integers(1, 13, n_rows)
            + rng.integers(1, 29, n_rows),
            "ward": rng.choice(["north", "south", "east", "day clinic"], n_rows),
            "sex": sex,
            "height_cm": height,
            "weight_kg": weight,
            "systolic": systolic,
            "diastolic": 0.55 * systolic + rng.normal(11, 6, n_rows),
            "temperature_c": rng.normal(36.7, 0.35, n_rows),
            "glucose_mg_dl": np.exp(rng.normal(4.5, 0.12, n_rows)),
            "country": "DE",
            "remark": [
                f"seen in room {i % 17}, next visit in {i % 5} weeks" for i in range(n_rows)
            ],
        }
    )
    wrong = _corrupt_visits(table, rng)
    table["visited_on"] = table["visited_on"].dt.strftime("%d.%m.%Y")
    table = table.round(1)
    for name, gap in (("weight_kg", ""), ("glucose_mg_dl", "not done"), ("temperature_c", "?")):
        cells = table[name].map(lambda value: f"{value:.1f}".replace(".", ","))
        table[name] = cells.where(rng.random(n_rows) > 0.02, gap)
    table.loc[rng.random(n_rows) < 0.01, "ward"] = None
    table.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252")
    return wrong


def _corrupt_visits(table: pd.DataFrame, rng: _Rng) -> np.ndarray:
    """Make one row in fifty wrong: metres, pounds, pressures swapped, Fahrenheit, mmol/l."""
    wrong = rng.choice(len(table), len(table) // 50, replace=False)
    parts = np.array_split(wrong, 5)
    table.loc[parts[0], "height_cm"] /= 100
    table.loc[parts[1], "weight_kg"] *= 2.2046
    table.loc[parts[2], ["systolic", "diastolic"]] = table.loc[
        parts[2], ["diastolic", "systolic"]
    ].to_numpy()
    table.loc[parts[3], "temperature_c"] = table.loc[parts[3], "temperature_c"] * 1.8 + 32
    table.loc[parts[4], "glucose_mg_dl"] /= 18.016
    return _mark(len(table), wrong)


def make_machine_readings(path: Path, n_rows: int = 1_000_000) -> np.ndarray:
    """Write a Parquet file of readings: a time, a machine, ten correlated sensors."""
    rng = np.random.default_rng(2)
    n_sensors = 10
    load = rng.standard_normal((n_rows, 3))
    sensors = load @ rng.normal(0, 1, (3, n_sensors)) + 0.5 * rng.standard_normal(
        (n_rows, n_sensors)
    )
    machine = rng.integers(0, 6, n_rows)
    sensors += rng.normal(0, 3, (6, n_sensors))[machine]
    sensors = 50 + 4 * sensors
    wrong = rng.choice(n_rows, n_rows // 200, replace=False)
    stuck, shifted, crossed = np.array_split(wrong, 3)
    sensors[stuck, rng.integers(0, n_sensors, len(stuck))] = 0.0
    sensors[shifted, rng.integers(0, n_sensors, len(shifted))] += 25.0
    sensors[crossed] = np.roll(sensors[crossed], 1, axis=1)
    table = pd.DataFrame(sensors, columns=[f"sensor_{i}" for i in range(n_sensors)])
    table.insert(0, "machine", pd.Categorical.from_codes(machine, [f"M{i}" for i in range(6)]))
    table.insert(0, "read_at", pd.date_range("2024-01-01", periods=n_rows, freq="s"))
    table.insert(0, "reading", np.arange(n_rows))
    table.to_parquet(path, index=False)
    return _mark(n_rows, wrong)


def make_gene_expression(path: Path, n_rows: int = 200, n_genes: int = 5000) -> np.ndarray:
    """Write a wide CSV: samples of one tissue by genes, a few of them from elsewhere."""
    rng = np.random.default_rng(3)
    programmes = rng.normal(0, 1, (6, n_genes)) * (rng.random((6, n_genes)) < 0.2)
    level = rng.gamma(4.0, 2.0, n_genes)
    genes = level + rng.standard_normal((n_rows, 6)) @ programmes
    genes += rng.normal(0, 0.6, genes.shape)
    wrong = rng.choice(n_rows, max(3, n_rows // 25), replace=False)
    other_tissue, degraded, mixed = np.array_split(wrong, 3)
    elsewhere = level + rng.normal(0, 1.5, n_genes) * (rng.random(n_genes) < 0.1)
    genes[other_tissue] += elsewhere - level
    genes[degraded] = 0.9 * genes[degraded] + rng.normal(0, 0.6, (len(degraded), n_genes))
    genes[mixed] += 0.6 * (elsewhere - level)
    table = pd.DataFrame(genes.round(3), columns=[f"ENSG{i:011d}" for i in range(n_genes)])
    table.insert(0, "batch", rng.choice(["b1", "b2", "b3"], n_rows))
    table.insert(0, "sample", [f"S{i:03d}" for i in range(n_rows)])
    table.to_csv(path, index=False)
    return _mark(n_rows, wrong)


def _mark(n_rows: int, rows: np.ndarray) -> np.ndarray:
    flags = np.zeros(n_rows, dtype=bool)
    flags[rows] = True
    return flags
