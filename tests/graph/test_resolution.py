"""Which names mean the same, without a file: the issue's own examples, traps, and the laws of groups."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localrag.graph.names import fold
from localrag.graph.resolution import SURE, Link, Passage, clusters, flat, within_document

PERSON, ORGANIZATION, PLACE = "person", "organization", "place"
Named = tuple[str, str]


def passage(document: object, text: str, *names: Named, pairs: tuple[tuple[str, str], ...] = ()) -> Passage:
    """A passage in which these names were read."""
    mentions = tuple((fold(name), name, kind) for name, kind in names)
    return Passage(document, text, mentions, tuple((fold(one), fold(other)) for one, other in pairs))


def one_name(*passages: Passage) -> bool:
    """Whether all names of all passages mean one."""
    return len({meant for found in clusters(passages) for meant in found.values()}) == 1


def merged(*passages: Passage) -> list[dict[str, str]]:
    """For each passage the names that mean another one."""
    return [{key: meant for key, meant in found.items() if key != meant} for found in clusters(passages)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Sherlock Holmes met Watson. Holmes smiled. Mr. Holmes left.",
            [("Sherlock Holmes", PERSON), ("Holmes", PERSON), ("Mr. Holmes", PERSON)],
        ),
        ("EBENEZER SCROOGE sat. SCROOGE's door.", [("EBENEZER SCROOGE", PERSON), ("SCROOGE", PERSON)]),
        ("The United Nations (UN) met.", [("United Nations", ORGANIZATION), ("UN", ORGANIZATION)]),
        ("The United Nations (UN) met.", [("United Nations", ORGANIZATION), ("UN", PLACE)]),
        ("The United Nations met. UN troops came.", [("United Nations", ORGANIZATION), ("UN", "")]),
        ("阿里巴巴集团上市，阿里巴巴很大。", [("阿里巴巴集团", ORGANIZATION), ("阿里巴巴", ORGANIZATION)]),
        ("美联储（Federal Reserve）加息。", [("美联储", "组织"), ("Federal Reserve", "organization")]),
        ("Bombay, now called Mumbai, is large.", [("Bombay", PLACE), ("Mumbai", PLACE)]),
        ("世界卫生组织（以下简称“世卫”）表示。", [("世界卫生组织", "机构"), ("世卫", "机构")]),
        (
            "Kvern Works Ltd. grew. Kvern Works sells.",
            [("Kvern Works Ltd.", ORGANIZATION), ("Kvern Works", "org")],
        ),
        ("John T. Doe came. John Doe left.", [("John T. Doe", PERSON), ("John Doe", PERSON)]),
        ("Marta Lind spoke. Mrs. Lind left.", [("Marta Lind", PERSON), ("Mrs. Lind", PERSON)]),
        ("陈玉兰来了，玉兰笑了。", [("陈玉兰", "人物"), ("玉兰", "人物")]),
        ("阿尔伯特·爱因斯坦说，爱因斯坦教授。", [("阿尔伯特·爱因斯坦", "人物"), ("爱因斯坦", "人物")]),
        ("System Admin, SystemAdmin.", [("System Admin", "role"), ("SystemAdmin", "role")]),
    ],
)
def test_names_of_one_thing_are_one(text: str, names: list[Named]) -> None:
    assert one_name(passage(1, text, *names))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("John Smith and Jane Smith came.", [("John Smith", PERSON), ("Jane Smith", PERSON)]),
        ("John A. Smith, John B. Smith.", [("John A. Smith", PERSON), ("John B. Smith", PERSON)]),
        ("John Smith Jr. and John Smith.", [("John Smith Jr.", PERSON), ("John Smith", PERSON)]),
        ("New York and the New York Times.", [("New York", PLACE), ("New York Times", ORGANIZATION)]),
        ("中国和中国银行。", [("中国", "国家"), ("中国银行", "机构")]),
        ("中国和中国银行。", [("中国", "机构"), ("中国银行", "机构")]),
        ("Java and JavaScript.", [("Java", "language"), ("JavaScript", "language")]),
        ("In 2015 and 2016.", [("2015", "date"), ("2016", "date")]),
        ("Apple and Apple Records.", [("Apple", ORGANIZATION), ("Apple Records", ORGANIZATION)]),
        ("An apple of Apple Inc.", [("apple", "food"), ("Apple Inc.", ORGANIZATION)]),
        ("Paris (France) is old.", [("Paris", PLACE), ("France", PLACE)]),
        ("Who? The World Health Organization.", [("Who", "other"), ("World Health Organization", "org")]),
        ("吉林省和吉林市。", [("吉林省", "地点"), ("吉林市", "地点")]),
        ("George Washington in Washington.", [("George Washington", PERSON), ("Washington", PLACE)]),
        ("Alexander and Peter. Later Niklaus Peter.", [("Peter", PERSON), ("Niklaus Peter", PERSON)]),
        ("Marta called Lind.", [("Marta", PERSON), ("Lind", PERSON)]),
        ("小李叫王明来。", [("小李", "人物"), ("王明", "人物")]),
        ("U-2 and U-3.", [("U-2", "vehicle"), ("U-3", "vehicle")]),
    ],
)
def test_names_of_two_things_stay_two(text: str, names: list[Named]) -> None:
    assert merged(passage(1, text, *names)) == [{}]


def test_a_name_that_two_have_is_left_alone() -> None:
    text = "Sherlock Holmes met Mycroft Holmes. Holmes smiled."
    names = [("Sherlock Holmes", PERSON), ("Mycroft Holmes", PERSON), ("Holmes", PERSON)]
    assert merged(passage(1, text, *names)) == [{}]


def test_a_couple_is_two() -> None:
    text = "Marta Lind came. Mr. Lind and Mrs. Lind left."
    names = [("Marta Lind", PERSON), ("Mr. Lind", PERSON), ("Mrs. Lind", PERSON)]
    assert merged(passage(1, text, *names)) == [{}]


def test_each_document_says_whom_it_means() -> None:
    sherlock = passage(1, "Sherlock Holmes. Holmes.", ("Sherlock Holmes", PERSON), ("Holmes", PERSON))
    mycroft = passage(2, "Mycroft Holmes. Holmes.", ("Mycroft Holmes", PERSON), ("Holmes", PERSON))
    alone = passage(3, "Holmes came.", ("Holmes", PERSON))
    assert merged(sherlock, mycroft, alone) == [
        {"holmes": "sherlock holmes"},
        {"holmes": "mycroft holmes"},
        {},
    ]
    assert merged(sherlock, alone) == [{"holmes": "sherlock holmes"}] * 2


def test_another_full_name_anywhere_keeps_a_bare_one_alone() -> None:
    sherlock = passage(1, "Sherlock Holmes. Holmes.", ("Sherlock Holmes", PERSON), ("Holmes", PERSON))
    other, alone = (
        passage(2, "Mycroft Holmes.", ("Mycroft Holmes", PERSON)),
        passage(3, "Holmes.", ("Holmes", PERSON)),
    )
    assert merged(sherlock, other, alone) == [{"holmes": "sherlock holmes"}, {}, {}]


def test_a_document_that_holds_both_and_keeps_them_apart_stops_the_others() -> None:
    said = passage(1, "The United Nations (UN).", ("United Nations", ORGANIZATION), ("UN", ORGANIZATION))
    other = passage(2, "UN, the United Nations.", ("United Nations", ORGANIZATION), ("UN", "food"))
    third = passage(3, "The UN came.", ("UN", ORGANIZATION))
    assert merged(said, third) == [{"un": "united nation"}] * 2
    assert merged(said, other, third)[2] == {}


def test_a_legal_form_needs_no_document_that_holds_both() -> None:
    one = passage(1, "阿里巴巴集团上市。", ("阿里巴巴集团", "公司"))
    other = passage(2, "阿里巴巴很大。", ("阿里巴巴", "organization"))
    assert merged(one, other) == [{}, {"阿里巴巴": "阿里巴巴集团"}]


def test_initials_alone_are_only_suggested() -> None:
    one, other = passage(1, "United Nations.", ("United Nations", "org")), passage(2, "UN.", ("UN", "org"))
    assert merged(one, other) == [{}, {}]


def test_a_relation_between_both_speaks_against_one_person() -> None:
    names = (("Anna Lind", PERSON), ("Lind", PERSON))
    text = "Anna Lind met Lind."
    assert one_name(passage(1, text, *names))
    assert not one_name(passage(1, text, *names, pairs=(("Anna Lind", "Lind"),)))


def test_hundreds_of_names_with_one_word_in_common_say_nothing_and_cost_little() -> None:
    names = [(f"Lind Number{chr(97 + n // 26)}{chr(97 + n % 26)}", PERSON) for n in range(400)]
    assert merged(passage(1, "Lind.", ("Lind", PERSON), *names)) == [{}]


_NAMES = st.sampled_from(
    [
        ("Sherlock Holmes", PERSON),
        ("Mycroft Holmes", PERSON),
        ("Holmes", PERSON),
        ("Mr. S. Holmes", PERSON),
        ("United Nations", ORGANIZATION),
        ("UN", ORGANIZATION),
        ("UN", PLACE),
        ("阿里巴巴", ORGANIZATION),
        ("阿里巴巴集团", ORGANIZATION),
        ("Alibaba", ORGANIZATION),
    ]
)
_PASSAGES = st.lists(
    st.builds(
        lambda document, names, join: passage(document, join.join(name for name, _ in names) + ").", *names),
        st.integers(0, 3),
        st.lists(_NAMES, max_size=5),
        st.sampled_from((" and ", " (", ", also known as ", "（")),
    ),
    max_size=6,
)


@given(_PASSAGES, st.randoms(use_true_random=False))
def test_the_order_of_documents_changes_nothing(passages: list[Passage], dice: object) -> None:
    assert hasattr(dice, "shuffle")
    documents = list(dict.fromkeys(item.document for item in passages))
    dice.shuffle(documents)
    turned = [item for document in documents for item in passages if item.document == document]
    found = dict(zip(map(id, passages), clusters(passages), strict=True))
    assert [found[id(item)] for item in turned] == clusters(turned)


@given(_PASSAGES)
def test_what_a_name_means_means_itself(passages: list[Passage]) -> None:
    keys = {key for item in passages for key, _, _ in item.mentions}
    for found in clusters(passages):
        assert set(found.values()) <= keys
    for document in {item.document for item in passages}:
        links = within_document([item for item in passages if item.document == document])
        assert not {link.key for link in links} & {link.into for link in links}
        assert all(link.score >= SURE for link in links)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=8))
def test_groups_are_those_that_hang_together(pairs: list[tuple[str, str]]) -> None:
    links = [Link(one, other, 0.95, "part") for one, other in pairs if one != other]
    meant = {link.key: link.into for link in flat(links)}
    assert not set(meant) & set(meant.values())
    for link in links:
        assert meant.get(link.key, link.key) == meant.get(link.into, link.into)
