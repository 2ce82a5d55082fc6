"""`python -m mirror`, which is the command `mirror` too."""

import sys

from mirror.faces.command import program

if __name__ == "__main__":
    sys.exit(program())
