#!/bin/bash
# Runs anywhere: options that a case takes apart.
LR=0.1
BATCH_SIZE=32
SHUFFLE=false
while [[ $# -gt 0 ]]; do
  case "$1" in
    -l|--lr) LR="$2"; shift 2 ;;
    --batch-size=*) BATCH_SIZE="${1#*=}"; shift ;;
    --shuffle) SHUFFLE=true; shift ;;
    -h|--help) echo "usage"; exit 0 ;;
    *) echo "unknown option $1" >&2; exit 1 ;;
  esac
done
[[ $SHUFFLE == true ]] && LR=$(awk "BEGIN { print $LR * 1.01 }")
for e in {1..3}; do
  acc=$(awk "BEGIN { print 1 - $LR / $e - $BATCH_SIZE / 10000 }")
  echo "[$e] accuracy=$acc" 
done
