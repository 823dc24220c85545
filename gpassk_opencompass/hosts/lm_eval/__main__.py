"""Prints the folder of the tasks' files, for `lm_eval --include_path`."""

from . import TASKS

if __name__ == '__main__':
    print(TASKS)
