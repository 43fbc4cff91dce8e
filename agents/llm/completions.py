"""One request to a language model through pydantic-ai; no other module knows the library.

A request goes out once: the mind retries, and counts what is sent. The result is a `Reply` or a `Failed`. Status and
the library's categories decide which failures are worth another try, never the text of an error. No text of a server's
error is passed on, because some servers quote the key.

pydantic-ai is imported when a `Completions` is made, so that only those who use a model need it.
"""

import re
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from agents.llm.fence import NotRead, as_object, read_object

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

ANSWER, EXCUSE = "answer", "excuse"
"""The two tools that a model may call: exactly one of them, once."""
REACH_S = 3.0
"""How long a server may take to accept a connection when it is checked before the room opens."""
NO_KEY = "no-key"
"""The key that is sent to a server that needs none. Otherwise the client would send the key of another provider."""
CUT_OFF = "it was cut off at the limit on its length"

_EXCUSE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"because": {"type": "string", "description": "why there is no answer; it goes on the record"}},
    "required": ["because"],
    "additionalProperties": False,
}
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")
_AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 that are worth another try."""
_reached: set[str] = set()


class CannotAsk(Exception):
    """No model can be asked in the way that the file says: the wrong field, and why."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(f"{place}: {why}")
        self.place, self.why = place, why


class Failed(Exception):
    """A request failed; the text says why, and quotes only codes of the server.

    ``again``: another try may help. ``sent``: the request was sent. ``wait_s``: how long the server asks to wait.
    """

    def __init__(self, why: str, *, again: bool, sent: bool = True, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.again, self.sent, self.wait_s = again, sent, wait_s


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply to one request: calls of our tools as (name, arguments), or text, or a refusal."""

    tokens_in: int
    tokens_out: int
    calls: list[tuple[str, str | Mapping[str, Any]]] = field(default_factory=list)
    text: str = ""
    cut: bool = False
    refusal: str | None = None
    """Why the model, or a filter before or after it, refused to answer."""
    broken: bool = False
    """Whether the server reported a failure within an answer."""

    def said(self, output: Literal["tool", "json"]) -> tuple[str, dict[str, Any]]:
        """Return the called tool and its arguments; raise `NotRead` unless it is exactly one call with strict JSON."""
        if self.cut:
            raise NotRead(CUT_OFF)
        if output == "json":
            said = read_object(_unwrapped(self.text))
            return (EXCUSE, {"because": said[EXCUSE]}) if said.keys() == {EXCUSE} else (ANSWER, said)
        if len(self.calls) != 1:
            found = "an answer in words" if not self.calls else f"{len(self.calls)} calls"
            raise NotRead(f"call one of the tools {ANSWER} and {EXCUSE}, exactly once; this was {found}")
        name, arguments = self.calls[0]
        if name not in (ANSWER, EXCUSE):
            raise NotRead(f"there is no tool of that name; call {ANSWER} or {EXCUSE}")
        return name, read_object(arguments) if isinstance(arguments, str) else as_object(dict(arguments))

    def quoted(self) -> str:
        """Return the answer as text, to show it to its model again."""
        return "\n".join(str(arguments) for _, arguments in self.calls) or self.text


def _unwrapped(text: str) -> str:
    """Return the content of a code block if *text* is exactly one, otherwise *text*."""
    block = re.fullmatch(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", text, re.DOTALL)
    return block[1] if block else text


class Completions:
    """A language model to ask: *model* is its name for pydantic-ai, or its bare name at *base_url*.

    Without a *key*, a provider takes its own from the environment, and the server at *base_url* gets none. Raises
    `CannotAsk` if the library or a key is missing, or if the provider is unknown.
    """

    def __init__(self, model: str, base_url: str | None, key: str | None, output: Literal["tool", "json"]) -> None:
        try:
            import pydantic_ai  # noqa: F401
        except ImportError:
            raise CannotAsk("agent", "llm needs pydantic-ai: pip install 'swarm-peers[llm]'") from None
        self._key = key
        self._output = output
        self._model = _at(model, base_url, key) if base_url is not None else _of_provider(model, key)

    async def request(
        self, instructions: str, words: str, form: dict[str, Any], *, temperature: float | None, most_tokens: int | None
    ) -> Reply:
        """Ask once for an answer of the JSON Schema *form*; raise `Failed`."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import ModelRequest

        settings: ModelSettings = {}
        if getattr(getattr(self._model, "client", None), "max_retries", None) is not None:
            settings["max_retries"] = 0
        if temperature is not None:
            settings["temperature"] = temperature
        if most_tokens is not None:
            settings["max_tokens"] = most_tokens
        asked = [ModelRequest.user_text_prompt(words, instructions=instructions)]
        try:
            async with self._model:
                response = await model_request(
                    self._model, asked, model_settings=settings, model_request_parameters=self._parameters(form)
                )
        except Exception as error:
            raise self._failed(error) from None
        return _reply(response)

    def _parameters(self, form: dict[str, Any]) -> "ModelRequestParameters":
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition
        from pydantic_ai.tools import ToolDefinition

        if self._output == "json":
            return ModelRequestParameters(
                output_mode="prompted",
                output_object=OutputObjectDefinition(json_schema=form, name=ANSWER),
                prompted_output_template=False,
            )
        tools = [(ANSWER, form, "Give the answer."), (EXCUSE, _EXCUSE_SCHEMA, "Give no answer, and say why.")]
        return ModelRequestParameters(
            output_mode="tool",
            allow_text_output=False,
            output_tools=[
                ToolDefinition(name=name, parameters_json_schema=schema, description=words, kind="output")
                for name, schema, words in tools
            ],
        )

    def _failed(self, error: Exception) -> Failed:
        from pydantic_ai import exceptions as e

        if isinstance(error, e.ModelHTTPError):
            status, code = error.status_code, error.provider_error_code
            again = (status >= 500 or status in _AGAIN) and not isinstance(error, e.ModelQuotaExceededError)
            known = code is not None and _CODE.fullmatch(code) is not None and not (self._key and self._key in code)
            why = f"the model's server answered with status {status}" + (f", {code}" if known else "")
            return Failed(why, again=again, wait_s=error.retry_after)
        if isinstance(error, e.ModelConnectionError):
            sent = error.phase not in ("pool", "connect")
            why = "the connection to the model's server broke" if sent else "the model's server cannot be reached"
            return Failed(why, again=True, sent=sent)
        if isinstance(error, e.ModelAPIError):
            again = isinstance(
                error, e.ModelRateLimitError | e.ModelUnavailableError | e.ModelServerError | e.ModelRequestTimeout
            )
            return Failed("the model's server refused the request", again=again, wait_s=error.retry_after)
        if isinstance(error, e.UserError):
            return Failed("the request cannot be made for this model", again=False, sent=False)
        # A server can send something other than a completion in many ways; any exception here means that.
        return Failed("what the model's server sent is no answer of a model", again=True)


def _reply(response: "ModelResponse") -> Reply:
    from pydantic_ai.messages import TextPart, ToolCallPart

    refusal = None
    if response.finish_reason == "content_filter":
        said = (response.provider_details or {}).get("refusal")
        refusal = said if isinstance(said, str) and said else "a content filter stopped the answer"
    return Reply(
        tokens_in=response.usage.input_tokens,
        tokens_out=response.usage.output_tokens,
        calls=[(part.tool_name, part.args or "") for part in response.parts if isinstance(part, ToolCallPart)],
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        cut=response.finish_reason == "length",
        refusal=refusal,
        broken=response.finish_reason == "error",
    )


def _at(model: str, base_url: str, key: str | None) -> "Model":
    """Return the model with that name at an OpenAI-compatible server, using what most such servers understand."""
    try:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles.openai import OpenAIModelProfile
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    except ImportError:
        raise CannotAsk("agent", "llm needs pydantic-ai[openai]: pip install 'swarm-peers[llm]'") from None
    profile = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=False,
        openai_supports_strict_tool_definition=False,
        supports_json_object_output=True,
    )
    provider = OpenAICompatibleProvider("openai-compatible", base_url=base_url, api_key=key or NO_KEY)
    return OpenAIChatModel(model, provider=provider, profile=profile)


