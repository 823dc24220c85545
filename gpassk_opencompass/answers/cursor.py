"""A place in the tokens of an answer, for whoever reads them from left to right."""

from __future__ import annotations

from .tokens import Token, Tokens, Unread, closing, written

_END = Token('end', '')
_PAIRS = {
    '(': ')', '[': ']', '{': '}', r'\{': r'\}', r'\lfloor': r'\rfloor', r'\lceil': r'\rceil',
}  # fmt: skip


class Cursor:
    """Knows what comes next; what is taken lies behind it."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.place = 0

    def end(self) -> None:
        """Raise Unread if anything is left."""
        if self.place < len(self.tokens):
            raise Unread(written(self.tokens[self.place :]))

    def peek(self, ahead: int = 0) -> Token:
        """Return the next token, or the one so many behind it; a token without text if there is none."""
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else _END

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.place += 1
        return token

    def take(self, *texts: str) -> str:
        """Take the next token if it is one of `texts`, no word, and return it; else return ''."""
        token = self.peek()
        if token.text not in texts or token.kind == 'words':
            return ''
        self.place += 1
        return token.text

    def inside(self) -> Tokens:
        """Take the bracket that opens here and return what it holds."""
        end = closing(self.tokens, self.place)
        if _PAIRS.get(self.peek().text) != self.tokens[end].text:
            raise Unread('brackets that do not match')
        inside = self.tokens[self.place + 1 : end]
        self.place = end + 1
        return inside

    def part(self) -> None:
        """Part the first digit of the next number from the others: in TeX, `\\frac12` is a half."""
        number = self.peek().text
        digits = [Token('number', number[0]), Token('number', number[1:])]
        self.tokens = [*self.tokens[: self.place], *digits, *self.tokens[self.place + 1 :]]
