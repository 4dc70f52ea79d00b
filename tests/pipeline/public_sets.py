"""Small trees of the shape of public data sets, with outputs of one or two systems beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

TRACKS = ("t1", "t2", "t3", "t4")


def _beats(shift: float = 0.0, bars: bool = False) -> str:
    return "".join(f"{5.5 + 0.5 * beat + shift:.3f}" + f" {beat % 4 + 1}" * bars + "\n" for beat in range(40))


def _melody(shift: float = 0.0) -> str:
    return "".join(f"{0.0058 * frame:.4f},{220 + shift + frame % 7}\n" for frame in range(2000))


_CHORDS = "0.0 4.0 C\n4.0 8.0 G:7\n8.0 12.0 A:min\n"
_SECTIONS = "0.0\t1\t60.0\tPallavi\n60.0\t2\t40.0\tCharanam\n"
_WORDS = "word_start,word_end,line_end\n1.0,1.5,\n1.6,2.0,\n2.4,3.0,3.0\n"
_HITS = "0.50\tKD\n1.00\tSD\n1.50\tHH\n2.00\tKD\n"
_MUSEVAL = json.dumps({"targets": [{"name": "vocals", "frames": [{"time": 0.0, "metrics": {"SDR": 5.0}}]}]})
_TAGS = "TRACK_ID\tTAGS\ntrack_1\tgenre---rock\n"
_NUMERALS = "mc\tmn\tmc_onset\ttimesig\tglobalkey\tlocalkey\tchord\n1\t1\t0\t4/4\tF\tI\tI\n2\t2\t0\t4/4\tF\tI\tV\n"
_MATCH = "info(matchFileVersion,1.0.0).\nsnote(n1,[C,n],4,1:1,0,1/4,0.0,1.0,[])-note(0,60,0,500,64,1,1).\n"


def _each(form: str, text: str) -> dict[str, str]:
    return {form.format(track): text for track in TRACKS}


SETS: Mapping[str, Mapping[str, str]] = {
    "ISMIR2019 beats and tempi": {
        **_each("set/annotations/beats/{}.beats", _beats(bars=True)),
        **_each("set/annotations/tempo/{}.bpm", "120.0\n"),
        **{
            name: text
            for system in ("a", "b")
            for name, text in _each(f"set/detections/{system}/{{}}.beats.txt", _beats(0.01)).items()
        },
        **{
            name: text
            for system in ("a", "b")
            for name, text in _each(f"set/detections/{system}/{{}}.bpm.txt", "120.00 60.00 0.85\n").items()
        },
        "README.md": "",
    },
    "sigsep-mus-2018": {
        **{f"submissions/{system}/test/{track}.json": _MUSEVAL for system in ("UHL2", "TAK1") for track in TRACKS},
        "submissions/UHL2/description.md": "",
    },
    "mtg-jamendo": {
        "data/splits/split-0/test.tsv": _TAGS,
        "results/predictions.npy": "",
        "results/groundtruth.npy": "",
    },
    "giantsteps-mtg-key": {
        **_each("annotations/key/{}.LOFI.key", "c minor\n"),
        **_each("annotations/genre/{}.LOFI.genre", "techno\n"),
        "annotations/annotations.txt": "ID\tMANUAL KEY\tC\n10089\td minor\t2\n",
        **_each("estimates/edm/{}.LOFI.key", "Eb major\n"),
    },
    "giantsteps-tempo": {
        **_each("annotations/genre/{}.LOFI.genre", "techno\n"),
        **_each("annotations/tempo/{}.LOFI.bpm", "137.0\n"),
        **_each("annotations_v2/tempo/{}.LOFI.bpm", "138.0\n"),
        **_each("annotations_v2/mirex/{}.LOFI.mirex", "69.0 138.0 0.3\n"),
        **_each("estimates/x/{}.LOFI.bpm", "138.0\n"),
    },
    "MDBDrums": {
        **_each("MDB Drums/annotations/beats/MusicDelta_{}_MIX.beats", _beats(bars=True)),
        **_each("MDB Drums/annotations/class/MusicDelta_{}_class.txt", _HITS),
        **_each("MDB Drums/annotations/subclass/MusicDelta_{}_subclass.txt", _HITS),
        **_each("MDB Drums/estimates/x/MusicDelta_{}.txt", _HITS),
    },
    "medleydb melody": {
        **_each("references/{}_MELODY1.csv", _melody()),
        **_each("estimates/salience/{}_MELODY1.csv", _melody(1)),
        **_each("estimates/other/{}_MELODY1.csv", _melody(2)),
    },
    "beat_this": {
        **_each("gtzan/annotations/beats/gtzan_{}.beats", _beats(bars=True).replace(" ", "\t")),
        **_each("smc/annotations/beats/smc_{}.beats", _beats()),
        **_each("gtzan/estimates/x/gtzan_{}.beats", _beats(0.01, bars=True).replace(" ", "\t")),
        **_each("smc/estimates/x/smc_{}.beats", _beats(0.01)),
        "gtzan/info.json": "{}",
    },
    "asap": {
        **{
            f"Bach/Fugue/{track}/midi_score_annotations.txt": "0.0\t0.0\tdb,4/4,0\n0.5\t0.5\tb\n1.0\t1.0\tb\n"
            for track in TRACKS
        },
        **_each("estimates/x/{}.txt", _beats()),
        "metadata.csv": "composer,title\nBach,Fugue\n",
    },
    "saraga sections": {
        **{f"reference/{track}/{track}.sections-manual-p.txt": _SECTIONS for track in TRACKS},
        **{f"reference/{track}/{track}.sama-manual.txt": "1.0\n6.0\n11.0\n" for track in TRACKS},
        **{f"reference/{track}/{track}.mp3.md5": "0" for track in TRACKS},
        **_each("estimates/x/{}.txt", "0.0\t62.0\tA\n62.0\t100.0\tB\n"),
    },
    "jamendolyrics": {
        **_each("annotations/words/{}.csv", _WORDS),
        **_each("annotations/lines/{}.csv", "start_time,end_time,lyrics_line\n1.0,3.0,one two three\n"),
        **_each("lyrics/{}.txt", "one two three\n"),
        **_each("predictions/x/{}.csv", _WORDS),
        "JamendoLyrics.csv": "Filepath,Artist\n" + "".join(f"{track}.mp3,A\n" for track in TRACKS),
    },
    "tmc323 chords": {
        **_each("reference/RWC_Pop_Chords/{}.lab", _CHORDS),
        **_each("reference/RWC_Pop_Chords/{}.svl", "<sv/>"),
        "reference/RWC_Pop_Chords.txt": "notes about the set\n",
        **_each("estimates/x/{}.lab", _CHORDS),
    },
    "onset_db": {
        **_each("ref/{}(1.8-11.8).onsets", "0.5\n1.0\n1.7\n2.0\n2.6\n"),
        **_each("est/x/{}(1.8-11.8).onsets", "0.51\n1.0\n1.71\n2.0\n"),
        "ref/README.md": "",
    },
    "vienna4x22": {**_each("match/{}.match", _MATCH), **_each("estimates/x/{}.match", _MATCH), "scripts/a.py": ""},
    "DCMLab ABC": {
        **_each("reference/harmonies/{}.tsv", _NUMERALS),
        **_each("estimates/x/{}.lab", "0 2 F:major\n2 4 C:major\n"),
        "reference/metadata.tsv": "fname\tlength\nx\t1\n",
    },
    "ISMIR2019 with genres": {
        **_each("annotations/beats/{}.beats", _beats(bars=True)),
        **_each("annotations/genre/{}.genre", "techno\n"),
        **_each("predictions/x/{}.beats.txt", _beats(0.01)),
        "predictions/scores.csv": "track,f_measure\n" + "".join(f"{track},0.9\n" for track in (*TRACKS, *TRACKS)),
    },
}
"""The files of each set: names and texts."""


def write_set(folder: Path, name: str) -> None:
    """Write the files of one set."""
    for path, text in SETS[name].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
