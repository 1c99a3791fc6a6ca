# resident.py MODEL.gcx MOST BEYOND: runs it with `embed` and fails when more than MOST MiB are resident, or BEYOND more than its weights
# and planned memory. On one core, so that there is one worker's scratch and one slice of everything, as inspect --threads 1 counts.
import os
import re
import subprocess
import sys

model, most, beyond = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
one_core = {min(os.sched_getaffinity(0))}
process = subprocess.Popen(["embed", model, "3"], stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, one_core))
process.stdout.read()
_, status, usage = os.wait4(process.pid, 0)
assert status == 0, status
resident = usage.ru_maxrss / 1024
summary = subprocess.run(["graphc", "inspect", model, "--threads", "1"], capture_output=True, text=True, check=True).stdout
held = sum(float(size) for size in re.findall(r"(?:weights|arena|scratch|outputs) +([0-9.]+) MiB", summary))
assert resident < most, f"{resident:.1f} MiB resident, at most {most}"
assert resident - held < beyond, f"{resident - held:.1f} MiB beside {held:.1f} MiB of weights and planned memory"
