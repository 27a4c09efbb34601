"""The demo finds the mistakes that were planted."""

from eosparse.cli.demo import demo


def test_demo_prints_rows_reasons_and_a_picture(tmp_path, capsys):
    demo(tmp_path / "demo.png", tmp_path / "demo.html")
    printed = capsys.readouterr().out
    assert "p-value" in printed
    assert "potassium_mmol_l" in printed
    assert "found: 16; false alarms: 0" in printed
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert "Outliers in blood panel" in (tmp_path / "demo.html").read_text()
