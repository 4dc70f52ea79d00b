"""General MIDI: names of programs, of their families and of pedals; percussion, and maps that assign it to classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

from .pitch import HIGHEST_MIDI

DRUMS = "Drums"  # Label of percussion, which is on channel 10 of MIDI files

_PROGRAMS = """
    Acoustic Grand Piano, Bright Acoustic Piano, Electric Grand Piano, Honky-tonk Piano, Electric Piano 1,
    Electric Piano 2, Harpsichord, Clavinet, Celesta, Glockenspiel, Music Box, Vibraphone, Marimba, Xylophone,
    Tubular Bells, Dulcimer, Drawbar Organ, Percussive Organ, Rock Organ, Church Organ, Reed Organ, Accordion,
    Harmonica, Tango Accordion, Acoustic Guitar (nylon), Acoustic Guitar (steel), Electric Guitar (jazz),
    Electric Guitar (clean), Electric Guitar (muted), Overdriven Guitar, Distortion Guitar, Guitar Harmonics,
    Acoustic Bass, Electric Bass (finger), Electric Bass (pick), Fretless Bass, Slap Bass 1, Slap Bass 2,
    Synth Bass 1, Synth Bass 2, Violin, Viola, Cello, Contrabass, Tremolo Strings, Pizzicato Strings, Orchestral Harp,
    Timpani, String Ensemble 1, String Ensemble 2, Synth Strings 1, Synth Strings 2, Choir Aahs, Voice Oohs,
    Synth Choir, Orchestra Hit, Trumpet, Trombone, Tuba, Muted Trumpet, French Horn, Brass Section, Synth Brass 1,
    Synth Brass 2, Soprano Sax, Alto Sax, Tenor Sax, Baritone Sax, Oboe, English Horn, Bassoon, Clarinet, Piccolo,
    Flute, Recorder, Pan Flute, Blown Bottle, Shakuhachi, Whistle, Ocarina, Lead 1 (square), Lead 2 (sawtooth),
    Lead 3 (calliope), Lead 4 (chiff), Lead 5 (charang), Lead 6 (voice), Lead 7 (fifths), Lead 8 (bass + lead),
    Pad 1 (new age), Pad 2 (warm), Pad 3 (polysynth), Pad 4 (choir), Pad 5 (bowed), Pad 6 (metallic), Pad 7 (halo),
    Pad 8 (sweep), FX 1 (rain), FX 2 (soundtrack), FX 3 (crystal), FX 4 (atmosphere), FX 5 (brightness),
    FX 6 (goblins), FX 7 (echoes), FX 8 (sci-fi), Sitar, Banjo, Shamisen, Koto, Kalimba, Bagpipe, Fiddle, Shanai,
    Tinkle Bell, Agogo, Steel Drums, Woodblock, Taiko Drum, Melodic Tom, Synth Drum, Reverse Cymbal,
    Guitar Fret Noise, Breath Noise, Seashore, Bird Tweet, Telephone Ring, Helicopter, Applause, Gunshot
"""
PROGRAMS: tuple[str, ...] = tuple(" ".join(_PROGRAMS.split()).split(", "))  # Names of the programs, counted from 0

FAMILIES: tuple[str, ...] = (
    *("Piano", "Chromatic Percussion", "Organ", "Guitar", "Bass", "Strings", "Ensemble", "Brass"),
    *("Reed", "Pipe", "Synth Lead", "Synth Pad", "Synth Effects", "Ethnic", "Percussive", "Sound Effects"),
)
"""Names of the families of eight programs: program ``p`` belongs to family ``p // 8``."""

SUSTAIN = 64
WHEEL = 4096  # Position of the pitch wheel that bends by a semitone, in the range of two semitones of General MIDI
BENT = WHEEL // 2  # Position from which on a note counts as bent: half a semitone, the usual tolerance of pitches
PEDALS: Mapping[str, int] = MappingProxyType({"sustain": SUSTAIN, "sostenuto": 66, "soft": 67})
"""Controller numbers of pedals, by name."""
_INDICES = {"": 0} | {text: index for index, pedal in enumerate(PEDALS.items()) for text in map(str, pedal)}


