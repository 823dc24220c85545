"""How far the verdicts of a finished run can be trusted: some are drawn and checked, G-Pass@k is bounded."""
