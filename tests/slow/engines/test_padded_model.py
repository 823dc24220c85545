"""The model that vLLM gets is the shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip('transformers', reason='OpenCompass is not installed in this environment')


@pytest.mark.filterwarnings('ignore')
def test_longer_heads_compute_the_same_logits(padded: Path) -> None:
    """At positions up to 300, but for the order in which a processor adds up heads of another length."""
    import torch
    from transformers import AutoModelForCausalLM

    from gpassk_opencompass.demo import MODEL

    ids = torch.randint(0, 512, (2, 300), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        shipped, padded_one = (
            AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64)(ids).logits
            for path in (MODEL, padded)
        )
    assert shipped.dtype == torch.float64
    assert (shipped - padded_one).abs().max() < 1e-12 * shipped.abs().max()
