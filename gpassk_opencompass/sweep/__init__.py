"""Template → configs: settings and their checks, engines, names, and the folder with its manifest."""
