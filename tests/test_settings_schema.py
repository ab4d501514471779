"""Every setting is described by what stands in its class."""

from __future__ import annotations

from localrag.sections import EngineSettings
from localrag.settings import Settings
from localrag.settings_schema import in_words, schema, value_of


def test_every_setting_has_help_a_default_and_bounds_that_hold() -> None:
    settings = {item.name: item for section in schema() for item in section.settings}
    assert len(settings) > 80
    assert not [name for name, item in settings.items() if len(item.help) < 10]
    assert not [section.name for section in schema() if len(section.help) < 10]
    assert all(value_of(Settings(), name) == item.default for name, item in settings.items())
    assert settings["engine.batch"].bounds == "0, or 32 to 8,192"
    assert settings["engine.threads"].bounds == "0 to 1,024"
    assert settings["engine.kv_type"].allowed[0] == EngineSettings().kv_type
    assert settings["answering.refuse_below"].help.endswith("0 leaves it to the model.")
    kinds = {item.kind for item in settings.values()}
    assert kinds == {"yes or no", "number", "word", "text", "list", "table"}
    assert settings["tui.theme"].when == "now"
    assert settings["engine.threads"].when == "when idle"


def test_values_read_as_they_are_typed() -> None:
    assert in_words(True) == "yes"
    assert in_words(("a", "b")) == "a, b"
    assert in_words({"library.delete": "x"}) == "library.delete = x"
    assert in_words(0) == "0"
