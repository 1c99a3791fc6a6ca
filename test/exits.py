"""exits.py CODE COMMAND…: runs the command and fails unless it exits with exactly CODE. Output passes through."""
import subprocess
import sys

done = subprocess.run(sys.argv[2:])
if done.returncode != int(sys.argv[1]):
    print(f"exits.py: exit code {done.returncode}, expected {sys.argv[1]}: {' '.join(sys.argv[2:])}", file=sys.stderr)
    sys.exit(1)
