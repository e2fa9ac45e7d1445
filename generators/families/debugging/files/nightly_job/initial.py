import os


def test_job_is_there():
    for name in ("etc/crontab", "etc/profile.sh", "bin/" + TRUTH["script"], "README"):
        assert os.path.isfile(os.path.join(TRUTH["folder"], name)), name
