"""signal_at.py SIGNAL FILE COMMAND...: runs the command, and sends it the signal when FILE has something in it.

The signal comes twice, as from timeout(1) and from process managers. It ends with the command's exit code.
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from resumed_training import wait_for  # noqa: E402

number = signal.Signals[f"SIG{sys.argv[1]}"]
process = subprocess.Popen(sys.argv[3:])
wait_for(sys.argv[2], process)
for again in range(2):
    process.send_signal(number)
code = process.wait()
sys.exit(128 - code if code < 0 else code)
