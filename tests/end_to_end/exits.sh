# exits.sh CODE COMMAND...: succeeds where the command ends with that exit code;
# its stderr joins its stdout, for FileCheck.
code=$1
shift
"$@" 2>&1
found=$?
[ "$found" = "$code" ] || { echo "exit code $found, expected $code"; exit 1; }
