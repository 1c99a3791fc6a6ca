"""Runs every value test on one device: run_on.py GRAPHC-OP-TEST FOLDER DEVICE [NAME…]. Fails when a case differs.

Cases that a `not-on` line excuses must still fail.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

tool, folder, device, *names = sys.argv[1:]
files = sorted(pathlib.Path(folder).glob("*.mlir"))
if names:
    files = [file for file in files if file.stem in names]


def run(file):
    done = subprocess.run([tool, str(file), "--device", device], capture_output=True, text=True, timeout=900)
    return file, done


passed = 0
wrong = []
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for file, done in pool.map(run, files):
        if done.returncode == 0 or done.stdout.rstrip().endswith("0 passed, 0 failed"):
            passed += 1
        else:
            wrong.append(file.name)
            print(done.stdout.strip(), done.stderr.strip(), sep="\n")
print(f"{passed} files passed on {device}, {len(wrong)} failed: {' '.join(wrong)}")
sys.exit(1 if wrong or not passed else 0)
