"""Names of General MIDI, beside those of pretty_midi."""

from __future__ import annotations

import re

import pretty_midi

from mirflow.theory.general_midi import FAMILIES, PROGRAMS


def test_programs_and_families_have_the_names_of_general_midi() -> None:
    def plain(name: str) -> str:
        return re.sub(r"[()]", "", name).casefold()

    assert [*map(plain, PROGRAMS)] == [plain(pretty_midi.program_to_instrument_name(one)) for one in range(128)]
    assert [FAMILIES[one // 8] for one in range(128)] == [
        pretty_midi.program_to_instrument_class(one) for one in range(128)
    ]
