"""What goes wrong between here and a server: refusals, silence, broken streams, wrong words."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from localrag.engine.programs import Choice, FreeText, JsonSchema, Program
from localrag.engine.remote import RemoteModel
from localrag.engine.remote_address import parse_address
from localrag.engine.remote_chat import say
from localrag.engine.remote_http import Server
from localrag.engine.remote_llama import LlamaDialect
from localrag.engine.remote_openai import OpenAiDialect
from localrag.engine.remote_waiting import Patience, Stop
from localrag.engine.types import Generation, GenerationRequest, Message, Piece
from localrag.errors import Cancelled, EngineError, PromptTooLong, RemoteRefused, RemoteUnreachable
from tests.engine.remote_servers import Handler, Standin, llama, running, vllm

Answer = Callable[[Handler, str, Any], None]
QUICK = Patience(connect=5.0, first=5.0, between=5.0, retries=2)


def server(standin: Standin, patience: Patience = QUICK, key: str = "") -> Server:
    return Server(parse_address(standin.url, "remote.url"), key, patience)


def request(program: Program, text: str = "Hello?", tokens: int = 50) -> GenerationRequest:
    messages = (
        Message("system", (Piece("Be short.", shared=True),)),
        Message("user", (Piece(text),)),
    )
    return GenerationRequest("test", messages, program, tokens)


def generation(model: RemoteModel, program: Program, text: str = "Hello?") -> Generation:
    return next(e for e in model.stream(request(program, text)) if isinstance(e, Generation))


def one_sentence(error: EngineError) -> bool:
    return error.message.count(". ") == 0 and error.message.endswith(".") and "\n" not in error.message


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("localrag.engine.remote_http._FIRST_PAUSE", 0.02)
    monkeypatch.setattr("localrag.engine.remote_chat._PAUSE", 0.02)


def failing_first(times: int, fail: Callable[[Handler], None], then: Answer, path: str) -> Answer:
    """A server that fails at its first calls of one path."""
    left = [times]

    def answer(handler: Handler, asked: str, body: Any) -> None:
        if asked == path and left[0] > 0:
            left[0] -= 1
            fail(handler)
        else:
            then(handler, asked, body)

    return answer


# Connections and answers.


def test_no_server_is_said_in_one_sentence() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = Server(parse_address(f"http://127.0.0.1:{port}", "remote.url"), patience=Patience(retries=1))
    with pytest.raises(RemoteUnreachable) as caught:
        nobody.call("/props")
    assert one_sentence(caught.value)
    assert f"127.0.0.1:{port} cannot be reached" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_server_is_asked_again(status: int) -> None:
    def busy(handler: Handler) -> None:
        handler.json({"error": {"message": "Loading model"}}, status, Retry_After="0")

    with running(failing_first(2, busy, llama(), "/props")) as standin:
        assert server(standin).call("/props")["total_slots"] == 2
        assert len(standin.bodies("/props")) == 3


def test_a_server_that_stays_busy_is_given_up_with_its_reason() -> None:
    def busy(handler: Handler) -> None:
        handler.json({"error": {"message": "Loading model", "type": "unavailable_error"}}, 503)

    with running(failing_first(99, busy, llama(), "/props")) as standin:
        with pytest.raises(RemoteUnreachable, match="503: Loading model") as caught:
            server(standin).call("/props")
        assert one_sentence(caught.value)
        assert len(standin.bodies("/props")) == 3


def test_pauses_grow_and_heed_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(Stop, "pause", lambda self, seconds: pauses.append(seconds))
    replies = iter(["", "3", "99", ""])

    def answer(handler: Handler, path: str, body: Any) -> None:
        after = next(replies)
        handler.json({}, 503, **({"Retry_After": after} if after else {}))

    with running(answer) as standin, pytest.raises(RemoteUnreachable):
        server(standin, Patience(retries=3)).call("/x")
    assert pauses == [0.02, 3.0, 8.0]


def test_a_connection_that_is_dropped_before_an_answer_is_tried_again() -> None:
    with running(failing_first(2, Handler.break_off, llama(), "/props")) as standin:
        assert server(standin).call("/props")["total_slots"] == 2


def test_a_kept_connection_that_the_server_closed_meanwhile_is_no_failure() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.json({"ok": True})
        handler.close_connection = True

    with running(answer) as standin:
        asked = server(standin, Patience(retries=0))
        for _ in range(4):
            assert asked.call("/x") == {"ok": True}
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, "refuses /x (400: bad grammar at line 1)", RemoteRefused),
        (401, "wants a key", RemoteRefused),
        (403, "wants a key", RemoteRefused),
        (404, "has no /x", RemoteRefused),
        (500, "is not able to answer now (500: bad grammar at line 1)", RemoteUnreachable),
        (302, "sends /x on to another address", RemoteRefused),
    ],
)
def test_refusals_are_not_repeated(status: int, said: str, kind: type[EngineError]) -> None:
    with running(lambda h, p, b: h.json({"error": {"message": "bad grammar\nat line 1"}}, status)) as standin:
        with pytest.raises(kind) as caught:
            server(standin, key="s3cret").call("/x")
        assert said in caught.value.message
        assert len(standin.calls) == 1


def test_the_key_is_sent_and_never_shown() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.json({"detail": f"wrong: {handler.headers['Authorization']}"}, 400)

    with running(answer) as standin:
        with pytest.raises(RemoteRefused) as caught:
            server(standin, key="s3cret-key").call("/x")
        assert "s3cret" not in str(caught.value)
        assert standin.headers[0]["Authorization"] == "Bearer s3cret-key"


@pytest.mark.parametrize("text", ["", "<html>hello</html>", "{"])
def test_what_is_no_json_is_refused(text: str) -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text.encode())

    with running(answer) as standin, pytest.raises(RemoteRefused, match="no JSON"):
        server(standin).call("/x")


# Streams.


def events(handler: Handler, path: str, body: Any) -> None:
    handler.open_stream()
    handler.event({"n": 1})
    handler.raw(": ping\n\n")
    handler.raw('data: {"n":')
    handler.raw("2}\n\nid: 7\n")
    handler.raw("\ndata: [DONE]\n\n")
    handler.close_stream()


def test_a_stream_comes_in_any_pieces() -> None:
    with running(events) as standin:
        asked = server(standin)
        assert list(asked.events("/x", {})) == [{"n": 1}, {"n": 2}]
        assert list(asked.events("/x", {})) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("data: {nonsense\n\n", "no JSON"),
        ("data: [1]\n\n", "no object"),
        ('data: {"error": {"message": "out of memory"}}\n\n', "out of memory"),
        ("error: out of memory\n\n", "out of memory"),
    ],
)
def test_garbage_in_a_stream_is_an_error(piece: str, said: str) -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.open_stream()
        handler.raw(piece)
        handler.close_stream()

    with running(answer) as standin, pytest.raises(RemoteRefused, match=said):
        list(server(standin).events("/x", {}))


def test_an_answer_without_a_stream_is_refused() -> None:
    with (
        running(lambda h, p, b: h.json({})) as standin,
        pytest.raises(RemoteRefused, match="instead of a stream"),
    ):
        list(server(standin).events("/x", {}))


def test_a_stream_that_breaks_off_is_an_error() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.open_stream()
        handler.event({"n": 1})
        handler.break_off()

    with running(answer) as standin:
        got = server(standin).events("/x", {})
        assert next(got) == {"n": 1}
        with pytest.raises(RemoteUnreachable, match="broke off"):
            next(got)


@pytest.mark.parametrize("pings", [False, True])
def test_silence_is_counted_between_tokens_and_pings_do_not_break_it(pings: bool) -> None:
    over = threading.Event()

    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.open_stream()
        handler.event({"n": 1})
        while not over.wait(0.05):
            if pings:
                handler.raw(": ping\n\n")

    with running(answer) as standin:
        got = server(standin, Patience(first=30.0, between=0.5)).events("/x", {})
        assert next(got) == {"n": 1}
        began = time.monotonic()
        with pytest.raises(RemoteUnreachable, match="silent") as caught:
            next(got)
        assert 0.4 < time.monotonic() - began < 10
        assert one_sentence(caught.value)
        over.set()


def test_a_slow_stream_is_no_silence() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.open_stream()
        for n in range(6):
            time.sleep(0.2)
            handler.event({"n": n})
        handler.close_stream()

    with running(answer) as standin:
        # Longer in all than the bound, which is on each silence.
        assert len(list(server(standin, Patience(first=5.0, between=1.0)).events("/x", {}))) == 6


def test_silence_before_the_first_token_has_its_own_bound() -> None:
    over = threading.Event()
    with running(lambda h, p, b: (over.wait(20), None)[1]) as standin:
        with pytest.raises(RemoteUnreachable, match="silent"):
            server(standin, Patience(first=0.3, between=30.0, retries=0)).call("/x")
        over.set()


@pytest.mark.parametrize("streams", [False, True])
def test_a_stop_ends_a_call_that_waits(streams: bool) -> None:
    over = threading.Event()

    def answer(handler: Handler, path: str, body: Any) -> None:
        if streams:
            handler.open_stream()
            handler.event({"n": 1})
        over.wait(30)

    with running(answer) as standin:
        stop = Stop()
        asked = server(standin)
        threading.Timer(0.3, stop.stop).start()
        began = time.monotonic()
        with pytest.raises(Cancelled):
            list(asked.events("/x", {}, stop)) if streams else asked.call("/x", {}, stop)
        assert time.monotonic() - began < 4
        over.set()


def test_a_chat_that_is_broken_off_is_asked_again_unless_it_was_shown() -> None:
    def broken(handler: Handler) -> None:
        handler.open_stream()
        handler.event({"choices": [{"delta": {"content": "Hel"}}]})
        # Some servers end a stream like this when another request comes.
        handler.raw("data: [DONE]\n\n")
        handler.close_stream()

    def whole(handler: Handler, path: str, body: Any) -> None:
        handler.chat("Hello.")

    body = {"max_tokens": 5, "messages": []}
    with running(failing_first(2, broken, whole, "/v1/chat/completions")) as standin:
        assert say(server(standin), body, Stop()).text == "Hello."
    shown: list[str] = []
    with (
        running(failing_first(2, broken, whole, "/v1/chat/completions")) as standin,
        pytest.raises(RemoteUnreachable, match="broke off"),
    ):
        say(server(standin), body, Stop(), shown.append)
    assert shown == ["Hel"]


def test_a_chat_that_never_ends_is_ended() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        handler.open_stream()
        while True:
            handler.event({"choices": [{"delta": {"content": "x"}}]})

    with running(answer) as standin, pytest.raises(RemoteRefused, match="more tokens"):
        say(server(standin), {"max_tokens": 5}, Stop())


@pytest.mark.parametrize("reason", ["tool_calls", "content_filter"])
def test_a_chat_that_ends_strangely_is_refused(reason: str) -> None:
    with running(lambda h, p, b: h.chat("Hi", reason)) as standin, pytest.raises(RemoteRefused, match=reason):
        say(server(standin), {"max_tokens": 5}, Stop())


# Servers that do not keep what they were asked to keep.


@pytest.fixture
def liar() -> Iterator[tuple[Standin, list[str]]]:
    """A llama-server that writes what the test says, whatever the grammar."""
    says = ["Hello, I am an assistant.", "eos"]
    honest = llama()

    def answer(handler: Handler, path: str, body: Any) -> None:
        if path == "/completion":
            handler.completion(*says)
        else:
            honest(handler, path, body)

    with running(answer) as standin:
        yield standin, says


CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 9}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("program", "text", "stop"),
    [
        (Choice(("yes", "no")), "maybe", "eos"),
        (Choice(("yes", "no")), "yes!", "eos"),
        (Choice(("yes", "no")), "ye", "eos"),
        (Choice(("yes", "no")), "", "eos"),
        (FreeText(max_chars=5), "more than five", "eos"),
        (JsonSchema(CITY), '{"city":"far too long a name"}', "eos"),
        (JsonSchema(CITY), '{"town":"X"}', "eos"),
        (JsonSchema(CITY), '{"city":"X"', "eos"),
        (JsonSchema(CITY), '{"city":"X"} and more', "eos"),
    ],
)
def test_words_that_break_the_grammar_are_not_kept(
    liar: tuple[Standin, list[str]], program: Program, text: str, stop: str
) -> None:
    standin, says = liar
    says[:] = [text, stop]
    model = RemoteModel(LlamaDialect(server(standin)))
    with pytest.raises(RemoteRefused, match="grammar does not allow") as caught:
        generation(model, program)
    assert one_sentence(caught.value)
    # In a run, the request fails alone and says why.
    results = [event for _, event in model.run([request(program)]) if isinstance(event, Generation)]
    assert [(r.finish, r.text) for r in results] == [("error", "")]
    assert "grammar does not allow" in results[0].error


def test_json_is_kept_without_its_blanks(liar: tuple[Standin, list[str]]) -> None:
    standin, says = liar
    says[0] = '{ "city" :\n  "Bergen" }'
    assert (
        generation(RemoteModel(LlamaDialect(server(standin))), JsonSchema(CITY)).text == '{"city":"Bergen"}'
    )


def test_the_budget_ends_an_output_as_it_does_here(liar: tuple[Standin, list[str]]) -> None:
    standin, says = liar
    says[:] = ["A long answ", "limit"]
    result = generation(RemoteModel(LlamaDialect(server(standin))), FreeText())
    assert (result.finish, result.text, result.segments) == ("length", "A long answ", ())


def test_a_cut_prompt_is_an_error() -> None:
    def answer(handler: Handler, path: str, body: Any) -> None:
        if path == "/completion":
            handler.completion("yes", truncated=True)
        else:
            llama()(handler, path, body)

    with running(answer) as cutting, pytest.raises(RemoteRefused, match="cut the prompt"):
        generation(RemoteModel(LlamaDialect(server(cutting))), Choice(("yes", "no")))


def test_a_server_that_keeps_no_constraint_is_refused_with_the_reason() -> None:
    with running(vllm(grammars=False, schemas=False)) as standin:
        with pytest.raises(RemoteRefused, match="keeps neither grammars nor JSON schemas") as caught:
            RemoteModel(OpenAiDialect(server(standin))).describe()
        assert "structured_outputs.grammar: wrote 'Hello! How can I help you?'" in caught.value.message
        # Every way was tried once.
        assert len(standin.bodies("/v1/chat/completions")) == 7


def test_a_server_that_only_refuses_grammars_is_refused() -> None:
    honest = vllm()

    def answer(handler: Handler, path: str, body: Any) -> None:
        if path == "/v1/chat/completions":
            handler.json({"error": {"message": "grammars are off"}}, 400)
        else:
            honest(handler, path, body)

    with running(answer) as standin, pytest.raises(RemoteRefused, match="grammars are off"):
        RemoteModel(OpenAiDialect(server(standin))).describe()


@pytest.mark.parametrize(
    ("models", "wanted", "context", "said"),
    [
        ([], "", 0, "serves none"),
        ([{"id": "a"}, {"id": "b"}], "", 0, "serves a, b"),
        ([{"id": "a"}], "c", 0, "serves a; the settings name c"),
        ([{"id": "a"}], "", 0, "how many tokens"),
    ],
)
def test_what_has_to_be_known_is_asked_for(
    models: list[dict[str, Any]], wanted: str, context: int, said: str
) -> None:
    with running(lambda h, p, b: h.json({"data": models})) as standin:
        with pytest.raises(RemoteRefused, match=said) as caught:
            OpenAiDialect(server(standin), wanted, context).describe()
        assert "remote." in caught.value.hint


def test_another_kind_of_server_is_told_from_llama_server() -> None:
    with (
        running(lambda h, p, b: h.json({"data": []})) as standin,
        pytest.raises(RemoteRefused, match="as llama-server does"),
    ):
        LlamaDialect(server(standin)).describe()


def test_a_prompt_that_is_too_long_is_refused_before_the_call_with_both_numbers() -> None:
    with running(llama(n_ctx=600)) as standin:
        model = RemoteModel(LlamaDialect(server(standin)))
        with pytest.raises(PromptTooLong, match=r"has 6\d\d tokens .* holds 600"):
            generation(model, FreeText(), "x" * 600)
        results = [e for _, e in model.run([request(FreeText(), "x" * 600)]) if isinstance(e, Generation)]
        assert results[0].finish == "error"
        assert "holds 600" in results[0].error
        assert not standin.bodies("/completion")


def test_a_server_that_goes_away_ends_the_run() -> None:
    honest = llama()

    def answer(handler: Handler, path: str, body: Any) -> None:
        if path == "/completion":
            handler.break_off()
        else:
            honest(handler, path, body)

    with running(answer) as standin:
        model = RemoteModel(LlamaDialect(server(standin, Patience(retries=1))))
        with pytest.raises(RemoteUnreachable):
            list(model.run([request(Choice(("yes", "no"))) for _ in range(5)]))
