"""Exit codes of the command line."""

from __future__ import annotations

OK = 0
INTERNAL = 1
BAD_INPUT = 2
FAILED = 3
STORE = 4
HUNG_UP = 129
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143

MEANINGS = {
    OK: "done",
    INTERNAL: "an error inside mirflow; --debug shows the traceback",
    BAD_INPUT: "the command, a pipeline or a file is wrong, a name is unknown, or a scheduler cannot be reached",
    FAILED: "some cells have no score (run, evaluate), files have errors (check), scores differ (diff --fail-above)",
    STORE: "the store is locked by another run, damaged, or none",
    HUNG_UP: "the terminal went away (SIGHUP); what was computed is kept",
    INTERRUPTED: "interrupted (Ctrl-C); what was computed is kept",
    BROKEN_PIPE: "the program that read the output went away",
    TERMINATED: "terminated (SIGTERM); what was computed is kept",
}
