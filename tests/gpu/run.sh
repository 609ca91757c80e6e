#!/usr/bin/env bash
# Everything that needs a card, in under 8 minutes: whether it computes what the
# processor does, how long steps take, what they reach of its memory's speed.
# Prints a table; all figures are in results.json, traces beside it. Needs a
# driver; no compiler, no Python.
#
#   ./run.sh [OUT]     GRADUS_DEVICE=cuda:1 chooses another card
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
out=${1:-$here/results}
device=${GRADUS_DEVICE:-cuda}
seconds=${GRADUS_SECONDS:-6}
mkdir -p "$out" || exit 2
gradus="$here/bin/gradus"
export GRADUS_CUDA_LIBRARY="$here/lib/libgradus_cuda.so"
failed=0
lines="$out/lines"
: >"$lines"

# The value of a key in one line of JSON; numbers and texts alone.
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$1" | head -1; }
# Of an object in it: the key behind another.
within() { sed -n "s/.*\"$2\":{[^}]*\"$3\":\([^,}]*\).*/\1/p" <<<"$1" | head -1; }

card=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -1)
printf 'card: %s\n\n' "${card:-$device}"

echo "== programs"
if TMPDIR="$out" "$here/bin/cuda_tests" >"$out/cuda_tests.log" 2>&1; then
  tail -3 "$out/cuda_tests.log" | grep PASSED
else
  grep -a "FAILED" "$out/cuda_tests.log" | sort -u
  failed=1
fi

echo "== steps beside the processor's"
printf '%-20s %10s %12s\n' step tensors deviation
for file in "$here"/cases/*.gradus; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .gradus)
  tolerance=0.01
  case $name in *bf16*) tolerance=0.05 ;; esac
  if found=$("$gradus" compare "$file" --device "$device" --tolerance "$tolerance" --json 2>"$out/$name.log"); then
    verdict=""
  else
    verdict="FAILED: $(tail -1 "$out/$name.log")"
    failed=1
  fi
  printf '%-20s %10s %12s %s\n' "$name" "$(grep -o '"what"' <<<"$found" | wc -l)" "$(field "$found" largest)" "$verdict"
  printf '{"kind":"compare","name":"%s","ok":%s,"result":%s}\n' "$name" \
    "$([ -z "$verdict" ] && echo true || echo false)" "${found:-null}" >>"$lines"
done

echo "== time"
printf '%-20s %12s %12s\n' step "min ms" "queued ms"
for file in "$here"/speed/*.gradus "$here"/cases/*.gradus; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .gradus)
  if found=$("$gradus" bench "$file" --device "$device" --seconds "$seconds" --trace "$out/$name.trace.json" --json 2>"$out/$name.log"); then
    printf '%-20s %12s %12s\n' "$name" "$(within "$found" step ms_min)" "$(within "$found" call ms_min)"
  else
    printf '%-20s FAILED: %s\n' "$name" "$(tail -1 "$out/$name.log")"
    failed=1
  fi
  printf '{"kind":"time","name":"%s","result":%s}\n' "$name" "${found:-null}" >>"$lines"
done

{
  printf '{"card":"%s","device":"%s","date":"%s","failed":%s,"results":[' "$card" "$device" "$(date -u +%F)" \
    "$([ $failed = 0 ] && echo false || echo true)"
  paste -sd, "$lines"
  printf ']}\n'
} >"$out/results.json"
rm "$lines"
echo
echo "results: $out/results.json"
exit $failed
