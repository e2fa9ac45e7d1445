"""Opening judges, and following the choice while episodes are being judged."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from generators.errors import ProviderFault, UsageError
from tests.provider import Fault, Line, Provider
from tests.trainer.episodes import episode, ran
from trainer.judge.backend import Backend, BackendReader, set_backend
from trainer.judge.opening import JudgeSettings, SwappingJudge, check_backend, open_judge
from trainer.judge.rubric import load_rubric
from trainer.judge.verdict import Judged

ONE = Judged(episode(ran("ls", "x")))
ANSWER = json.dumps({"components": [{"name": name, "score": 0.5} for name in load_rubric().components], "findings": []})


def test_a_backend_is_opened_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert open_judge(Backend()).name == "rules"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    assert open_judge(Backend(backend="openai:gpt-x")).name == "openai:gpt-x"
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        open_judge(Backend(backend="openai:gpt-x"))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_check_asks_only_where_it_is_told_to(kind: str) -> None:
    with Provider([Line(say=ANSWER)]) as provider:
        backend = Backend(backend=f"{kind}:x", base_url=provider.url)
        asyncio.run(check_backend(backend))
        assert not provider.asked
        asyncio.run(check_backend(backend, ask=True))
        assert len(provider.asked) == 1
    asyncio.run(check_backend(Backend(), ask=True))


def test_a_check_says_what_is_wrong() -> None:
    with (
        Provider([Line(fault=Fault("drop_before"))]) as provider,
        pytest.raises(ProviderFault, match="connection lost"),
    ):
        asyncio.run(check_backend(Backend(backend="openai:x", base_url=provider.url), ask=True))
    with Provider([Line(say="yes")]) as provider, pytest.raises(ProviderFault, match="unusable answer"):
        asyncio.run(check_backend(Backend(backend="openai:x", base_url=provider.url), ask=True))


def test_the_judge_changes_without_a_restart_and_what_has_begun_is_ended_by_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    slow = Line(say=ANSWER, fault=Fault(delay=0.3))
    with Provider([slow]) as provider:

        async def main() -> list[str]:
            judge = SwappingJudge(JudgeSettings(), BackendReader(path, every=0.0))
            names = [(await judge.judge(ONE)).judge]
            set_backend("openai:first", provider.url, path=path)
            begun = asyncio.create_task(judge.judge(ONE))
            while not provider.asked:
                await asyncio.sleep(0.01)
            set_backend("anthropic:second", provider.url, path=path)
            names.append((await judge.judge(ONE)).judge)
            old = await begun
            assert old.score is not None
            names.append(old.judge)
            set_backend("rules", path=path)
            names += [(await judge.judge(ONE)).judge, judge.name]
            await judge.close()
            return names

        assert asyncio.run(main()) == ["rules", "anthropic:second", "openai:first", "rules", "rules"]


def test_a_backend_that_cannot_be_opened_here_is_said_once_and_the_last_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path, heard = tmp_path / "judge.json", list[str]()

    async def main() -> list[str]:
        judge = SwappingJudge(JudgeSettings(say=heard.append), BackendReader(path, heard.append, every=0.0))
        set_backend("openai:without-a-key", path=path)
        names = [(await judge.judge(ONE)).judge for _ in range(3)]
        await judge.close()
        return names

    assert asyncio.run(main()) == ["rules"] * 3
    assert len(heard) == 1 and "needs a key" in heard[0] and "rules stays in use" in heard[0]
