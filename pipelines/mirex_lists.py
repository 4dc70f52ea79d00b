"""Synthetic collections for the tasks of MIREX on lists: classes, tags, rankings, judgements, alignments.

`make_mirex_demo.py` calls it with the systems: a name, the share of things that they miss, the share they get wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

System = tuple[str, float, float]
Rng = np.random.Generator

FOLDS, TRACKS = 3, 60
CLASSES = {
    "artist": [f"artist{number:02d}" for number in range(1, 13)],
    "composer": ["Bach", "Beethoven", "Brahms", "Chopin", "Dvorak", "Handel", "Haydn", "Mozart", "Schubert", "Vivaldi"],
    "genre": ["blues", "jazz", "baroque", "classical", "romantic", "rock", "metal", "electronica", "rap", "country"],
    "mood": ["passionate", "cheerful", "wistful", "witty", "aggressive"],
    "symbolic_genre": ["bebop", "swing", "baroque", "classical", "country", "punk", "rap", "ragtime", "celtic"],
}
TAGS = ("acoustic", "dance", "drums", "female", "guitar", "loud", "piano", "quiet", "synth", "voice")
WORKS, COVERS, SONGS, HITS = 8, 5, 120, 10
QUERIES, CANDIDATES, GRADERS = 12, 30, 3
MUTATIONS = ("none", "deleted", "inserted", "enlarged", "compressed")
"""Classes of queries: as they are, or with an error of this sort in the melody."""


def write(path: Path, lines: Iterable[str]) -> None:
    """A text file, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_classes(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """One class for each track, in three folds, for each of the five classification tasks."""
    for family, classes in CLASSES.items():
        names = [f"{family}{number:03d}" for number in range(TRACKS)]
        references = [classes[number % len(classes)] for number in range(TRACKS)]
        write(folder / family / "reference.tsv", map("\t".join, zip(names, references, strict=True)))
        folds = (f"{name},{number % FOLDS + 1}" for number, name in enumerate(names))
        write(folder / family / "tracks.csv", ["track,fold", *folds])
        for system, _, wrong in systems:
            # A mistaken class is more often a neighbour in the list than any other.
            near = [classes[(number + int(rng.choice([-1, 1]))) % len(classes)] for number in range(TRACKS)]
            far = rng.choice(classes, TRACKS).tolist()
            mistaken, which = rng.random(TRACKS) < 1.5 * wrong, rng.random(TRACKS) < 0.6
            found = [
                (n if w else f) if m else t
                for t, n, f, m, w in zip(references, near, far, mistaken, which, strict=True)
            ]
            write(folder / family / f"{system}.tsv", map("\t".join, zip(names, found, strict=True)))


def write_tags(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """The tags of each clip, and the systems' affinities of every tag."""
    has = rng.random((TRACKS // 2, len(TAGS))) < np.linspace(0.2, 0.6, len(TAGS))
    has[:, 0] |= ~has.any(axis=1)
    own = (f"clip{clip:02d}\t{TAGS[tag]}" for clip, tag in np.argwhere(has).tolist())
    write(folder / "tag" / "reference.tsv", own)
    for system, _, wrong in systems:
        affinity = np.clip(rng.normal(np.where(has, 0.75, 0.25), 0.1 + wrong), 0, 1)
        rows = (
            f"clip{clip:02d},{tag},{affinity[clip, at]:.3f}" for clip in range(len(has)) for at, tag in enumerate(TAGS)
        )
        write(folder / "tag" / f"{system}.csv", ["clip,tag,affinity", *rows])


def write_covers(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """Works in several versions, and distances between all recordings as MIREX's matrices."""
    names = [f"{chr(97 + work)}{version}" for work in range(WORKS) for version in range(COVERS)]
    work = np.repeat(np.arange(WORKS), COVERS)
    write(folder / "cover" / "works.groups", (f"{name}\twork{one:02d}" for name, one in zip(names, work, strict=True)))
    for system, _, wrong in systems:
        noise = rng.normal(0, 0.1 + 0.8 * wrong, (len(names), len(names)))
        distance = np.abs(1.0 - 0.7 * (work[:, np.newaxis] == work) + (noise + noise.T) / 2)
        np.fill_diagonal(distance, 0)
        listed = (f"{number}\t{name}" for number, name in enumerate(names, 1))
        rows = ("\t".join([str(row + 1), *(f"{one:.4f}" for one in distance[row])]) for row in range(len(names)))
        head = "\t".join(["Q/R", *map(str, range(1, len(names) + 1))])
        write(folder / "cover" / f"{system}.matrix", [f"distances by {system}", *listed, head, *rows])


def write_queries(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """Sung queries with ranked lists of songs, and tapped ones in TREC's files; one song is right for each."""
    for family, count in (("hummed", 24), ("tapped", 16)):
        queries = [f"{family}{number:02d}" for number in range(count)]
        right = [f"song{number:03d}" for number in rng.choice(SONGS, count, replace=False)]
        pairs = list(zip(queries, right, strict=True))
        write(folder / family / "relevant.qrels", (f"{query} 0 {song} 1" for query, song in pairs))
        for system, _, wrong in systems:
            lines = []
            for query, song in pairs:
                others = [f"song{number:03d}" for number in rng.permutation(SONGS) if f"song{number:03d}" != song]
                # A system that errs has the song at any rank, beyond the list's end too.
                place = int(rng.geometric(max(1 - 1.8 * wrong, 0.2))) - 1
                ranked = [*others[:place], song, *others[place:]][:HITS]
                if family == "hummed":
                    lines += [f"{query}\t{one}" for one in ranked]
                else:
                    lines += [f"{query} Q0 {one} {rank} {1 / rank:.4f} {system}" for rank, one in enumerate(ranked, 1)]
            write(folder / family / f"{system}.{'tsv' if family == 'hummed' else 'run'}", lines)


def broad(fine: float) -> str:
    """The broad category of a fine judgement."""
    return "VS" if fine > 7 else "SS" if fine > 3.5 else "NS"


def write_judgements(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """Queries with the candidates of all systems, each judged by three graders, of audio and of melodies."""
    for family, listed in (("audio_similarity", 5), ("melodic_similarity", 10)):
        judged: list[str] = []
        for number in range(QUERIES):
            query, similarity = f"query{number + 1:02d}", rng.beta(0.8, 1.2, CANDIDATES) * 10
            chosen: dict[int, None] = {}
            for system, _, wrong in systems:
                guess = similarity + rng.normal(0, 0.5 + 8 * wrong, CANDIDATES)
                ranked = np.argsort(-guess)[:listed].tolist()
                chosen.update(dict.fromkeys(ranked))
                write(
                    folder / family / system / f"{query}.csv", ["candidate", *(f"{query}c{one:02d}" for one in ranked)]
                )
            for one in sorted(chosen):
                for grader in range(1, GRADERS + 1):
                    fine = float(np.clip(similarity[one] + rng.normal(0, 1), 0, 10))
                    judged.append(f"{query},{query}c{one:02d},grader{grader},{broad(fine)},{fine:.1f}")
        write(folder / family / "judgements.csv", ["query,candidate,grader,broad,fine", *judged])
        classes = (f"query{number + 1:02d},{MUTATIONS[number % len(MUTATIONS)]}" for number in range(QUERIES))
        write(folder / family / "queries.csv", ["track,mutation", *classes])


def write_alignments(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """Performances with a rubato of their own, and reports of followers, in milliseconds."""
    for number in range(1, 6):
        score = np.arange(80) * 400
        played = np.round(score * rng.uniform(0.9, 1.15) + np.cumsum(rng.normal(0, 8, len(score)))).astype(int)
        played = np.maximum.accumulate(np.maximum(played, 0))
        midi = rng.integers(55, 80, len(score))
        notes = list(zip(played.tolist(), score.tolist(), midi.tolist(), strict=True))
        write(folder / "following" / "reference" / f"piece{number}.txt", (f"{p}\t{s}\t{m}" for p, s, m in notes))
        for system, miss, wrong in systems:
            reports = []
            for onset, position, pitch in notes:
                if rng.random() < miss:
                    continue
                off = rng.normal(0, 3000) if rng.random() < wrong / 2 else rng.normal(0, 40 + 200 * wrong)
                found = max(round(onset + off), 0)
                reports.append((found, found + int(rng.integers(10, 120)), position, pitch))
            lines = ("\t".join(map(str, report)) for report in sorted(reports, key=lambda report: report[1]))
            write(folder / "following" / system / f"piece{number}.txt", lines)


PARTS: tuple[Callable[[Path, Sequence[System], Rng], None], ...] = (
    write_classes,
    write_tags,
    write_covers,
    write_queries,
    write_judgements,
    write_alignments,
)


def write_lists(folder: Path, systems: Sequence[System], rng: Rng) -> None:
    """Write all collections."""
    for part in PARTS:
        part(folder, systems, rng)
