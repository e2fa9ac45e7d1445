import hashlib
import os
import re
import shutil
import subprocess

FOLDER = TRUTH["folder"]
REPORT = os.path.join(FOLDER, "out", TRUTH["report"])
SPOOL = os.path.join(FOLDER, TRUTH["spool"])


def crontab():
    """The assignments and the jobs (schedule, command) of the crontab."""
    settings, jobs = {}, []
    with open(os.path.join(FOLDER, "etc/crontab")) as source:
        for line in source:
            line = line.strip()
            given = re.match(r"(\w+)\s*=\s*(.*)$", line)
            if not line or line.startswith("#"):
                continue
            if given:
                settings[given[1]] = given[2].strip("\"'") if given[2][:1] in "\"'" else given[2]
            else:
                fields = line.split(None, 5)
                jobs.append((" ".join(fields[:5]), fields[5]))
    return settings, jobs


def as_cron():
    settings, jobs = crontab()
    env = {"HOME": "/root", "LOGNAME": "root", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin", **settings}
    assert len(jobs) == 1, "there is not exactly one job"
    command, *rest = re.split(r"(?<!\\)%", jobs[0][1])
    fed = "".join(part + "\n" for part in rest).encode()
    command = command.replace("\\%", "%")
    if os.path.exists(REPORT):
        os.remove(REPORT)
    subprocess.run(
        [env["SHELL"], "-c", command], env=env, cwd="/", input=fed, capture_output=True, timeout=20, umask=0o077
    )


def text():
    assert os.path.exists(REPORT), "no report after a run from cron"
    with open(REPORT, encoding="utf-8") as source:
        return source.read()


def with_files(files, action):
    """Do something while other files are in the spool."""
    away = SPOOL + ".away"
    shutil.move(SPOOL, away)
    try:
        os.mkdir(SPOOL)
        for name, content in files.items():
            with open(os.path.join(SPOOL, name), "w", encoding="utf-8") as out:
                out.write(content)
        return action()
    finally:
        shutil.rmtree(SPOOL)
        shutil.move(away, SPOOL)


def test_night_run():
    as_cron()
    assert text() == TRUTH["present"], "the report of the present files differs"


def test_later_nights():
    for night in TRUTH["nights"]:
        with_files(night["files"], as_cron)
        assert text() == night["report"], "the report of other files differs"


def test_readable():
    as_cron()
    assert os.path.exists(REPORT), "no report after a run from cron"
    assert os.stat(REPORT).st_mode & 0o777 == 0o644
    assert text().strip(), "the report is empty"


def test_by_hand():
    env = {"HOME": "/root", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    script = ". %s/etc/profile.sh && cd %s && bash bin/%s" % (FOLDER, FOLDER, TRUTH["script"])
    command = ["/bin/bash", "-c", script]
    subprocess.run(command, env=env, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    assert text() == TRUTH["present"]


def test_schedule_and_inputs():
    jobs = crontab()[1]
    assert [schedule for schedule, _ in jobs] == [TRUTH["schedule"]]
    for path, digest in TRUTH["inputs"].items():
        with open(os.path.join(FOLDER, path), "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
