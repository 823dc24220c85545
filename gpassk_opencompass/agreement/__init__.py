"""How well a judge agrees with labels, or two judges with each other."""
