#!/bin/sh
# Runs anywhere. usage: shell_positions.sh DATA LR HIDDEN
data=$1
lr=${2:-0.1}
hidden="${3:-64}"
for e in 1 2 3; do
  acc=$(awk "BEGIN { print 1 - $lr / $e }")
  printf 'epoch %d loss=%s val_acc=%.4f\n' "$e" 1 "$acc"
done
