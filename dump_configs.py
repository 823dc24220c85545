"""Write one OpenCompass config for each combination of a template; see --help."""

import sys

from gpassk_opencompass.sweep import main

if __name__ == '__main__':
    sys.exit(main())
