"""`python -m gpassk_opencompass.cli`: the `gpassk` command where it is not on the PATH."""

import sys

from . import main

if __name__ == '__main__':
    sys.exit(main())
