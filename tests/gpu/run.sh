#!/bin/sh
# Tests and measures on this machine's card; `./run.sh --help` says all. Needs
# Python 3.8 (GRADUS_PYTHON names one, such as one that has PyTorch).
exec "${GRADUS_PYTHON:-python3}" "$(dirname "$(readlink -f "$0")")/run.py" "$@"
