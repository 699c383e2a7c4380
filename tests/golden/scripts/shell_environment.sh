#!/usr/bin/env bash
# Runs anywhere: variables that the environment sets.
set -euo pipefail
LR=${LR:-0.1}
: "${MOMENTUM:=0.9}"
HIDDEN="${HIDDEN-64}"
DATA_DIR=${DATA_DIR:-$HOME/data}
epochs=${EPOCHS:-5}
WEIGHT_DECAY=0.01
for ((e = 1; e <= epochs; e++)); do
  acc=$(awk -v lr="$LR" -v e="$e" 'BEGIN { print 1 - lr / e }')
  echo "epoch $e: val_acc $acc hidden $HIDDEN"
done
echo "Done. best val_acc: $acc"
