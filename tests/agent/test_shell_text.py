"""Programs and changes in command lines as people and models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.shell_text import read


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("cd /srv && FOO=1 make -s | tee log", "cd make! tee!"),
        ("echo a > b; cat b", "echo! cat"),
        ("echo x>>y", "echo!"),
        ("ls 2>&1 | head -3", "ls head"),
        ("ls 2>/dev/null >/dev/null", "ls"),
        ("make &> log", "make!"),
        ("run >& log", "run!"),
        ("cat < in", "cat"),
        ("> f", "!"),
        ("cat <<'E' > f\nrm -rf x\nE\npython3 f", "cat! python3"),
        ("cat > f <<-X\n a\n\tX\n", "cat!"),
        ("python3 - <<EOF\nprint('> x')\nEOF\nls", "python3 ls"),
        ("cat <<A <<B\nA\nB\nls", "cat ls"),
        ("cat <<E\nrm x", "cat"),
        ("cat <<<word; rm x", "cat rm!"),
        ("timeout 10 /usr/bin/python3 -m pytest", "python3"),
        ("sudo -n apt-get install -y jq", "apt-get!"),
        ("for i in 1 2; do rm $i; done", "for rm!"),
        ("if test -f x; then cat x; fi", "test cat"),
        ("sed -n 1p f; sed -i s/a/b/ f; sed --in-place s/a/b/ f", "sed sed! sed!"),
        ("git -C /x status; git log; git commit -m status", "git git git!"),
        ("make test; make", "make make!"),
        ("tar tf a.tar; tar xf a.tar", "tar tar!"),
        ("# rm x\nls", "ls"),
        ("a\\\n b", "a"),
        ("(cd x; ls)", "cd ls"),
        ("echo '; rm x > y'", "echo"),
        ("echo 'open; rm", "echo"),
        ("X=1", ""),
        ("", ""),
    ],
)
def test_parts(text: str, parts: str) -> None:
    assert " ".join(part.head + "!" * part.changes for part in read(text).parts) == parts


def test_the_text_is_on_one_line() -> None:
    assert read("  ls \n -l ").text == "ls -l" and read("cat a | sort | cat").heads == {"cat", "sort"}


@given(st.text(st.sampled_from("ab <>|&;()'\"\\\n$#=12{}-E") | st.characters(), max_size=60))
def test_no_text_raises(text: str) -> None:
    assert all(" " not in part.head or "'" in text or '"' in text or "\\" in text for part in read(text).parts)
