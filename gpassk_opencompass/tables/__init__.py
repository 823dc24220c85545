"""Tables of any command and report: one description, and its outputs."""

from ..text import csv_cell, csv_lines, csv_text, markdown_line, one_line, read_csv_cell
from .table import NOTHING, Cell, Column, Table, letter

__all__ = [
    'NOTHING',
    'Cell',
    'Column',
    'Table',
    'csv_cell',
    'csv_lines',
    'csv_text',
    'letter',
    'markdown_line',
    'one_line',
    'read_csv_cell',
]
