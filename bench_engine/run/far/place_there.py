"""The folder on another machine: made ready with the code, the plug-ins and an environment, each brought there once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench_engine.run.far import environment_there, there
from bench_engine.run.far.code_copy import Bundle
from bench_engine.run.far.destination import Destination
from bench_engine.run.far.environment_there import MARK
from bench_engine.run.far.ssh_line import FarError, Line
from db.settings import setting

_PYTHONS = ("python3.11", "python3", "python3.12", "python3.13", "python3.14")  # the first is what was tested

# What sh runs there, each a single line, which every login shell hands on as it is. Paths are given as arguments.
_QUOTED = r"""sed 's/[\\"]/\\&/g'"""  # as the inside of a JSON string
_ASKED = (
    'export LC_ALL=C; f=$1; c=$2; g=$3; shift 3; case $f in "~/"*) f=$HOME/${f#"~/"};; esac; '
    'mkdir -p -- "$f/code" "$f/plugins" && cd -- "$f" && echo writable > .writable && rm -f .writable || exit 3; '
    f"""printf '{MARK}{{"folder": "%s"}}\\n' "$(pwd -P | {_QUOTED})"; """
    f"""test -d "code/$c" && echo '{MARK}{{"code": true}}'; """
    f"""test -d "plugins/$g" && echo '{MARK}{{"plugins": true}}'; """
    'for p in "$@"; do case $p in "~/"*) p=$HOME/${p#"~/"};; esac; '
    'q=$(command -v "$p" 2>/dev/null) && '
    '"$q" -c "import sys; sys.exit(sys.version_info < (3, 11))" >/dev/null 2>&1 && '
    f"""printf '{MARK}{{"python": "%s"}}\\n' "$(printf %s "$q" | {_QUOTED})" && break; done; exit 0"""
)
_TAKE = (
    'export LC_ALL=C; cd -- "$1" && t=$(mktemp -d "$2.part.XXXXXX") || exit 3; '
    'if tar -xzmf - -C "$t"; then test -d "$2" && rm -rf "$t" || mv "$t" "$2"; else rm -rf "$t"; exit 4; fi'
)
_ENGINE = (
    'f=$1; c=$1/code/$2; p=$4; cd -- "$c" && export PYTHONPATH="$c${PYTHONPATH:+:$PYTHONPATH}" '
    'MIRROR_DB="$f/results.duckdb" MIRROR_CACHE_DIR="$f/build" MIRROR_DATA_DIR="${MIRROR_DATA_DIR:-$f/data}" '
    'MIRROR_PLUGINS="$3" && unset MIRROR_JOURNAL && shift 4 && exec "$p" -m ' + there.__name__ + ' "$@"'
)


@dataclass(frozen=True)
class Place:
    """A folder that is ready.

    Attributes:
        folder: its path there.
        code: name of the copy of the code in it.
        plugins: what MIRROR_PLUGINS is there.
        python: the Python that runs the engine.
    """

    folder: str
    code: str
    plugins: str
    python: str

    def engine(self, *words: str) -> list[str]:
        """The command that runs bench_engine.run.far.there with some words."""
        return _sh(_ENGINE, self.folder, self.code, self.plugins, self.python, *words)

    def session(self) -> list[str]:
        """The command that answers about the runs in the folder."""
        return self.engine("session", f"{self.folder}/results.duckdb")


def prepare(line: Line, code: Bundle, plugins: Bundle, named: Sequence[str], say: Callable[[str], None]) -> Place:
    """Make a folder ready.

    Args:
        code, plugins, named: see bench_engine.run.far.code_copy.
        say: told what takes its time.

    Raises LineError and FarError with a sentence.
    """
    to, given = line.to, setting("MIRROR_SSH_PYTHON")
    if given.startswith("-"):
        raise FarError(f"MIRROR_SSH_PYTHON is {given!r}, which no program is called: name a Python of {to.host}.")
    looked = line.call(_sh(_ASKED, to.folder, code.digest, plugins.digest, *([given] if given else _PYTHONS)))
    found = {key: value for said in looked for key, value in said.items()}
    if "folder" not in found:
        raise FarError(f"{to.host}: its shell did not run what it was told: see what `{to.by_hand} echo hello` says.")
    if "python" not in found:
        raise FarError(_no_python(to, given))
    for bundle in (code, plugins):
        if bundle.files and bundle.kind not in found:
            packed = bundle.packed()
            say(f"{to.host}: copying {bundle.kind} ({len(packed) / 1e6:.1f} MB).")
            line.call(_sh(_TAKE, f"{found['folder']}/{bundle.kind}", bundle.digest), packed)
    folder = str(found["folder"])
    python = _environment(line, [str(found["python"]), folder, code.digest], bool(given), say)
    of_plugins = f"{folder}/plugins/{plugins.digest}"
    return Place(folder, code.digest, ":".join(text.replace("{}", of_plugins, 1) for text in named), python)


def _environment(line: Line, words: Sequence[str], as_it_is: bool, say: Callable[[str], None]) -> str:
    python, folder, code = words
    copy = f"{folder}/code/{code}"
    script = f"{copy}/{environment_there.__name__.replace('.', '/')}.py"
    with line.talk([python, script, folder, copy, "as_it_is" if as_it_is else "own"]) as talk:
        found = ""
        for said in talk.heard():
            if "say" in said:
                say(f"{line.to.host}: {said['say']}")
            found = said.get("python", found)
    if not found:
        raise FarError(f"{line.to.host}: the environment could not be made, and nothing says why.")
    return found


def _no_python(to: Destination, given: str) -> str:
    if given:
        return (
            f"{to.host}: {given} is no Python 3.11 or newer there: name one with MIRROR_SSH_PYTHON, or none to have it "
            "looked for."
        )
    return f"{to.host}: there is no Python 3.11 or newer: install one there, or name it with MIRROR_SSH_PYTHON."


def _sh(script: str, *arguments: str) -> list[str]:
    return ["sh", "-c", script, "mirror", *arguments]
