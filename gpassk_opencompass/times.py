"""Old names of `text`, until the rooms that use them are rewritten."""

from .text import FOLDER, duration, own_folder, seconds_of, seconds_of_folder, utc_folder, utc_now

__all__ = ['FOLDER', 'duration', 'own_folder', 'seconds_of', 'seconds_of_folder', 'utc_folder', 'utc_now']
