"""A scripted model that can be made to hang in the middle of its work, so that a test can stop it there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from scripted import ScriptedModel


class GatedModel(ScriptedModel):
    """Answers its first batch; from then on it waits as long as the file `gate` exists."""

    def __init__(self, gate: str, **settings: Any) -> None:
        super().__init__(**settings)
        self._gate, self._opened = Path(gate), True

    def sample(self, *given: Any, **settings: Any) -> None:
        while self._gate.exists() and not self._opened:
            time.sleep(0.05)
        self._opened = False
        super().sample(*given, **settings)
