"""Runs a sweep on another machine over ssh, and brings here what comes of it: progress, entries and its end.

The run there is a process of its own, known by its command (sweep, -p and what else changes what it does). The same
command attaches to it after a lost line or when this process was ended; it brings what has not come here yet.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_engine.data import files as data_files
from bench_engine.plugin import named_plugins
from bench_engine.registry import DATA_SETS, METHODS
from bench_engine.run import runner
from bench_engine.run.far import code_copy
from bench_engine.run.far.destination import Destination
from bench_engine.run.far.place_there import Place, prepare
from bench_engine.run.far.ssh_line import FarError, Line, LineError, Talk
from bench_engine.run.groups import recording
from bench_engine.run.results import Results
from bench_engine.run.runner import Options
from bench_engine.sweep.sweep import Sweep, expand
from bench_engine.trial import Trial
from db import journal, runs
from db.record import RecordError, from_json
from db.runs import RunState
from db.settings import journal_dir
from db.store import Store, StoreError

_AGAIN_S = (1.0, 2.0, 5.0, 10.0, 30.0)  # waits before each try to reach a run again whose line was lost
_PIECE = 2**20
_MOST_AT_ONCE = 4 * 2**20  # bytes of entries that are sent in one line


def run(
    sweep: Sweep, options: Options, to: Destination, stop: bool = False, say: Callable[[str], None] = print
) -> RunState:
    """Run what is left of a sweep on another machine, or attach to that run where it goes on. From the main thread.

    SIGINT, SIGTERM and SIGHUP end this process's part alone; the state returned is then `cancelled`.

    Args:
        stop: end the run there, and bring what it has.
        say: told in sentences what happens, and the progress of the run there.

    Raises SweepError, ExecutorError, JournalError, StoreError or RunStateError with a sentence; the state of the run
    then says the same.
    """
    return _FarRun(sweep, options, to, stop, say).go()


class _FarRun:
    """One run on another machine, as this one sees it."""

    def __init__(self, sweep: Sweep, options: Options, to: Destination, stop: bool, say: Callable[[str], None]) -> None:
        self.sweep = sweep
        self.options = options
        self.to = to
        self.stop = stop
        self.say = say
        self.line = Line(to)
        self.store = Store(options.url)
        self.store.check_place()
        self.journal = journal_dir(self.store.url)
        self.results = Results(self.store, say)
        self.state = runner.first_state(sweep.name, options, self.journal)
        self.run_id = ""  # of the run there, once it is known
        self.offset = 0  # of its log, up to where it was told
        self.heard = False  # since the line was made last
        self.over = False
        self.known: set[str] = set()

    def go(self) -> RunState:
        self.update()
        runs.forget_trials(self.journal, self.state.run_id)
        try:
            with runner.signals(self.line.end):
                self.everything()
        except Exception as error:
            if not (self.line.cut.is_set() and isinstance(error, FarError | LineError)):
                with contextlib.suppress(runs.RunStateError):
                    self.update(status="failed", current="", seconds_left=None, message=str(error))
                raise
        if not self.over:
            self.update(status="cancelled", current="", seconds_left=None, message=self.left_sentence())
        return self.state

    def everything(self) -> None:
        trials = expand(self.sweep, self.options.overrides)  # a slip in the sweep is told before anything is reached
        self.results.open()
        app = any(trial.benchmark == "answering" for trial in trials)
        code = code_copy.code(app)
        sources = (source for method in METHODS.values() for source in method.sources if source.startswith("/"))
        plugins, named = code_copy.plugins(named_plugins(), sources)
        place = prepare(self.line, code, plugins, named, self.say)
        content = f"{code.digest}-{plugins.digest}"
        commit = code.files[code_copy.COMMIT][0].decode()
        try:
            self.reached(place, trials, {"code": content, "commit": commit})
        finally:
            self.results.catch_up()

    def reached(self, place: Place, trials: Sequence[Trial], began_with: dict[str, str]) -> None:
        """Follow the run to its end, again where the line is lost."""
        tries = 0
        while not self.over:
            try:
                with self.line.talk(place.session()) as talk:
                    self.session(talk, place, trials, began_with)
                    talk.finish()
                if not self.over:
                    raise LineError(f"{self.to.host} ended the line without a word: give the same command again.")
            except LineError as error:
                if self.line.cut.is_set() or not self.run_id:
                    raise
                tries = 1 if self.heard else tries + 1
                self.heard = False
                if tries > len(_AGAIN_S):
                    raise LineError(
                        f"The line to {self.to.host} was lost; the run goes on there, and the same command attaches to "
                        f"it. The last try: {error}"
                    ) from error
                if tries == 1:
                    self.say(f"The line to {self.to.host} was lost; the run goes on there. Trying again.")
                if self.line.cut.wait(_AGAIN_S[tries - 1]):
                    raise

    def session(self, talk: Talk, place: Place, trials: Sequence[Trial], began_with: dict[str, str]) -> None:
        """One line, from its first question to the end of the run, or to its own."""
        if self.stop:
            self.end_there(talk)
        elif not self.run_id:
            self.begin(talk, place, trials, began_with)
        self.known = {f"{i}-{n}" for i, tries in journal.attempts([self.journal]).items() for n in tries}
        talk.tell(do="follow", run=self.run_id, offset=self.offset, known=sorted(self.known))
        for said in talk.hear():
            self.heard = True
            if "over" in said:
                self.end(talk)
                return
            self.take(said)

    def begin(self, talk: Talk, place: Place, trials: Sequence[Trial], began_with: dict[str, str]) -> None:
        """Begin the run there, or attach to it."""
        found = talk.ask(do="going", key=self.key())
        while found["run"] and not found["active"] and found["code"] != began_with["code"]:  # over, of other code
            talk.ask(do="received", run=found["run"])  # what it has comes with the entries of the next
            found = talk.ask(do="going", key=self.key())
        if not found["run"]:
            self.before_start(talk, place, trials)
            found = talk.ask(do="start", key=self.key(), **began_with, **self.command())
        if found.get("active") and found["code"] != began_with["code"]:
            raise FarError(
                f"{self.to.host}: a run of this command goes on there with other code ({found['commit']}, here is "
                f"{began_with['commit']}): wait for its end, or end it with --stop."
            )
        self.run_id = found["run"]
        if not found.get("begun"):
            self.say(f"Attached to the run of this command that was begun at {self.to.host} before.")

    def end_there(self, talk: Talk) -> None:
        """End the run there. Raises FarError where there is none."""
        if not (run_id := talk.ask(do="stop", key=self.key())["run"]) and not self.run_id:
            raise FarError(f"{self.to.host}: no run of this command goes on there, so there is none to stop.")
        self.run_id = self.run_id or run_id

    # -- before the run --------------------------------------------------------------------------------------------

    def key(self) -> str:
        """What makes it the same command."""
        sweep, options = self.sweep, self.options
        words = [sweep.name, sweep.text, options.overrides, options.retry_failed, options.force, options.quick]
        return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:16]

    def command(self) -> dict[str, Any]:
        """The sweep, and what is given beside it."""
        options, name = self.options, self.sweep.name
        flags = {"--retry-failed": options.retry_failed, "--force": options.force, "--quick": options.quick}
        flags |= {"--wait": options.wait, "--verbose": options.verbose}
        given = [word for text in options.overrides for word in ("-p", text)]
        return {
            "sweep": name,
            "file": "sweep" if "/" in name or name.startswith(".") else name,  # where the text says no name, this does
            "text": self.sweep.text,
            "arguments": [*given, *(flag for flag, wanted in flags.items() if wanted)],
        }

    def before_start(self, talk: Talk, place: Place, trials: Sequence[Trial]) -> None:
        """Bring data files that are here and not there, and entries of that machine that only this one has."""
        names = dict.fromkeys(str(t.config["dataset"]) for t in trials if "dataset" in t.config)
        files = [file for name in names if name in DATA_SETS for file in DATA_SETS[name].present]
        if own := next((file for file in files if Path(file).is_absolute()), ""):
            raise FarError(
                f"{self.to.host}: files of a plug-in's data set are not copied, and {own} is one: run there with the "
                "plug-in and the file in place."
            )
        facts = talk.ask(do="facts", files=files)
        for file in facts["absent"]:
            self.bring_file(place, file)
        with contextlib.suppress(StoreError):
            self.bring_entries(talk, set(self.store.trial_ids(facts["machine_id"])))

    def bring_file(self, place: Place, file: str) -> None:
        """Copy a data file there; where it is not here either, its trials say so there."""
        if (path := data_files.located(file)) is None:
            return
        name, size = path.relative_to(data_files.data_dir()).as_posix(), path.stat().st_size
        self.say(f"{self.to.host}: copying the data file {name} ({size / 1e6:.1f} MB).")
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            content.seek(0)
            with self.line.talk(place.engine("receive", name, digest, str(size))) as talk:
                while piece := content.read(_PIECE):
                    talk.give(piece)
                list(talk.heard())

    def bring_entries(self, talk: Talk, of_machine: set[str]) -> None:
        """What that machine has measured is done there, also where its folder was lost."""
        paths = {path.name[:-5].rpartition(".")[0]: path for path in self.journal.glob("*.json")}
        ids = sorted(of_machine & paths.keys())
        entries: list[str] = []
        for trial_id in talk.ask(do="lacking", ids=ids)["ids"] if ids else []:
            entries.append(paths[trial_id].read_text(encoding="utf-8"))
            if sum(map(len, entries)) > _MOST_AT_ONCE:
                talk.ask(do="keep", entries=entries)
                entries = []
        if entries:
            talk.ask(do="keep", entries=entries)

    # -- while it runs ---------------------------------------------------------------------------------------------

    def take(self, said: dict[str, Any]) -> None:
        """Something that was said of the run."""
        for line in said.get("log", ()):
            self.say(line)
        self.offset = said.get("offset", self.offset)
        if "entry" in said:
            self.keep(said["entry"])
        if "trials" in said:
            runs.add_trials(self.journal, self.state.run_id, said["trials"])
        if "state" in said and said["state"]["status"] in ("waiting", "running"):
            self.update(**said["state"])
        elif "state" in said:
            self.state = replace(self.state, **said["state"])  # written when all of it is here

    def keep(self, text: str) -> None:
        """An entry goes into the journal here, then into the results."""
        try:
            record = from_json(text)
        except RecordError as error:
            self.say(f"Left out: an entry of {self.to.host}: {error}.")
            return
        try:
            journal.write(self.journal, record)
        except journal.JournalError:
            if journal.read(self.journal, record.trial_id, record.status) is None:  # else another process brought it
                raise
        self.results.index([record])

    def end(self, talk: Talk) -> None:
        """The run there is over, and all of it is here."""
        if self.state.status in ("failed", "died"):
            raise FarError(f"{self.to.host}: {self.state.message}")
        with contextlib.suppress(LineError, FarError):
            talk.ask(do="received", run=self.run_id)
        self.over = True
        self.update()

    def left_sentence(self) -> str:
        if not self.run_id:
            return f"Nothing was begun at {self.to.host}; the same command starts it."
        here = "here" if self.state.total else "Cancelled here"
        way_back = "The same command attaches to it, --stop added ends it."
        return f"{here} alone; the run goes on at {self.to.host}. {way_back}"

    def update(self, **changes: object) -> None:
        """Write the state with some changes."""
        self.state = recording.changed(self.state, **changes)
        runs.write(self.journal, self.state)