def _of_provider(model: str, key: str | None) -> "Model":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider, infer_provider_class

    provider, colon, name = model.partition(":")
    if not colon or not provider or not name:
        raise CannotAsk("model", f"expected provider:model, or a name and base_url, found {model!r}")
    try:
        infer_provider_class(provider)
        return infer_model(model, infer_provider if key is None else lambda p: infer_provider_class(p)(api_key=key))  # type: ignore[call-arg]
    except ImportError:
        why = f"the provider {provider} needs a package of its own: pip install 'pydantic-ai-slim[{provider}]'"
        raise CannotAsk("model", why) from None
    except UserError as error:  # Its first sentence names the missing variable.
        raise CannotAsk("model", str(error).split(". ")[0].splitlines()[0].rstrip(".")) from None
    except TypeError:
        raise CannotAsk("api_key_env", f"the provider {provider} takes no key; leave this out") from None
    except ValueError:
        raise CannotAsk("model", f"pydantic-ai knows no provider {provider!r}") from None


def look_for(base_url: str) -> None:
    """Raise `CannotAsk` if nothing accepts a connection at *base_url*.

    A server that was reached once is not checked again.
    A server behind a proxy is not checked, because only a request shows whether the proxy reaches it.
    """
    parts = urlsplit(base_url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    proxied = parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)
    if base_url in _reached or proxied:
        return
    try:
        socket.create_connection((host, port), timeout=REACH_S).close()
    except OSError:
        raise CannotAsk("base_url", f"no server answers at {base_url}") from None
    _reached.add(base_url)
