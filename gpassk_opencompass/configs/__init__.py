"""Configs to import into OpenCompass configs, or to name on its command line with `--config-dir`."""
