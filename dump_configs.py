"""Write one OpenCompass config for each combination of a template; see --help."""

import sys

if __name__ == '__main__':
    try:
        from gpassk_opencompass.cli.expand import dump_configs

        sys.exit(dump_configs())
    except KeyboardInterrupt:
        print('dump_configs.py: stopped', file=sys.stderr)
        sys.exit(130)
