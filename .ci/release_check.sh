#!/usr/bin/env bash
# `make release-check`: builds what would be published and tries it where there is no clone. What passed is in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."
clone=$PWD
python=${1:-python3}
unset PYTHONPATH
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

say() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

environment() { # NAME: an empty one
    "$python" -m venv "$place/$1"
}
install() { # NAME REQUIREMENT...
    "$place/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}
templates() { # NAME: a template for each engine, expanded; the shipped ones too
    local gpassk=$place/$1/bin/gpassk engine template
    mkdir "$place/$1-templates"
    cd "$place/$1-templates"
    for engine in $("$place/$1/bin/python" -c 'from gpassk_opencompass.sweep.engines import ENGINES; print(*ENGINES)'); do
        "$gpassk" init --engine "$engine" -o "$engine.py" >/dev/null
        "$gpassk" expand "$engine.py" --dry-run >/dev/null
        "$gpassk" expand "$engine.py" --output-dir "configs-$engine"
    done
    for template in nono1 o1 close close_o1 demo; do
        "$gpassk" init --template "$template" >/dev/null
        "$gpassk" expand "$template.py" --output-dir "configs-$template"
    done
    cd "$clone"
}

say 'build: the source archive, and the wheel from it'
environment tools
install tools build twine
"$place/tools/bin/python" -m build --outdir "$place/dist" . >"$place/build.log" 2>&1 || { cat "$place/build.log"; exit 1; }
"$place/tools/bin/python" -m twine check --strict "$place"/dist/*
wheel=$(echo "$place"/dist/*.whl) archive=$(echo "$place"/dist/*.tar.gz)

say 'the source archive, installed without extras'
environment source
install source "$archive"
"$place/source/bin/python" -m pip check
"$place/source/bin/gpassk" --version
templates source

say 'the wheel, installed with [opencompass] into an empty environment, without constraints'
environment wheel
install wheel torch==2.13.0 "$wheel[opencompass]" # the version that has a build for machines without a GPU
"$place/wheel/bin/python" -m pip check
templates wheel

say 'the demo from the wheel, in an empty folder'
mkdir "$place/empty"
cd "$place/empty"
"$place/wheel/bin/gpassk" demo
install wheel "$wheel[report]"
"$place/wheel/bin/gpassk" demo >/dev/null # adds figures and the page
"$place/wheel/bin/python" "$clone/.ci/check_demo.py" outputs/demo
cd "$clone"

mkdir -p dist
cp "$place"/dist/* dist/
say 'as it should be; in dist/: '"$(cd "$place/dist" && echo *)"
