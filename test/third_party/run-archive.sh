#!/bin/sh
# run-archive.sh RUNNER FOLDER ARGS…: runs the backend tests of FOLDER, or says that it is absent (77 = skipped for ctest).
runner=$1 folder=$2
shift 2
[ -d "$folder/node" ] || { echo "skipped: $folder is absent (the archive of newer ONNX backend tests is not at hand)"; exit 77; }
exec "$runner" "$folder" "$@"
