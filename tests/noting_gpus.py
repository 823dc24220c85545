"""A scripted model that notes which GPUs it sees, once a task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from scripted import ScriptedModel


class NotingModel(ScriptedModel):
    """Adds a line with CUDA_VISIBLE_DEVICES to the file `noted`."""

    def __init__(self, noted: str, **settings: Any) -> None:
        super().__init__(**settings)
        with Path(noted).open('a') as file:
            file.write(f'{self.path} {os.environ.get("CUDA_VISIBLE_DEVICES")}\n')
