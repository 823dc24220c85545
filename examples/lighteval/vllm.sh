#!/bin/sh
# G-Pass@k by vLLM on one GPU: vllm.sh [MODEL [TASKS]]
# Judged by rules; by an LLM after the lines at the end of judge.sh.
set -eu
model=${1:-Qwen/Qwen2.5-7B-Instruct}
tasks=${2:-livemathbench_v202412}

export GPASSK_N=48 GPASSK_K='4 8 16'

# vLLM draws the 48 samples of a question from the seeds 42, 43, …
lighteval vllm \
    "model_name=$model,max_model_length=16384,generation_parameters={temperature:1.0,top_p:0.8,top_k:50,max_new_tokens:8192,seed:42}" \
    "$tasks" \
    --custom-tasks gpassk_opencompass.lighteval_tasks --output-dir outputs/lighteval --save-details
gpassk report outputs/lighteval -o outputs/lighteval/report
