"""A conversation as the policy has it, in tokens; and the policy as a model that evaluation's episode can ask.

Tokens in, tokens out: what the engine gave is what is trained on. A text is made of it only for parsing, and never back. Training
plays the same agent.episode.Episode as evaluation, so truncation, observations and grading are the same by construction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from generators.chat.model import UNTAGGED, Ask, Message, Reply, Tag, Usage, clean
from generators.errors import AnswerFault, ProviderFault

Messages = list[dict[str, Any]]


class DriftError(Exception):
    """The tokens that would be trained on are not those that were generated. Such a rollout is dropped."""


class Merged(Protocol):
    """What verl's builder says of a merge."""

    token_ids: list[int]


class Builder(Protocol):
    """verl's ContinuousTokenBuilder, as far as it is used (verl 0.9.1, verl/utils/tokenizer/continuous_token.py)."""

    def build_initial_tokens(self, messages: Messages) -> list[int]:
        """The first prompt."""
        ...

    def merge_context_tokens(self, previous: Messages, updated: Messages, runtime_token_ids: list[int]) -> Any:
        """The tokens of messages that were appended."""
        ...

    def align_response_metadata(
        self, merge_result: Any, response_mask: list[int], response_logprobs: list[float] | None
    ) -> tuple[list[int], list[float] | None]:
        """Mask and log probabilities of as many tokens."""
        ...


class Tokenizer(Protocol):
    """transformers' tokenizer, as far as it is used."""

    eos_token_id: int

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """The text of tokens."""
        ...

    def apply_chat_template(self, conversation: Messages, **options: Any) -> Any:
        """A conversation as text or tokens."""
        ...


class Server(Protocol):
    """verl's client of the rollout engine."""

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        """Tokens that continue a prompt."""
        ...


@dataclass
class Conversation:
    """Tokens so far: `ids` of the prompt and the response, mask (1: the policy wrote it) and log probabilities of the response."""

    builder: Builder
    tokenizer: Tokenizer
    ids: list[int] = field(default_factory=list[int])
    mask: list[int] = field(default_factory=list[int])
    logprobs: list[float] = field(default_factory=list[float])
    messages: Messages = field(default_factory=Messages)
    written: list[int] = field(default_factory=list[int])

    @property
    def prompt(self) -> list[int]:
        """Tokens before the policy's first."""
        return self.ids[: len(self.ids) - len(self.mask)]

    @property
    def response(self) -> list[int]:
        """Tokens from the policy's first on."""
        return self.ids[len(self.ids) - len(self.mask) :]

    def begin(self, messages: Messages) -> None:
        """The first prompt."""
        self.ids, self.messages = list(self.builder.build_initial_tokens(messages)), list(messages)

    def with_context(self, updated: Messages) -> Conversation:
        """The same conversation with messages appended; this one stays as it is."""
        missing, after = self._turn_end()
        merged = self.builder.merge_context_tokens(self.messages, updated, self.ids + missing)
        added = self.tokenizer.decode(merged.token_ids[len(self.ids) + len(missing) :])
        if not added.startswith(after):  # verl's builders for some families place it, its default one does not
            missing = missing + _plain(self.tokenizer, after)
            merged = self.builder.merge_context_tokens(self.messages, updated, self.ids + missing)
        mask, logprobs = self.mask + [0] * len(missing), self.logprobs + [0.0] * len(missing)
        mask, aligned = self.builder.align_response_metadata(merged, mask, logprobs)
        if merged.token_ids[: len(self.ids)] != self.ids or aligned is None:
            raise DriftError("the chat template changed tokens that the policy had written")
        return Conversation(
            self.builder, self.tokenizer, merged.token_ids, mask, aligned, list(updated), list(self.written)
        )

    def _turn_end(self) -> tuple[list[int], str]:
        """What ends the policy's turn and it did not write, and what the template has from there to the next message."""
        reply = {"role": "assistant", "content": "x"}
        text: str = self.tokenizer.apply_chat_template([*self.messages[:-1], reply], tokenize=False)
        before, found, after = text.rpartition(self.tokenizer.decode([self.tokenizer.eos_token_id]))
        if not found or not before.endswith("x"):
            return [], ""  # another end of a turn than the end of text: verl's builder for that family knows it
        ended = bool(self.ids) and self.ids[-1] == self.tokenizer.eos_token_id
        return ([] if ended else [self.tokenizer.eos_token_id]), after

    def add_written(self, token_ids: Sequence[int], logprobs: Sequence[float]) -> None:
        """What the policy wrote."""
        if len(logprobs) != len(token_ids):
            raise DriftError(f"{len(token_ids)} tokens came with {len(logprobs)} log probabilities")
        self.ids += token_ids
        self.mask += [1] * len(token_ids)
        self.logprobs += logprobs
        self.written += token_ids

    def check(self) -> None:
        """That what is trained on is what was generated, token for token, and every token has its mask and log probability.

        Raises:
            DriftError: it is not.
        """
        response = self.response
        if len(self.logprobs) != len(self.mask):
            raise DriftError(f"{len(self.mask)} tokens have {len(self.logprobs)} log probabilities")
        if [token for token, own in zip(response, self.mask, strict=True) if own] != self.written:
            raise DriftError("the tokens under the mask are not those that the policy wrote")


