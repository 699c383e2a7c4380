#!/bin/sh
# Runs anywhere: options of one letter.
LR=0.1
EPOCHS=3
NESTEROV=
usage() { echo "usage: $0 -l LR"; exit 1; }
while getopts "l:e:nh" opt; do
  case $opt in
    l) LR=$OPTARG ;;
    e) EPOCHS=$OPTARG ;;
    n) NESTEROV=1 ;;
    h|*) usage ;;
  esac
done
e=1
while [ $e -le $EPOCHS ]; do
  acc=$(awk "BEGIN { print 1 - $LR / $e }")
  echo "val acc: $acc"
  e=$((e + 1))
done
