#!/bin/sh
# G-Pass@k by transformers, on the GPUs of this machine (or its CPU): accelerate.sh [MODEL [TASKS]]
# Judged by rules; by an LLM after the lines at the end of judge.sh.
set -eu
model=${1:-Qwen/Qwen2.5-1.5B-Instruct}
tasks=${2:-livemathbench_v202412}

# n = 48 samples a question; transformers heeds the length of the task alone, not that of the model.
export GPASSK_N=48 GPASSK_K='4 8 16' GPASSK_MAX_NEW_TOKENS=8192

lighteval accelerate \
    "model_name=$model,batch_size=4,generation_parameters={temperature:1.0,top_p:0.8,top_k:50}" "$tasks" \
    --custom-tasks gpassk_opencompass.lighteval_tasks --output-dir outputs/lighteval --save-details
gpassk report outputs/lighteval -o outputs/lighteval/report
