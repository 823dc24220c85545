#!/bin/sh
# G-Pass@k by vLLM on one GPU: vllm.sh [MODEL [TASKS]]
# n, k and the judge stand in settings.yaml.
set -eu
model=${1:-Qwen/Qwen2.5-7B-Instruct}
tasks=${2:-livemathbench_v202412}

export GPASSK_LIGHTEVAL="${GPASSK_LIGHTEVAL:-$(dirname "$0")/settings.yaml}"

# vLLM draws the 48 samples of a question from the seeds 42, 43, …
lighteval vllm \
    "model_name=$model,max_model_length=16384,generation_parameters={temperature:1.0,top_p:0.8,top_k:50,max_new_tokens:8192,seed:42}" \
    "$tasks" \
    --custom-tasks gpassk_opencompass.lighteval --output-dir outputs/lighteval --save-details
gpassk report outputs/lighteval -o outputs/lighteval/report
