"""Old names of `text`, until the rooms that use them are rewritten."""

from .text import UNSEEN, escape, json_text, whole_characters

__all__ = ['UNSEEN', 'escaped', 'json_text', 'printable', 'with_whole_characters']
escaped, with_whole_characters = escape, whole_characters


def printable(text: object, width: int | None = None, keep: str = '') -> str:
    """Return a text on one line with escapes."""
    cut = str(text) if width is None else str(text)[: width + 1]
    shown = escape(cut, keep)
    return shown if width is None or len(shown) <= width else f'{shown[: width - 1]}…'
