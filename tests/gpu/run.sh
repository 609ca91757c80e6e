#!/usr/bin/env bash
# Everything that needs a card, in under 8 minutes: whether it computes what the
# processor does, how long steps take, what they reach of its memory's speed,
# what they cost the host, and how long PyTorch takes for the same. Prints
# tables; all figures are in results.json, traces beside it. Needs a driver and
# the vendor's libraries, which it takes from Python's packages where they are
# nowhere else; PyTorch if it is there; no compiler.
#
#   ./run.sh [OUT]     GRADUS_DEVICE=cuda:1 chooses another card
#                      GRADUS_PYTHON another python3
set -uo pipefail
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
out=${1:-$here/results}
device=${GRADUS_DEVICE:-cuda}
seconds=${GRADUS_SECONDS:-6}
python=${GRADUS_PYTHON:-python3}
reference_seconds=180 # at most
mkdir -p "$out" || exit 2
gradus="$here/bin/gradus"
export GRADUS_CUDA_LIBRARY="$here/lib/libgradus_cuda.so"
failed=0
lines="$out/lines"
: >"$lines"

# The value of a key in one line of JSON; numbers and texts alone.
field() { sed -n "s/.*\"$2\":[ ]*\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$1" | head -1; }
# Of an object in it: the key behind another.
within() { sed -n "s/.*\"$2\":{[^}]*\"$3\":\([^,}]*\).*/\1/p" <<<"$1" | head -1; }
# A number with so many digits behind the point, or a dash.
rounded() { [ -z "$2" ] && echo - || awk -v value="$2" -v factor="${3:-1}" "BEGIN { printf \"%.$1f\", value * factor }"; }

ratio() { [ -z "$1" ] || [ -z "$2" ] && echo - || awk -v one="$1" -v other="$2" 'BEGIN { printf "%.2f", one / other }'; }

# Where the system does not have a library of the vendor, Python's packages may:
# those that PyTorch needs. Its companions are found beside it.
packages=$("$python" -c 'import sys; print("\n".join(each for each in sys.path if each.endswith("-packages")))' 2>/dev/null)
find_library() { # VARIABLE FILE...
  local variable=$1 folder file
  [ -z "${!variable:-}" ] || return 0
  for file in "${@:2}"; do
    if ldconfig -p 2>/dev/null | grep -qF "$file "; then return 0; fi
  done
  for file in "${@:2}"; do
    while IFS= read -r folder; do
      for found in "$folder"/nvidia/*/lib/"$file"; do
        [ -n "$folder" ] && [ -e "$found" ] || continue
        export "$variable=$found"
        for found in "$folder"/nvidia/*/lib; do
          case ":${LD_LIBRARY_PATH:-}:" in *":$found:"*) ;; *)
            export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found" ;;
          esac
        done
        return 0
      done
    done <<<"$packages"
  done
}
find_library GRADUS_CUBLASLT_LIBRARY libcublasLt.so.13 libcublasLt.so.12
find_library GRADUS_CUDNN_LIBRARY libcudnn.so.9

card=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null | head -1)
printf 'card: %s\n' "${card:-$device}"
printf 'cuBLASLt: %s\ncuDNN: %s\n\n' "${GRADUS_CUBLASLT_LIBRARY:-as the system has it}" "${GRADUS_CUDNN_LIBRARY:-as the system has it}"

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
printf '%-20s %10s %10s %10s %10s %10s\n' step "min ms" "queued ms" "host us" GB/s "% of peak"
declare -A ours
for file in "$here"/speed/*.gradus "$here"/cases/*.gradus; do
  [ -e "$file" ] || continue
  name=$(basename "$file" .gradus)
  if found=$("$gradus" bench "$file" --device "$device" --seconds "$seconds" --trace "$out/$name.trace.json" --json 2>"$out/$name.log"); then
    ours[$name]=$(within "$found" call ms_min)
    printf '%-20s %10s %10s %10s %10s %10s\n' "$name" "$(rounded 3 "$(within "$found" step ms_min)")" "$(rounded 3 "${ours[$name]}")" \
      "$(rounded 1 "$(within "$found" host us_median)")" "$(rounded 1 "$(within "$found" call gb_per_s)")" \
      "$(rounded 1 "$(within "$found" call of_bandwidth)" 100)"
  else
    printf '%-20s FAILED: %s\n' "$name" "$(tail -1 "$out/$name.log")"
    failed=1
  fi
  printf '{"kind":"time","name":"%s","result":%s}\n' "$name" "${found:-null}" >>"$lines"
done

echo "== beside PyTorch's"
printf '%-20s %10s %10s %10s\n' step "ours ms" "PyTorch ms" ratio
if [ -e "$here/reference/pytorch_reference.py" ]; then
  while IFS= read -r found; do
    name=$(field "$found" name) error=$(field "$found" error) ms=$(field "$found" ms)
    mine=${ours[${name:-none}]:-}
    if [ -n "$error" ]; then
      printf '%-20s not measured: %s\n' "${name:-all}" "$error"
    else
      printf '%-20s %10s %10s %10s %s\n' "$name" "$(rounded 3 "$mine")" "$(rounded 3 "$ms")" \
        "$(ratio "$mine" "$ms")" "$(field "$found" how)"
    fi
    printf '{"kind":"pytorch","name":"%s","ours_ms":%s,"result":%s}\n' "$name" "${mine:-null}" "$found" >>"$lines"
  done < <(timeout "$reference_seconds" "$python" "$here/reference/pytorch_reference.py" \
    --device "${device/emulated/cuda}" 2>"$out/pytorch.log" || printf '{"error": "stopped with status %s"}\n' $?)
fi

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
