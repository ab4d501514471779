"""The compact profile: what is weighed, records in the shared form, everything accounted for."""

from __future__ import annotations

from dataclasses import replace

from localrag.engine.programs import LeanRecords
from localrag.engine.types import Generation, Segment
from localrag.engine.weighed_program import WeighedRecords
from localrag.extraction.candidates import find_candidates
from localrag.extraction.compact import MAX_ENTITIES, budget, compact_program, parse_compact
from localrag.extraction.extractor import Extractor
from localrag.extraction.judgement import JUDGEMENTS, PAIRS_OF_MANY
from localrag.sections import ExtractionSettings
from localrag.store.rows import ChunkRow

TEXT = "Mira Holt keeps the lighthouse of Sele. Mira Holt was born in Varn in 1902."
SETTINGS = ExtractionSettings(profile="compact")


def generation(segments: list[tuple[str, str]], tail: str = "", finish: str = "stop") -> Generation:
    return Generation(
        text="".join(text for _, text in segments) + tail,
        segments=tuple(Segment(*segment) for segment in segments),
        finish=finish,  # type: ignore[arg-type]
        prompt_tokens=10,
        shared_tokens=5,
        output_tokens=10,
        forced_tokens=5,
        milliseconds=1,
        model="m",
        prompt_hash="p",
    )


def chunk(text: str = TEXT, language: str = "en") -> ChunkRow:
    return ChunkRow(1, 1, 0, 0, len(text), "", None, 20, language, "pending", 0, "", text)


WRITTEN = [
    ("entity", "Mira Holt | person\n"),
    ("entity", "Sele | location\n"),
    ("end", "END\n"),
    ("relationship", "Mira Holt -> Sele | keeps the lighthouse of\n"),
    ("end", "END"),
]


def test_a_reading_has_the_names_of_the_text_and_the_phrase_as_description() -> None:
    reading, rejects = Extractor(SETTINGS).read(chunk(), generation(WRITTEN))
    assert [(e.name, e.type) for e in reading.entities] == [("Mira Holt", "person"), ("Sele", "location")]
    assert [r.description for r in reading.relations] == ["keeps the lighthouse of"]
    assert rejects == []
    assert parse_compact(generation(WRITTEN)).complete


def test_what_the_budget_cut_off_is_a_reject() -> None:
    records = parse_compact(generation(WRITTEN[:3], "Mira Holt -> Se", "length"))
    assert not records.complete
    assert [reject.text for reject in records.rejects] == ["Mira Holt -> Se"]


def test_a_line_that_is_no_record_is_a_reject() -> None:
    records = parse_compact(generation([("entity", "no separator\n"), *WRITTEN]))
    assert len(records.entities) == 2
    assert len(records.rejects) == 1


def test_longer_chunks_may_have_more_records_up_to_the_settings() -> None:
    long_text = " ".join(f"Name{place} Holt met Ada{place} Lind." for place in range(60))
    few = replace(SETTINGS, max_entities=7, max_relations=5)
    short = compact_program(find_candidates(TEXT), ("person",), TEXT, SETTINGS, "en")
    long = compact_program(find_candidates(long_text), ("person",), long_text, SETTINGS, "en")
    told = compact_program(find_candidates(long_text), ("person",), long_text, few, "en")
    none = compact_program(find_candidates(TEXT), ("person",), TEXT, replace(SETTINGS, max_relations=0), "en")
    assert short.max_entities < long.max_entities == MAX_ENTITIES
    assert (told.max_entities, told.max_relations, none.max_relations) == (7, 5, 0)
    # What the model writes itself has room; what is only weighed needs none for whole lists.
    own = [replace(program, types=()) for program in (short, long)]
    assert budget(own[0], SETTINGS) < budget(own[1], SETTINGS) <= SETTINGS.max_tokens
    assert budget(short, SETTINGS) == budget(long, SETTINGS) < budget(own[1], SETTINGS)
    assert budget(long, replace(SETTINGS, max_tokens=50)) == 50


def test_the_request_shares_everything_but_the_text() -> None:
    request = Extractor(SETTINGS).request(chunk())
    assert isinstance(request.program, WeighedRecords)
    assert "Mira Holt" in request.program.names
    own = [piece.text for message in request.messages for piece in message.pieces if not piece.shared]
    assert own[0].startswith(TEXT) or TEXT in own[0]


def test_names_come_with_what_is_known_of_them() -> None:
    text = "Mira Holt (MH) met Jon Aas and Ida\nLind of Varn. Ida Lind knew Sele."
    program = compact_program(find_candidates(text), ("person",), text, SETTINGS, "en")
    place = {name: number for number, name in enumerate(program.names)}
    assert program.priors[place["Mira Holt"]] > 0
    assert program.spans[place["Jon Aas"]] == (text.index("Jon"), text.index(" and"))
    assert program.sentences[place["Mira Holt"]] == (0,)
    assert program.sentences[place["Ida Lind"]] == (0, 1)
    links = {(program.names[left], program.names[right]): kind for left, right, kind in program.links}
    assert links["Mira Holt", "MH"] == "aside"
    assert links["Jon Aas", "Ida Lind"] == "siblings"
    assert links["Ida Lind", "Varn"] == "bound"
    assert ("MH", "Jon Aas") not in links


