"""What statuses, headers and words of a provider mean."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.chat.faults import Place, refused_parameter, retry_after, shown_url, status_fault
from generators.errors import AnswerFault, ProviderFault, RefusedError, UsageError

PLACE = Place("OpenAI", "tiny", "http://127.0.0.1:1/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", key="sk-secret-1")
NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@given(st.integers(0, 10**6))
def test_seconds_and_milliseconds_are_read(number: int) -> None:
    assert retry_after({"retry-after": str(number)}) == number
    assert retry_after({"retry-after-ms": str(number), "retry-after": "99"}) == number / 1000


@given(st.integers(-(10**6), 10**6))
def test_an_http_date_is_seconds_from_now_and_never_negative(offset: int) -> None:
    at = format_datetime(NOW + timedelta(seconds=offset), usegmt=True)
    assert retry_after({"retry-after": at}, NOW) == max(0, offset)


@given(st.text())
def test_any_other_text_is_no_time_and_no_crash(text: str) -> None:
    found = retry_after({"retry-after": text, "retry-after-ms": text}, NOW)
    assert found is None or found >= 0


@pytest.mark.parametrize(
    ("status", "text", "kind", "reason"),
    [
        (429, "slow down", ProviderFault, "rate_limited"),
        (429, "insufficient_quota", ProviderFault, "out_of_credit"),
        (402, "add credits", ProviderFault, "out_of_credit"),
        (400, "Your credit balance is too low", ProviderFault, "out_of_credit"),
        (408, "", ProviderFault, "timeout"),
        (500, "", ProviderFault, "down"),
        (529, "overloaded", ProviderFault, "down"),
        (400, "This model's maximum context length is 10 tokens; max_tokens", AnswerFault, "context_overflow"),
        (413, "", AnswerFault, "context_overflow"),
        (400, "content_policy_violation", RefusedError, "refused"),
    ],
)
def test_a_status_has_its_error_and_reason(status: int, text: str, kind: type[Exception], reason: str) -> None:
    fault = status_fault(status, {}, text, PLACE)
    assert type(fault) is kind
    assert getattr(fault, "reason") == reason  # noqa: B009


@pytest.mark.parametrize(
    ("status", "named"),
    [(401, "OPENAI_API_KEY"), (403, "OPENAI_API_KEY"), (404, "OPENAI_BASE_URL"), (400, "tiny"), (422, "tiny")],
)
def test_what_the_user_can_mend_names_what_to_mend_in_one_line(status: int, named: str) -> None:
    fault = status_fault(status, {}, "no\nsuch thing", PLACE)
    assert type(fault) is UsageError
    assert named in str(fault) and PLACE.url in str(fault) and "\n" not in str(fault)


@given(
    st.sampled_from([400, 401, 402, 403, 404, 408, 413, 422, 429, 500, 503, 529]),
    st.text(max_size=300),
    st.text(max_size=300),
)
def test_no_message_holds_the_key(status: int, before: str, after: str) -> None:
    fault = status_fault(status, {}, before + PLACE.key + after, PLACE)
    assert PLACE.key not in str(fault) and PLACE.key not in repr(PLACE)


LONG = "sk-4f9Kq2Lx7Vb0Nc3Zm8Wd5Rt1Yh6Jp-Gs_UeAo"


@given(st.integers(0, len(LONG) - 8), st.integers(8, len(LONG)), st.text(max_size=20), st.text(max_size=20))
def test_no_message_holds_a_part_of_the_key(start: int, length: int, before: str, after: str) -> None:
    place = replace(PLACE, key=LONG)
    fault = status_fault(500, {}, f"{before} {LONG[start : start + length]} {after}", place)
    assert not [at for at in range(len(LONG) - 7) if LONG[at : at + 8] in str(fault)]


def test_what_is_left_of_a_message_is_what_was_around_the_key() -> None:
    place = replace(PLACE, key=LONG)
    assert (
        place.clean(f"key {LONG[:23]}… and {LONG[5:13]}{LONG[20:30]}, not {LONG[:7]}")
        == f"key ***… and ***, not {LONG[:7]}"
    )
    assert replace(PLACE, key="short").clean("shor short") == "shor ***"


def test_a_refused_parameter_is_found_by_name_or_words_and_only_if_it_was_sent() -> None:
    sent = ("response_format", "max_tokens")
    assert refused_parameter("Unsupported parameter: use another", "response_format.type", sent) == "response_format"
    assert refused_parameter("'max_tokens' is not supported with this model", None, sent) == "max_tokens"
    assert refused_parameter("temperature is not supported", None, sent) is None
    assert refused_parameter("maximum context length is 9; max_tokens is not allowed to be more", None, sent) is None


def test_a_user_and_password_in_an_address_are_not_shown() -> None:
    assert shown_url("https://me:secret@host:8/v1/?key=secret") == "https://host:8/v1"
