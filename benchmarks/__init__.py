"""What each step costs, beside OpenCompass's own path and bare libraries: `python -m benchmarks NAME`.

`guard` fails where a stage became slower, `schedule` compares the pool of GPUs with the bound. That intervals
hold what they say is shown in `research/`.
"""
