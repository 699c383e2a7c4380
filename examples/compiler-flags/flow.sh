#!/bin/sh
# flow.sh FOLDER FLAG...: compiles sum.c with the flags, checks what it computes, measures it, and leaves FOLDER/result.json.
set -e
folder=$1
shift
mkdir -p "$folder"
gcc "$@" -o "$folder/sum" sum.c -lm
kilobytes=$(size "$folder/sum" | awk 'NR == 2 { print $4 / 1024 }')
"$folder/sum" > "$folder/output.txt"
milliseconds=$(awk '/^milliseconds/ { print $2 }' "$folder/output.txt")
printf '{"time": {"milliseconds": %s}, "size": {"kilobytes": %s}}\n' "$milliseconds" "$kilobytes" > "$folder/result.json"
