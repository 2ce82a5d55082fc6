"""The passwords of the app: which are set, what each lets in to, and how slowly wrong ones are answered."""

import hashlib
import hmac
import ipaddress
import threading
import time
import unicodedata
from collections.abc import Callable
from typing import Literal

from db.settings import PASSWORDS, SettingsError, is_blank, setting

Role = Literal["owner", "reader"]  # who may do all, and who may only ask; also what the record calls them
ROLES: tuple[Role, ...] = ("owner", "reader")  # of PASSWORDS, in their order

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
_FORGOTTEN_S = 900.0  # after which wrong tries of an address no longer count
_MOST_ADDRESSES = 10_000


def are_on() -> bool:
    """Whether a password is asked for. Raises SettingsError where one is set in a way that cannot be meant."""
    for name in PASSWORDS:
        if is_blank(name):
            raise SettingsError(f"{name} is set and empty: give it a password, or take the setting away.")
    given = [setting(name) for name in PASSWORDS if setting(name)]
    if len(set(map(_digest, given))) < len(given):
        raise SettingsError(f"{' and '.join(PASSWORDS)} are the same: what each lets in to differs, so choose two.")
    return bool(given)


def role_of(typed: str) -> Role | None:
    """What a password lets in to; None for a wrong one. All are compared, in a time that tells nothing of them."""
    found: Role | None = None
    for name, role in zip(PASSWORDS, ROLES, strict=True):
        password = setting(name)
        if hmac.compare_digest(_digest(typed), _digest(password)) and password:
            found = role
    return found


def _digest(text: str) -> bytes:
    """Of one length for all. An accented letter may be typed as one character or as two: both are the same."""
    return hashlib.sha256(unicodedata.normalize("NFC", text).encode(errors="surrogatepass")).digest()


class Throttle:
    """After each wrong try an address waits twice as long for the next one. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong: dict[str, tuple[int, float]] = {}  # address -> wrong tries in a row, time of the last

    def attempt(self, address: str, role: Callable[[], Role | None]) -> tuple[Role | None, float]:
        """Look at a try, if its address need not wait.

        Args:
            address: IP address of who tries; other text for one that is not known.
            role: compares what was typed.

        Returns:
            What it lets in to, if anything; seconds to wait, with which nothing was compared.
        """
        network = _network(address)
        with self._lock:  # tries at the same time are looked at one after the other, as all others are
            now = self._clock()
            self._forget(now)
            tries, last = self._wrong.get(network, (0, now))
            wait = last + min(_FIRST_WAIT_S * 2 ** min(tries - 1, 10), _LONGEST_WAIT_S) - now if tries else 0.0
            if wait > 0:
                return None, wait
            self._wrong.pop(network, None)
            found = role()
            if found is None:
                self._wrong[network] = (tries + 1, now)
            return found, 0.0

    def _forget(self, now: float) -> None:
        while self._wrong:
            oldest = next(iter(self._wrong))
            if len(self._wrong) <= _MOST_ADDRESSES and now - self._wrong[oldest][1] < _FORGOTTEN_S:
                return
            del self._wrong[oldest]


def _network(address: str) -> str:
    """An IPv4 address; of IPv6 the network of 64 bits, since whoever has one address there has all of them."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else address


throttle = Throttle()  # of this process
