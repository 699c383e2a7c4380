#!/bin/sh
# Packs the licences that every Debian has, and reports how large they are then.
set -e
bytes=$(cat /usr/share/common-licenses/GPL-* | xz --format=raw --lzma2="$1" --stdout | wc -c)
tune report kilobytes="$(awk "BEGIN { print $bytes / 1024 }")"