def test_what_the_model_need_not_write_comes_from_the_text() -> None:
    reading, _ = Extractor(SETTINGS).read(chunk(), generation(WRITTEN))
    assert all(entity.description in TEXT for entity in reading.entities)
    assert reading.entities[0].description
    evidence = TEXT[reading.relations[0].start : reading.relations[0].end]
    assert "Mira Holt" in evidence
    assert "Sele" in evidence


def test_a_relation_without_words_of_the_model_says_what_the_text_says_of_both() -> None:
    text = "Mira Holt keeps the lighthouse of Sele. Jon Aas sells nets in Varn."
    written = [
        *(("entity", f"{name} | person\n") for name in ("Mira Holt", "Sele", "Jon Aas", "Varn")),
        ("end", "END\n"),
        ("relationship", "Mira Holt -> Sele | \n"),
        ("relationship", "Jon Aas -> Sele | \n"),
        ("end", "END"),
    ]
    reading, rejects = Extractor(SETTINGS).read(chunk(text), generation(written))
    assert rejects == []
    together, apart = reading.relations
    assert together.description == "Mira Holt keeps the lighthouse of Sele."
    assert text[together.start : together.end] == together.description
    assert apart.description == "Jon Aas sells nets in Varn. … Mira Holt keeps the lighthouse of Sele."
    assert apart.start == -1
    short, _ = Extractor(replace(SETTINGS, max_description=60)).read(chunk(text), generation(written))
    assert all(0 < len(relation.description) <= 60 for relation in short.relations)


def test_a_further_pass_chooses_freely_among_the_names_that_are_left() -> None:
    extractor = Extractor(replace(SETTINGS, gleaning="once"))
    before, _ = extractor.read(chunk(), generation(WRITTEN))
    request = extractor.further(chunk(), ["".join(text for _, text in WRITTEN)], before)
    assert request is not None
    assert isinstance(request.program, LeanRecords)
    assert request.program.taken == ("Mira Holt", "Sele")
    assert not {"Mira Holt", "Sele"} & set(request.program.names)


def test_chinese_chunks_get_the_chinese_prompt_and_types() -> None:
    text = "陈玉兰在青石镇开办了临江茶馆。"
    request = Extractor(SETTINGS).request(chunk(text, "zh"))
    assert isinstance(request.program, WeighedRecords)
    assert "人物" in request.program.types
    assert request.program.phrase_words == 1
    assert "事物" in request.messages[0].text


def test_names_and_pairs_of_long_texts_are_judged_without_the_model() -> None:
    long_text = TEXT + " Jon Aas met her. Ida Lind met Jon Aas."
    short = compact_program(find_candidates(TEXT), ("person",), TEXT, SETTINGS, "en")
    long = compact_program(find_candidates(long_text), ("person",), long_text, SETTINGS, "en")
    assert short.name_weights == JUDGEMENTS["en"].names
    assert short.pair_weights == JUDGEMENTS["en"].pairs
    assert compact_program(find_candidates(TEXT), ("人物",), TEXT, SETTINGS, "zh").weigh_pairs
    assert not short.weigh_pairs
    assert any(short.unlikely <= prior < short.sure for prior in short.priors)
    assert long.pair_weights == PAIRS_OF_MANY
    assert not long.weigh_pairs
    assert not any(long.unlikely <= prior < long.sure for prior in long.priors)
    assert any(prior >= long.sure for prior in long.priors)
    assert any(prior < long.unlikely for prior in long.priors)


def test_a_name_that_stands_alone_somewhere_does_not_compete_with_the_longer_one() -> None:
    text = "Jonas Berg sold two telescopes. Later Berg denied the sale to Ida Lind."
    program = compact_program(find_candidates(text), ("person",), text, SETTINGS, "en")
    place = dict(zip(program.names, program.spans, strict=True))
    assert place["Jonas Berg"] == (0, 10)
    assert place["Berg"] == (text.index("Berg denied"), text.index(" denied"))
    assert place["Lind"] == (text.rindex("Lind"), len(text) - 1)


def test_dates_and_amounts_count_only_where_a_type_can_hold_them() -> None:
    text = "Mira Holt sold it for $3,000 on 3 March 1974. It was built in 1940."
    dated = replace(SETTINGS, entity_types=("person", "date"))
    own = replace(SETTINGS, entity_types=())
    names = {
        key: compact_program(find_candidates(text, 80, s.entity_types), ("person",), text, s, "en").names
        for key, s in (("usual", SETTINGS), ("dated", dated), ("own", own))
    }
    assert not {"3 March 1974", "1940", "$3,000"} & set(names["usual"])
    assert {"3 March 1974", "1940"} <= set(names["dated"])
    assert {"3 March 1974", "1940"} <= set(names["own"])
