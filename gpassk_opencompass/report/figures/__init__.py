"""Figures of boards as PNG and SVG: legible in grey, to colour-blind readers, and the same at every run."""

from .writing import write_figures, write_formula_figures

__all__ = ['write_figures', 'write_formula_figures']
