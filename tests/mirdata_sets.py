"""Data sets in the layouts of loaders of mirdata, with two tracks each and an index of their files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

_SALAMI_METADATA = "\n".join(
    [
        "SONG_ID,SOURCE,ANNOTATOR1,ANNOTATOR2,PREFERRED_AUDIO,SONG_DURATION,C_OR_P,SONG_TITLE,ARTIST,M,T1,T2,X,Y,CLASS,GENRE",
        "2,Codaich,5,8,mp3,264,,For God,RHCP,m,37,45,,,popular,Rock",
        "3,IA,5,8,mp3,,,Live,Someone,m,30,40,,,live,Live",
    ]
)
_MEDLEYDB = {
    "a": {"artist": "A", "title": "One", "genre": "Rock", "is_excerpt": False, "is_instrumental": True, "n_sources": 4},
    "b": {"artist": "B", "title": "Two", "genre": "Pop", "is_excerpt": True, "is_instrumental": True, "n_sources": 7},
}


def _tempo_jams(*tempi: tuple[float, float]) -> str:
    data = [{"time": 0.0, "duration": 120.0, "value": tempo, "confidence": share} for tempo, share in tempi]
    return json.dumps({"annotations": [{"data": data}, {"data": [{"value": "techno"}]}]})


FILES: Mapping[str, Mapping[str, str]] = {
    "beatles": {
        "a/beat.txt": "0.5 1\n1.0 2\n1.5 3\n2.0 1\n2.5 2\n",
        "a/chords.lab": "0.0\t1.5\tC\n1.5\t3.0\tG:min7/b3\n3.0\t4.0\tN\n",
        "a/keys.lab": "0.0\t3.0\tKey\tE\n3.0\t4.0\tSilence\t\n",
        "a/sections.lab": "0.0\t1.0\t0\tsilence\n1.0\t3.0\t0\tverse\n",
        "b/beat.txt": "0.25 4\n0.75 1\n1.25 2\n",
        "b/chords.lab": "0.0\t2.0\tA:min\n2.0\t2.5\tD\n",
        "b/keys.lab": "0.0\t3.0\tKey\tC#:minor\n",
        "b/sections.lab": "0.0\t0.5\t0\tintro\n0.5\t3.0\t0\tverse\n",
    },
    "giantsteps_key": {"a/key.txt": "D major\n", "a/meta.json": "{}", "b/key.txt": "C# minor", "b/meta.json": "{}"},
    "giantsteps_tempo": {
        "a/annotation_v1.jams": _tempo_jams((140.0, 0.6), (70.0, 0.4)),
        "b/annotation_v1.jams": _tempo_jams((128.0, 0.7), (64.5, 0.3)),
    },
    "salami": {
        "salami-data-public-hierarchy-corrections/metadata/metadata.csv": _SALAMI_METADATA,
        "2/annotator_1_uppercase.txt": "0.0\tSilence\n0.5\tA\n10.0\tB\n20.0\tEnd\n",
        "2/annotator_2_uppercase.txt": "0.0\tSilence\n0.6\tA\n12.0\tB\n20.0\tEnd\n",
        "3/annotator_1_uppercase.txt": "0.0\tA\n7.0\tC\n9.0\tEnd\n",
    },
    "medleydb_melody": {
        "medleydb_melody_metadata.json": json.dumps(_MEDLEYDB),
        "a/melody1.csv": "0.0,0.0\n0.01,220.5\n0.02,221.0\n0.03,0.0\n",
        "a/melody3.csv": "0.0,0.0,440.0\n0.01,220.5,330.0\n0.02,0.0,0.0\n",
        "b/melody1.csv": "0.0,440.0\n0.01,441.0\n0.02,0.0\n",
        "b/melody3.csv": "0.0,440.0,0.0\n0.01,441.0,0.0\n0.02,0.0,0.0\n",
    },
    "ikala": {
        "id_mapping.txt": "singer_id\tfile\n1\ta\n2\tb\n",
        "a_verse/lyrics.txt": "500 900 ni n i\n900 1400 hao h a o\n",
        "b_chorus/lyrics.txt": "250 400 wo w o\n1000 1400 men m e n\n",
    },
    "ballroom": {
        "Tango/a/beats.txt": "0.1 1\n0.6 2\n1.1 1\n",
        "Tango/a/tempo.txt": "120.5\n",
        "Waltz/b/beats.txt": "0.2 1\n0.7 2\n1.2 3\n",
        "Waltz/b/tempo.txt": "90\n",
    },
    "vocadito": {
        "vocadito_metadata.csv": "track_id,singer_id,average_pitch,language\n1,S1,60,English\n2,S2,55,Welsh\n",
        "1/notesA1.csv": "0.5,220.0,0.4\n1.0,246.9,0.5\n",
        "2/notesA1.csv": "0.1,330.0,0.2\n0.4,331.5,0.3\n",
    },
}
"""Data set -> path -> text. A file in a folder of a track has the name of its key in the index."""
_KEYS = {
    "beatles": {"beat", "chords", "keys", "sections"},
    "giantsteps_key": {"key", "meta"},
    "giantsteps_tempo": {"annotation_v1", "annotation_v2"},
    "salami": {f"annotator_{one}_{case}case" for one in (1, 2) for case in ("upper", "lower")},
    "medleydb_melody": {"melody1", "melody2", "melody3"},
    "ikala": {"lyrics", "pitch", "notes_pyin"},
    "ballroom": {"beats", "tempo"},
    "vocadito": {"f0", "lyrics", "notesA1", "notesA2"},
}


def write_dataset(folder: Path, name: str) -> Path:
    """Write the files of a data set below a folder, and its index, whose path is returned."""
    tracks: dict[str, dict[str, list[str | None]]] = {}
    for path, text in FILES[name].items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        track = path.rpartition("/")[0]
        if file.stem in _KEYS[name]:
            empty: dict[str, list[str | None]] = {key: [None, None] for key in _KEYS[name]}
            tracks.setdefault(track, {"audio": [f"{track}/audio.mp3", ""], **empty})[file.stem] = [path, ""]
    index = folder / "index.json"
    index.write_text(json.dumps({"version": "1.0", "tracks": tracks}))
    return index
