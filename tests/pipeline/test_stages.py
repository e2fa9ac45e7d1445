"""What the stages have in common."""

import signal

import pytest

from pipeline.stages import stoppable


def test_ctrl_c_is_not_lost_when_the_work_is_just_done() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stoppable() as stop:
        assert not stop.is_set()
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
    assert signal.getsignal(signal.SIGINT) is before