def _plain(tokenizer: Tokenizer, text: str) -> list[int]:
    encode: Any = tokenizer
    return list(encode.encode(text, add_special_tokens=False))


@dataclass
class Budget:
    """Tokens: of the response as a whole, of the conversation with its prompt, and those below which no reply is asked for."""

    response: int
    context: int
    smallest: int = 1

    def left(self, conversation: Conversation) -> int:
        """For the next reply."""
        return min(self.response - len(conversation.mask), self.context - len(conversation.ids))


class TokenModel:
    """The policy behind the protocol of generators.chat: keeps the conversation in tokens and gives texts.

    A reply that was cut off is an AnswerFault with its text, and so is a context that leaves no room: as with a provider.
    """

    def __init__(
        self, server: Server, conversation: Conversation, budget: Budget, sampling: dict[str, Any], request_id: str
    ) -> None:
        self.conversation, self.extra = conversation, dict[str, Any]()
        self.seconds = 0.0
        self._server, self._budget, self._sampling, self._id = server, budget, sampling, request_id

    @property
    def name(self) -> str:
        """What stands in trajectories."""
        return "policy"

    async def close(self) -> None:
        """Nothing to let go of."""

    async def ask(self, ask: Ask, tag: Tag = UNTAGGED) -> Reply:
        """Continue the conversation.

        Raises:
            AnswerFault: there is no room, or the reply was cut off.
            ProviderFault: the rollout engine failed.
        """
        self._take(_plain_messages(ask.messages))
        conversation = self.conversation
        room = min(ask.max_tokens, self._budget.left(conversation))
        began, before = time.monotonic(), len(conversation.ids)
        try:
            out = await self._server.generate(
                request_id=self._id, prompt_ids=conversation.ids, sampling_params={**self._sampling, "max_tokens": room}
            )
        except Exception as error:  # Ray and vLLM have errors of many kinds; none says anything about the policy
            raise ProviderFault(f"the rollout engine failed: {type(error).__name__}: {error}", "down") from error
        taken = time.monotonic() - began
        self.seconds += taken
        self._note(out.extra_fields)
        ids = list(out.token_ids)[:room]
        conversation.add_written(ids, list(out.log_probs or ())[:room])
        text = clean(conversation.tokenizer.decode(ids, skip_special_tokens=True))
        usage = Usage(input_tokens=before, output_tokens=len(ids))
        conversation.messages.append({"role": "assistant", "content": text})
        if not ids or (ids[-1] != conversation.tokenizer.eos_token_id and len(ids) >= room):
            raise AnswerFault(f"the reply was cut off at {room} tokens", "cut_off", usage, text)
        if not text.strip():
            raise AnswerFault("the reply was empty", "empty", usage)
        return Reply(text=text, usage=usage, model=self.name, seconds=taken)

    def _take(self, messages: Messages) -> None:
        """The messages that came since. Where they leave no room for a reply, the conversation stays as it was."""
        if not self.conversation.ids:
            self.conversation.begin(messages)
            after = self.conversation
        else:
            after = self.conversation.with_context(
                self.conversation.messages + messages[len(self.conversation.messages) :]
            )
        if self._budget.left(after) < self._budget.smallest:
            raise AnswerFault("there is no room for another reply", "context_overflow")
        self.conversation = after

    def _note(self, fields: dict[str, Any]) -> None:
        """Which versions of the weights wrote: the first and the last."""
        if not self.extra:
            self.extra.update(fields)
        else:
            self.extra["max_global_steps"] = fields.get("max_global_steps")


def _plain_messages(messages: Sequence[Message]) -> Messages:
    return [{"role": message.role, "content": message.content} for message in messages]