def pedal_of(label: str) -> int:
    """Index of a pedal in `PEDALS`, by name or controller; no name means the sustain pedal; -1 for none."""
    return _INDICES.get(label.strip().lower(), -1)


_PERCUSSION = """
    High Q, Slap, Scratch Push, Scratch Pull, Sticks, Square Click, Metronome Click, Metronome Bell,
    Acoustic Bass Drum, Bass Drum 1, Side Stick, Acoustic Snare, Hand Clap, Electric Snare, Low Floor Tom,
    Closed Hi-Hat, High Floor Tom, Pedal Hi-Hat, Low Tom, Open Hi-Hat, Low-Mid Tom, Hi-Mid Tom, Crash Cymbal 1,
    High Tom, Ride Cymbal 1, Chinese Cymbal, Ride Bell, Tambourine, Splash Cymbal, Cowbell, Crash Cymbal 2, Vibraslap,
    Ride Cymbal 2, Hi Bongo, Low Bongo, Mute Hi Conga, Open Hi Conga, Low Conga, High Timbale, Low Timbale,
    High Agogo, Low Agogo, Cabasa, Maracas, Short Whistle, Long Whistle, Short Guiro, Long Guiro, Claves,
    Hi Wood Block, Low Wood Block, Mute Cuica, Open Cuica, Mute Triangle, Open Triangle, Shaker, Jingle Bell,
    Belltree, Castanets, Mute Surdo, Open Surdo
"""
PERCUSSION: Final[Mapping[int, str]] = MappingProxyType(dict(enumerate(" ".join(_PERCUSSION.split()).split(", "), 27)))
"""Names of percussion pitches in General MIDI 1 (35 to 81) and 2 (27 to 87)."""

_SHORT = """
    36: BD, KD, kick, kick drum, bass drum, bass; 37: SS, side stick, rim, rimshot; 38: SD, snare, snare drum;
    39: CLP, clap, handclap; 42: HH, hihat, CHH, HHC, closed hihat; 43: FT, LFT, floor tom; 44: PHH, HHP, pedal hihat;
    45: LT; 46: OHH, HHO, open hihat, OH; 47: TT, MT, tom, toms, tom tom, tomtom, mid tom;
    49: CY, CYM, CRC, CR, cymbal, cymbals, crash, crash cymbal, CY+RD; 50: HT, hi tom; 51: RD, RC, ride, ride cymbal;
    52: CHC, china, china cymbal; 53: RB, BE, bell, bells; 54: TB; 55: SPC, splash; 56: CB, cow bell; 60: BO, bongo;
    75: CL, clave
"""
"""Common names of drums and of classes of drums, by their representative pitch."""


