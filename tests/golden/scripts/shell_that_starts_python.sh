#!/bin/bash
# Starts another script, and gives it what it is given.
EPOCHS=3
python3 bar_over_epochs.py --epochs "$EPOCHS" "$@" 2>&1 | tee log.txt
