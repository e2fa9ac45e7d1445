"""What is removed, what is left, and that nothing escapes by where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.scrub import REMOVED, scrub, scrub_text, secrets_of
from agent.trajectory import Trajectory
from tests.agent.recorded import act, bash, recorded, trajectories

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+IBA/AKC\nAQEA7=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-" + "a1B2" * 8,
        "sk-ant-api03-" + "xY9-_" * 8,
        "AKIA" + "ABCD" * 4,
        "ghp_" + "a1" * 18,
        "github_pat_" + "a1_" * 10,
        "glpat-" + "a1" * 10,
        "hf_" + "a" * 34,
        "xoxb-1234567890-abc",
        "AIza" + "a" * 35,
        PEM,
        PEM.replace("RSA ", "OPENSSH "),
        PEM.rsplit("\n", 1)[0],  # cut off
    ],
)
def test_known_forms_are_removed(secret: str) -> None:
    assert scrub_text(f"before '{secret}' after").startswith(f"before '{REMOVED}")
    assert secret.splitlines()[0] not in scrub_text(f"export X={secret}")


def test_what_stands_around_a_key_block_stays() -> None:
    assert scrub_text(f"a\n{PEM}\nb\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----") == (
        f"a\n{REMOVED}\nb\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"
    )


def test_a_bearer_keeps_its_word() -> None:
    assert (
        scrub_text("Authorization: Bearer abc123def456ghi789.x-y\nNext: 1")
        == f"Authorization: Bearer {REMOVED}\nNext: 1"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the bearer of this letter is authorised by the king",
        "task-management-with-very-long-name-2024, risk-1234567890-1234567890-1234",
        "sk-learn-something-with-a-very-long-name",
        "from sk-learn import x; ghp_ is a prefix; AKIA is too",
        "password: see the file; TOKEN=$TOKEN",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "commit 4bcef0b51c2d0a8d6f0a1b2c3d4e5f60718293a4 (HEAD -> main)",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  /srv/a",
    ],
)
def test_what_only_looks_alike_is_left(text: str) -> None:
    assert scrub_text(text) == text


@given(st.binary(min_size=16, max_size=64), st.booleans())
def test_hex_digests_are_left(data: bytes, upper: bool) -> None:
    digest = data.hex().upper() if upper else data.hex()
    assert scrub_text(f"{digest}  /srv/file {digest[:7]}") == f"{digest}  /srv/file {digest[:7]}"


def test_values_of_telling_variables_are_secrets() -> None:
    environment = {
        "SOME_API_KEY": 'quo"ted/secret 1',
        "MYTOKEN": "plainsecret1",
        "db_password": "hunter2hunter2",
        "POSTGRES_PASSWORD": "postgres",  # a word
        "LONG_SECRET": "correcthorsebatterystaple",
        "SHORT_SECRET": "abc123",
        "TOKENIZERS_PARALLELISM": "false-or-true",
        "KEYBOARD_LAYOUT": "us-international",
        "SSH_KEY_PATH": "/root/.ssh/id_ed25519",
        "HOME": "/home/somebody",
    }
    assert set(secrets_of(environment)) == {
        'quo"ted/secret 1',
        'quo\\"ted/secret 1',
        "quo%22ted%2Fsecret%201",
        "plainsecret1",
        "hunter2hunter2",
        "correcthorsebatterystaple",
    }


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DB_PASS", "value-77-of-it", ("value-77-of-it",)),
        ("COMPASS", "north-by-northwest", ()),
        ("DATABASE_URL", "postgres://app:pw4455667788@db.local/x", ("pw4455667788",)),
        ("SITE", "https://db.local:8443/a@b", ()),
    ],
)
def test_passwords_by_a_short_name_or_in_an_address(name: str, value: str, secret: tuple[str, ...]) -> None:
    assert secrets_of({name: value}) == secret


def test_a_secret_within_another_leaves_no_rest() -> None:
    secrets = secrets_of({"A_KEY": "first-secret", "B_KEY": "first-secret-and-more"})
    assert scrub_text("x first-secret-and-more y", secrets) == f"x {REMOVED} y"


def test_every_string_of_a_trajectory_is_looked_at() -> None:
    secret = "value-of-a-secret-9"
    run = recorded(
        bash(f"curl -H 'X: {secret}'", f"sent {secret}"),
        act("file", secret, action="write", edits=[{"new_string": secret}]),
        system=secret,
        instruction=f"use {secret}",
        reason=secret,
        limits={"note": {secret: [secret]}},
    )
    step = run.steps[0].model_copy(update={"reply": secret, "reasoning": secret, "shown": secret})
    run = run.model_copy(update={"steps": (step, *run.steps[1:])})
    cleaned = scrub(run, {"ANY_TOKEN": secret})
    assert secret not in cleaned.canonical()
    assert cleaned.canonical().count(REMOVED) == run.canonical().count(secret) == 12


def test_the_environment_of_this_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "a-value-nobody-writes-77")
    assert scrub(recorded(bash("echo a-value-nobody-writes-77"))).steps[0].items[0] == bash(f"echo {REMOVED}")


def test_what_utf8_cannot_hold_is_replaced() -> None:
    scrub_text("half a \ud83d character").encode()


@given(trajectories)
def test_nothing_else_changes_and_twice_is_once(run: Trajectory) -> None:
    assert scrub(run, {}) == run
    once = scrub(run, {"A_KEY": "00000000"})
    assert scrub(once, {"A_KEY": "00000000"}) == once
