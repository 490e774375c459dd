"""The console's settings: each is a field of `Preferences`, with the default that the table names."""

from __future__ import annotations

from console.preferences.schema import CONSOLE_SETTINGS, Preferences, preferences

OF_OTHER_SECTIONS = {"keys", "notices", "guide", "keymap", "sources", "unknown"}


def test_each_field_is_a_setting_or_of_another_section() -> None:
    fields = [name for name in Preferences.__struct_fields__ if name not in OF_OTHER_SECTIONS]
    assert [setting.name for setting in CONSOLE_SETTINGS] == fields


def test_what_is_written_at_its_default_changes_nothing() -> None:
    written = {setting.name: setting.default for setting in CONSOLE_SETTINGS}
    assert preferences({"console": written}) == Preferences()


def test_each_value_that_may_be_written_comes_to_what_the_table_says() -> None:
    for setting in CONSOLE_SETTINGS:
        for text, value in setting.values.items():
            found = preferences({"console": {setting.name: text}})
            assert getattr(found, setting.name) == value
