"""Small catalogues, wheels, sources and a pip that only copies, for the tests of this folder."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np

STUB = '''
"""Stands in for pip: copies a wheel from a folder, or fails as it is told."""
import json, pathlib, shutil, sys, time
home = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
requirement = arguments[-1]
destination = pathlib.Path(next(a[7:] for a in arguments if a.startswith("--dest=")))
with open(home / "calls.jsonl", "a") as log:
    log.write(json.dumps(arguments) + "\\n")
orders = json.loads((home / "orders.json").read_text()) if (home / "orders.json").exists() else {}
order = orders.get(requirement, {})
if "stderr" in order:
    sys.stderr.write(order["stderr"])
    sys.exit(1)
if "grow" in order:
    with open(destination / "endless.whl", "wb") as file:
        file.write(bytes(order["grow"]))
    time.sleep(60)
if "sleep" in order:
    time.sleep(order["sleep"])
for wheel in (home / "wheels").glob(requirement.replace("-", "_").replace("==", "-") + "-*.whl"):
    shutil.copy(wheel, destination)
'''


def sha256(data: bytes) -> str:
    """As hexadecimal text."""
    return hashlib.sha256(data).hexdigest()


@dataclass
class FakePip:
    """A folder with a stub program and the wheels that it hands out."""

    folder: Path
    """Where it lies."""

    orders: dict[str, dict[str, object]] = field(default_factory=dict)
    """What to do instead, by requirement."""

    def __post_init__(self) -> None:
        (self.folder / "wheels").mkdir(parents=True)
        (self.folder / "stub.py").write_text(STUB, encoding="utf-8")

    def command(self) -> list[str]:
        """How to call it."""
        return [sys.executable, "-I", "-S", str(self.folder / "stub.py")]

    def order(self, requirement: str, **what: object) -> None:
        """Let the next calls for a requirement go differently."""
        self.orders[requirement] = what
        (self.folder / "orders.json").write_text(json.dumps(self.orders), encoding="utf-8")

    def calls(self) -> list[list[str]]:
        """The arguments of every call so far."""
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def fetched(self) -> list[str]:
        """The requirements asked for so far, sorted."""
        return sorted(call[-1] for call in self.calls())

    def wheel_path(self, name: str, version: str = "1.0") -> Path:
        """Where the wheel of a distribution lies."""
        return self.folder / "wheels" / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"

    def add(
        self,
        name: str,
        members: dict[str, bytes],
        version: str = "1.0",
        method: int = zipfile.ZIP_DEFLATED,
    ) -> Path:
        """Put a wheel there."""
        path = self.wheel_path(name, version)
        with zipfile.ZipFile(path, "w", method) as archive:
            # Were it ever imported, the tests would end at once.
            archive.writestr(f"{name.replace('-', '_')}/__init__.py", "import os; os._exit(99)")
            for member, data in members.items():
                archive.writestr(member, data)
        return path


def entry_toml(
    name: str,
    result: bytes,
    parts: list[bytes],
    *,
    role: str = "chat",
    extra: str = "",
    source: str = "",
    members: list[str] | None = None,
) -> str:
    """A catalogue entry whose parts are the wheels `NAME-part1` and so on, or one wheel with `members`."""
    lines = []
    for n, part in enumerate(parts):
        member = f'member = "{members[n]}", ' if members else ""
        lines.append(f'    {{ {member}size = {len(part)}, sha256 = "{sha256(part)}" }},')
    wheel = f"{name}-files" if members else f"{name}-part{{n}}"
    pattern = "" if members else 'member = "data/part{nn}.bin"\n'
    pooling = 'pooling = "mean"\nlimit = 64\n' if role == "embed" else ""
    return (
        f'[[model]]\nname = "{name}"\nrole = "{role}"\ntitle = "{name.title()}"\nfile = "{name}.gguf"\n'
        f'size = {len(result)}\nsha256 = "{sha256(result)}"\nquantisation = "F32"\nlicence = "MIT"\n'
        f'languages = ["en", "zh"]\nparameters = 1\ncontext = 64\nmemory_mb = 100\n{pooling}{extra}\n'
        f'[model.source]\nwheel = "{wheel}"\nversion = "1.0"\n{pattern}{source}\nparts = [\n'
        + "\n".join(lines)
        + "\n]\n\n"
    )


def add_parts(pip: FakePip, name: str, parts: list[bytes]) -> None:
    """Wheels for an entry of `entry_toml` without members."""
    for n, part in enumerate(parts, 1):
        pip.add(f"{name}-part{n}", {f"data/part{n:02}.bin": part})


def model_bytes(folder: Path, name: str = "tiny", *, embeds: bool = False, width: int = 32) -> bytes:
    """A complete small GGUF file."""
    path = folder / f"{name}-{width}-{embeds}.build"
    writer = gguf.GGUFWriter(path, arch="bert" if embeds else "llama")
    writer.add_name(name)
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_tokenizer_model("bert" if embeds else "gpt2")
    writer.add_token_list(["a", "b"])
    if embeds:
        writer.add_pooling_type(gguf.PoolingType.CLS)
    writer.add_tensor("token_embd.weight", np.ones((2, width), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    data = path.read_bytes()
    path.unlink()
    return data


PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁a", "▁b", "茶", "<mask>")
CHARACTERS = {"\n": " ", "\u3000": " ", "，": ",", "（": "(", "\u0007": "", "㎏": "kg", "🄰": "A"}


def e5_source(hidden: int = 32, inner: int = 64, layers: int = 2, *, seed: int = 5) -> bytes:
    """A source in the format of multilingual-e5-small with few pieces and random weights."""
    random = np.random.default_rng(seed)
    rows, positions = len(PIECES) + 3, 16
    texts = [piece.encode() for piece in PIECES]
    starts = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.linspace(0, -3, len(texts), dtype="<f4")
    table = b"".join(
        struct.pack("<IB", ord(c), len(r)) + struct.pack(f"<{len(r)}I", *map(ord, r))
        for c, r in sorted(CHARACTERS.items())
    )
    head = struct.pack("<4sI7if", b"E5S1", 1, hidden, layers, 4, inner, rows, positions, 2, 1e-12)
    head += struct.pack("<i5iQ", 32, len(texts), 0, 2, 1, 3, sum(map(len, texts)))
    head += starts.tobytes() + scores.tobytes() + b"".join(texts)
    head += struct.pack("<iI", len(CHARACTERS), len(table)) + table
    matrices = {"q": hidden, "k": hidden, "v": hidden, "ao": hidden, "fi": inner, "fo": hidden}
    counts: list[tuple[str, bool, int]] = [
        ("emb.word", True, rows * hidden),
        ("emb.pos", False, positions * hidden),
        ("emb.type", False, 2 * hidden),
        ("emb.ln.w", False, hidden),
        ("emb.ln.b", False, hidden),
    ]
    for layer in range(layers):
        for part in ("q", "k", "v", "ao", "aln", "fi", "fo", "oln"):
            out = matrices.get(part, hidden)
            norm = part not in matrices
            weights = hidden if norm else out * (inner if part == "fo" else hidden)
            counts += [(f"l{layer}.{part}.w", not norm, weights), (f"l{layer}.{part}.b", False, out)]
    return _with_tensors(head, counts, random)


def _with_tensors(head: bytes, counts: list[tuple[str, bool, int]], random: np.random.Generator) -> bytes:
    def size(quantised: bool, count: int) -> int:
        return count // 32 * 18 if quantised else count * 4

    directory_bytes = 4 + sum(2 + len(name) + 21 for name, _, _ in counts)
    at = -(-(len(head) + directory_bytes) // 64) * 64
    directory, data = struct.pack("<i", len(counts)), b""
    first = at
    for name, quantised, count in counts:
        data += bytes(at - first - len(data))
        bytes_ = size(quantised, count)
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", int(quantised), count, at, bytes_)
        if quantised:
            blocks = random.integers(0, 256, (count // 32, 18), dtype=np.uint8)
            scales = random.normal(0, 0.01, count // 32).astype("<f2")
            blocks[:, :2] = scales.view(np.uint8).reshape(-1, 2)
            data += blocks.tobytes()
        else:
            data += random.normal(0, 1, count).astype("<f4").tobytes()
        at = -(-(at + bytes_) // 64) * 64
    return head + directory + bytes(first - len(head) - len(directory)) + data


WORDS = ("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "##s", "茶", "!")


def minilm_source(
    hidden: int = 32, inner: int = 64, layers: int = 2, *, prefix: str = ""
) -> tuple[bytes, bytes]:
    """`model.safetensors` and `vocab.txt` in the form of all-MiniLM-L6-v2, with few words."""
    random = np.random.default_rng(6)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), hidden),
        "embeddings.position_embeddings.weight": (16, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
        "pooler.dense.weight": (hidden, hidden),
    }
    for layer in range(layers):
        base = f"encoder.layer.{layer}."
        for name, out, width in (
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
        ):
            shapes[f"{base}{name}.weight"] = (out, width)
            shapes[f"{base}{name}.bias"] = (out,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{base}{name}.weight"] = shapes[f"{base}{name}.bias"] = (hidden,)
    directory: dict[str, object] = {
        "__metadata__": {"format": "pt"},
        "embeddings.position_ids": {"dtype": "I64", "shape": [1, 16], "data_offsets": [0, 128]},
    }
    data = bytes(128)
    for name, shape in shapes.items():
        values = random.normal(0, 1, shape).astype("<f4").tobytes()
        offsets = [len(data), len(data) + len(values)]
        directory[prefix + name] = {"dtype": "F32", "shape": list(shape), "data_offsets": offsets}
        data += values
    head = json.dumps(directory).encode()
    return len(head).to_bytes(8, "little") + head + data, "".join(f"{word}\n" for word in WORDS).encode()
