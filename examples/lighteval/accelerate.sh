#!/bin/sh
# G-Pass@k by transformers, on the GPUs of this machine (or its CPU): accelerate.sh [MODEL [TASKS]]
# n, k, lengths and the judge stand in settings.yaml.
set -eu
model=${1:-Qwen/Qwen2.5-1.5B-Instruct}
tasks=${2:-livemathbench_v202412}

export GPASSK_LIGHTEVAL="${GPASSK_LIGHTEVAL:-$(dirname "$0")/settings.yaml}"

lighteval accelerate \
    "model_name=$model,batch_size=4,generation_parameters={temperature:1.0,top_p:0.8,top_k:50}" "$tasks" \
    --custom-tasks gpassk_opencompass.lighteval --output-dir outputs/lighteval --save-details
gpassk report outputs/lighteval -o outputs/lighteval/report
