"""A PostgreSQL server of one's own, thrown away afterwards: for the tests, and to try a command on.

    python -m tests.db.postgres_server COMMAND ...     # runs it with MIRROR_DB and MIRROR_JOURNAL set

It listens on this machine alone, does not wait for the disk, and ends with the process that started it. Debian's
package `postgresql` holds it; it refuses to run as root, which therefore starts it as the user that the package makes.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

USER = "mirror"
START_S = 30.0
_SETTINGS = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=30")


class ServerMissingError(RuntimeError):
    """There is no PostgreSQL server on this machine; the message says how to install one."""


@dataclass
class Server:
    """A server with its data in a folder.

    Attributes:
        password: of the user `mirror`, who may do everything.
        port: on 127.0.0.1.
    """

    folder: Path
    programs: Path
    port: int
    password: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql+psycopg://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def initialize(self) -> None:
        given = self.folder / "password"
        given.write_text(self.password)
        if os.geteuid() == 0:
            for path in (self.folder, given):
                shutil.chown(path, "postgres", "postgres")
        command = [
            "initdb", "-D", self.folder / "data", "-U", USER, "--pwfile", given, "--auth=scram-sha-256",
            "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
        ]  # fmt: skip
        done = subprocess.run(self._as_server(*command), cwd="/", capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr.strip()}")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        command = ["postgres", "-D", self.folder / "data", "-p", self.port, "-h", "127.0.0.1", "-k", "", *options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._as_server(*command),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever uses the server, who then stops it
            )
        deadline = time.monotonic() + START_S
        while True:
            try:
                psycopg.connect(self._conninfo(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    self.stop(signal.SIGQUIT)
                    raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()}") from None
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all connections and stops in order; SIGQUIT is a crash."""
        if self.process:
            self.process.send_signal(how)
            self.process.wait(timeout=START_S)
            self.process = None

    def execute(self, sql: str, database: str = "postgres") -> None:
        with psycopg.connect(self._conninfo(database), autocommit=True) as connection:
            connection.execute(sql)  # type: ignore[arg-type]

    @contextlib.contextmanager
    def database(self, template: str = "template0") -> Iterator[str]:
        """URL of a database that is dropped afterwards."""
        name = f"db_{secrets.token_hex(4)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield self.url(name)
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _conninfo(self, database: str = "postgres") -> str:
        return self.url(database).replace("+psycopg", "")

    def _as_server(self, program: str, *arguments: object) -> list[str]:
        """A command line that runs a program of the server as somebody who may, and ends it with this process."""
        user = ["--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return ["setpriv", *user, "--pdeathsig=INT", str(self.programs / program), *map(str, arguments)]


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """A running server; stopped and removed in the end. Raises ServerMissingError."""
    with tempfile.TemporaryDirectory(prefix="mirror-postgres-", dir="/tmp") as folder:
        running = Server(Path(folder), programs(), free_port())
        running.initialize()
        running.start()
        try:
            yield running
        finally:
            running.stop()


def programs() -> Path:
    """Folder of the server's programs. Raises ServerMissingError."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and not on_path:
        raise ServerMissingError("There is no PostgreSQL server here: run `apt-get install postgresql`.")
    return found[-1].parent if found else Path(str(on_path)).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(command: list[str]) -> int:
    """Run a command with the settings of a new server. Returns its exit status."""
    if not command:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with server() as running, running.database() as url, tempfile.TemporaryDirectory() as journal:
            return subprocess.run(command, env={**os.environ, "MIRROR_DB": url, "MIRROR_JOURNAL": journal}).returncode
    except ServerMissingError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
