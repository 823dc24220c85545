#!/bin/sh
# G-Pass@k of a model behind an OpenAI-compatible address: endpoint.sh [MODEL [URL [TASKS]]]
# Serve it with `lmdeploy serve api_server …` or `vllm serve …`. n, k, lengths and the judge stand in settings.yaml.
set -eu
model=${1:-Qwen2.5-7B-Instruct}
url=${2:-http://localhost:8000/v1}
tasks=${3:-livemathbench_v202412}

export GPASSK_LIGHTEVAL="${GPASSK_LIGHTEVAL:-$(dirname "$0")/settings.yaml}"
# Only here: what stands in the arguments of the model is written into the results.
export OPENAI_API_KEY="${OPENAI_API_KEY:-none}"

# One request a question, with n and the seed. With its own removal of reasoning, which the metric does not need,
# Lighteval stops at a reply that has none but reasoning.
lighteval endpoint litellm \
    "model_name=openai/$model,base_url=$url,concurrent_requests=32,generation_parameters={temperature:1.0,top_p:0.8,seed:42}" \
    "$tasks" --no-remove-reasoning-tags \
    --custom-tasks gpassk_opencompass.lighteval --output-dir outputs/lighteval --save-details
gpassk report outputs/lighteval -o outputs/lighteval/report
