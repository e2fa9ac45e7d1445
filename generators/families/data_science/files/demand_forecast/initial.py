from pathlib import Path


def test_no_forecast_yet():
    folder = Path(TRUTH["folder"])
    assert all((folder / name).is_file() for name in TRUTH["inputs"])
    assert not (folder / "forecast.csv").exists()
