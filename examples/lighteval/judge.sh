#!/bin/sh
# A judge on four GPUs of 80 GB, for any number of evaluations: judge.sh [lmdeploy|vllm]
set -eu

case ${1:-lmdeploy} in
lmdeploy)
    lmdeploy serve api_server Qwen/Qwen2.5-72B-Instruct --model-name Qwen2.5-72B-Instruct --server-port 23333 --tp 4 --session-len 16384 --enable-prefix-caching
    ;;
vllm)
    vllm serve Qwen/Qwen2.5-72B-Instruct --served-model-name Qwen2.5-72B-Instruct --port 23333 --tensor-parallel-size 4 --max-model-len 16384
    ;;
*)
    echo "judge.sh: lmdeploy or vllm, not $1" >&2
    exit 2
    ;;
esac

# Then, where the evaluation runs, name it in settings.yaml or eval_cfg.yaml, and see whether it answers:
#
# gpassk judge ping --model Qwen2.5-72B-Instruct --url http://node1:23333 http://node2:23333
