import hashlib
import os
import subprocess
import tempfile

BUILT = {}


def program(level):
    """The program at an optimisation level, built once."""
    if level not in BUILT:
        target = os.path.join(tempfile.mkdtemp(), "program")
        command = ["/usr/bin/gcc", "-std=c11", level, "-o", target, TRUTH["source"], "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, "does not compile: " + done.stderr[-300:]
        BUILT[level] = target
    return BUILT[level]


def check(group):
    for level in ("-O0", "-O2"):
        for case in TRUTH["cases"][group]:
            commands, answers = case["commands"], case["answers"]
            done = subprocess.run([program(level)], input=commands, capture_output=True, text=True, timeout=15)
            lines = done.stdout.splitlines()
            assert len(lines) == len(answers), f"{group} {level}: {len(lines)} lines"
            for command, line, answer in zip(commands.splitlines(), lines, answers):
                words = line.split()
                assert len(words) == len(answer), f"{group} {level}: {command[:60]}"
                for word, right in zip(words, answer):
                    if isinstance(right, int):
                        good = word == str(right)
                    else:
                        good = abs(float(word) - right) <= 1e-6 * abs(right)
                    assert good, f"{group} {level}: {command[:60]} gave {line}"


def test_statistics():
    check("statistics")


def test_equations():
    check("equations")


def test_integers():
    check("integers")


def test_quiet_example():
    check("quiet")


def test_example_unchanged():
    for path, digest in TRUTH["inputs"].items():
        with open(path, "rb") as source:
            assert hashlib.sha256(source.read()).hexdigest() == digest, path