def _plain(name: str) -> str:
    """Normalise a name, ignoring case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


_PITCHES: Mapping[str, int] = MappingProxyType(
    {_plain(name): pitch for pitch, name in PERCUSSION.items()}
    | {
        _plain(name): int(pitch)
        for pitch, names in (drum.split(":") for drum in _SHORT.split(";"))
        for name in names.split(",")
    }
)


@lru_cache(maxsize=4096)
def pitch_of(label: str) -> int | None:
    """General MIDI pitch of a label, which is an integer from 0 to 127 or a common name in any case."""
    text = label.strip()
    try:
        number = float(text)
    except ValueError:
        return _PITCHES.get(_plain(text))
    return int(number) if 0 <= number <= HIGHEST_MIDI and number.is_integer() else None


@dataclass(frozen=True)
class DrumMap:
    """Classes of drums.

    Examples
    --------
    >>> DRUM_MAPS["adtof5"].class_of("46"), DRUM_MAPS["adtof5"].class_of("56")
    (3, -1)
    """

    classes: Mapping[str, tuple[int | str, ...]]
    """Members of each class: General MIDI pitches, or labels of annotations."""

    @property
    def names(self) -> tuple[str, ...]:
        """Classes in order."""
        return tuple(self.classes)

    @cached_property
    def _indices(self) -> tuple[dict[str, int], dict[int, int]]:
        """Index of the class by name or listed label, and by pitch: listed pitches precede those of listed names."""
        listed = [(str(label), index) for index, labels in enumerate(self.classes.values()) for label in labels]
        of_label = {_plain(name): index for index, name in enumerate(self.classes)}
        of_label |= {_plain(label): index for label, index in listed}
        listed.sort(key=lambda entry: entry[0].isdecimal())
        return of_label, {pitch: index for label, index in listed if (pitch := pitch_of(label)) is not None}

    def class_of(self, label: str) -> int | None:
        """Index of the class of a label: -1 for a drum outside all classes, None for an unknown drum.

        Names of classes and entries of the map take precedence over pitches and common names.
        """
        of_label, of_pitch = self._indices
        index = of_label.get(_plain(label))
        if index is not None:
            return index
        pitch = pitch_of(label)
        return None if pitch is None else of_pitch.get(pitch, -1)


_HI_HAT, _TOMS, _CYMBALS, _RIDE = (42, 44, 46), (41, 43, 45, 47, 48, 50), (49, 52, 55, 57), (51, 53, 59)
_KICK_AND_SNARE = {"BD": (35, 36), "SD": (37, 38, 39, 40)}
_OPEN = {"CHH": (42, 44), "OHH": (46,)}
_PARTS = {"FT": (41, 43), "TT": (45, 47, 48, 50)}
_REST = {"CY": _CYMBALS, "RD": _RIDE}


_VOGL18 = """
    BD 35 36, SD 38 40, SS 37, CLP 39, LT 41 43, MT 45 47, HT 48 50, CHH 42, PHH 44, OHH 46, TB 54, RD 51 59, RB 53,
    CB 56, CRC 49 57, SPC 55, CHC 52, CL 75
"""
DRUM_MAPS: Final[Mapping[str, DrumMap]] = MappingProxyType(
    {
        "adtof3": DrumMap({**_KICK_AND_SNARE, "HH": _HI_HAT}),
        "adtof5": DrumMap({**_KICK_AND_SNARE, "TT": _TOMS, "HH": _HI_HAT, "CY+RD": tuple(sorted((*_CYMBALS, *_RIDE)))}),
        "adtof6": DrumMap({**_KICK_AND_SNARE, "TT": _TOMS, "HH": _HI_HAT, **_REST}),
        "adtof7": DrumMap({**_KICK_AND_SNARE, "TT": _TOMS, **_OPEN, **_REST}),
        "adtof8": DrumMap({**_KICK_AND_SNARE, **_PARTS, **_OPEN, **_REST}),
        "adtof9": DrumMap({**_KICK_AND_SNARE, **_PARTS, **_OPEN, **_REST, "BO": (60,)}),
        # with the pitches of Roland's kits: edges of the hi-hat (22, 26) and rim of a tom (58)
        "groove9": DrumMap(
            {
                "BD": (36,),
                "SD": (37, 38, 40),
                "CHH": (22, 42, 44),
                "OHH": (26, 46),
                "LT": (43, 58),
                "MT": (45, 47),
                "HT": (48, 50),
                **_REST,
            }
        ),
        "vogl8": DrumMap(
            {**_KICK_AND_SNARE, "TT": _TOMS, "HH": _HI_HAT, "CY": _CYMBALS, "RD": (51, 59), "BE": (53, 56), "CL": (75,)}
        ),
        "vogl18": DrumMap(
            {name: tuple(map(int, pitches)) for name, *pitches in (entry.split() for entry in _VOGL18.split(","))}
        ),
    }
)
"""The maps of Zehren et al. (ADTOF, ISMIR 2021), Gillick et al. (Groove, ICML 2019) and Vogl et al. (DAFx 2018); names
end with the number of classes."""


STAFF: Final = (*DRUM_MAPS["adtof5"].classes, "other")
"""Rows of drums from bottom to top, as on a staff: kick, snare, toms, hi-hat, cymbals, and others."""


def staff_row(drum: str) -> int:
    """Row of a drum or a class of drums in `STAFF`."""
    number = DRUM_MAPS["adtof5"].class_of(drum)
    return len(STAFF) - 1 if number in (None, -1) else int(number)
