"""The sample library as a model would have read it, made without a model and the same every time."""

import re
import shutil
from pathlib import Path

from localrag.engine.programs import CitedText, Decide, Records
from localrag.engine.scripted import ScriptedEmbedder, ScriptedModel
from localrag.engine.types import GenerationRequest
from localrag.engines import Engines
from localrag.kb import KnowledgeBase
from localrag.sample import sample_folder
from localrag.sections import ExtractionSettings
from localrag.settings import Settings
from picturelib.records import ANSWERS, RECORDS

SETTINGS = Settings(extraction=ExtractionSettings(profile="lightrag"))
"""Settings with which texts are read with descriptions, as the records have them."""

_SOURCE = re.compile(r'^\{"id": (\d+), (.*)$', re.MULTILINE)


class PictureModel(ScriptedModel):
    """Plays the records and answers of the sample."""

    def __init__(self, delay: float = 0.0) -> None:
        """`delay` is what each call takes, in seconds."""
        super().__init__(_answer, delay=delay)


def engines(delay: float = 0.0) -> Engines:
    """Engines without weights."""
    return Engines(SETTINGS, model=PictureModel(delay), embedder=ScriptedEmbedder())


def build(folder: Path, *, read: bool = True) -> Path:
    """A knowledge base of the sample texts in `folder`, read or not."""
    texts = folder / "texts"
    shutil.copytree(sample_folder(), texts)
    path = folder / "kelsand.localrag"
    with KnowledgeBase.create(path, settings=SETTINGS, engines=engines()) as kb:
        kb.add([texts])
        if read:
            for _ in kb.index():
                pass
    return path


def _answer(request: GenerationRequest) -> str:
    prompt = "".join(message.text for message in request.messages)
    program = request.program
    if isinstance(program, Decide):
        return program.options[-1]
    if request.task == "extraction":
        found = next((text for part, text in RECORDS.items() if part in prompt), "")
        return f"{found.strip()}\n<|COMPLETE|>" if isinstance(program, Records) else "END\nEND"
    if isinstance(program, CitedText):
        return _cited(prompt, program)
    return "The ferries, the light and the marine station of Kelsand, and the people who keep them."


def _cited(prompt: str, program: CitedText) -> str:
    """The sentences of an answer that have a source, each with its number, and the list of sources."""
    sources = [(int(number), text) for number, text in _SOURCE.findall(prompt)]
    question = prompt.rpartition("}")[2]
    sentences = next((found for word, found in ANSWERS.items() if word in question), ())
    body, used = "", []
    for sentence, rests_on in sentences:
        for number, text in sources:
            if rests_on in text and number <= program.sources:
                body += f"{sentence}[{number}]. "
                used.append(number)
                break
    if not used:
        return program.refusal
    return body.strip() + program.heading + " ".join(f"[{number}]" for number in sorted(set(used)))
