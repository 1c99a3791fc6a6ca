/* The simulated CUDA device's own entry points, beside the driver API that libgraphc_cudasim.so exports.
 *
 * A program that links or opens the simulator may use these to choose options, to read reports and counters and to
 * tell the simulator about its own pools. All are plain C; find them with dlsym when the library was opened by name.
 * Programs that know nothing of the simulator set the same options through the environment variable GRAPHC_CUDASIM.
 */
#ifndef GRAPHC_CUDASIM_H
#define GRAPHC_CUDASIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Options are "key=value" pairs separated by commas: "seed=7,schedule=random,check=races+uninitialised".
 *   gpu=a100|h200|rtx4090|b200   the device table (default a100); also names the compute capability
 *   cc=8.0|8.9|9.0|10.0          a plain device of that compute capability
 *   devices=N                    how many devices (default 1)
 *   memory=SIZE                  device memory, "512MiB", "16GiB" (default 16GiB)
 *   seed=N                       orders independent work, blocks and warps; 0 (default) is queue order
 *   schedule=lazy|random|adversarial|eager   when queued work runs (default lazy: only what a synchronisation needs)
 *   threads=N                    host threads for one kernel (default 1; 0 = all)
 *   check=LIST                   races (shared and global), shared-races, global-races, uninitialised,
 *                                same-value, strict-fences, none
 *   streams=on|off               stream-order checking (default on)
 *   hostwatch=on|off             host touches of pinned memory in flight (default on)
 *   action=fail|log              a finding fails the next synchronising call (default), or is only reported
 *   counters=on|off              counters and the time estimate of every launch (default off)
 *   report=stderr|none|FILE      where reports are printed (default stderr)
 *   idle=MS                      run queued work when the program makes no call for so long (default 1000; callbacks 5)
 *   steps=N                      warp instructions one launch may execute
 *   stack=SIZE                   a thread's stack for recursion and alloca until cuCtxSetLimit (default 1024)
 *   level=x86-64|x86-64-v3|x86-64-v4   instructions to use, for modules loaded from now on (default: the best)
 * Returns 0; 1 when an option is unknown or malformed (nothing is changed); 2 when gpu, cc, devices, memory or
 * check=uninitialised come after cuInit. graphcCudasimError() says what was wrong. */
int graphcCudasimConfigure(const char *options);
const char *graphcCudasimError(void);

typedef struct GraphcCudasimReport {
  const char *kind;    /* "out-of-bounds access", "stream-race", "host-race", "leak", ... */
  const char *message; /* the complete text, several lines */
  int isError;         /* 0 for notes and leaks */
} GraphcCudasimReport;

/* All reports so far, oldest first. The array lives until the next call of graphcCudasimReports or ...Clear.
 * Runs nothing: work that is still queued has not been checked yet. */
size_t graphcCudasimReports(const GraphcCudasimReport **reports);
/* Forgets reports, launch records and counts of unsupported calls. Sticky errors stay. */
void graphcCudasimClear(void);

typedef struct GraphcCudasimLaunch {
  const char *kernel;
  unsigned grid[3], block[3], sharedBytes;
  double hostSeconds;                         /* what the simulation cost */
  double microsecondsA100, microsecondsH200, microsecondsRTX4090; /* estimates, for ranking only */
  uint64_t warpInstructions, laneInstructions, globalSectors, globalIdealSectors, globalBytes, uniqueLines,
      sharedCycles, sharedIdealCycles, branches, divergentBranches, mma;
  double occupancy;
  const char *table;                          /* all counters as text */
} GraphcCudasimLaunch;

/* Every launch since counters=on, oldest first; the array lives as for reports. */
size_t graphcCudasimLaunches(const GraphcCudasimLaunch **launches);

typedef struct GraphcCudasimCall {
  const char *name;
  uint64_t count;
} GraphcCudasimCall;

/* Driver functions that were called though the simulator does not implement them. */
size_t graphcCudasimUnsupportedCalls(const GraphcCudasimCall **calls);

/* Pools and arenas that cut one device allocation into parts. From the first annotation on, kernels may touch only the
 * annotated parts of that allocation; everything else in it is red zone, so leave some bytes between parts. Annotating
 * a range replaces parts it overlaps. Unannotate takes the start of a part, fills it with a poison pattern and makes
 * later accesses a use after free that names the part. Both act at the call, not in stream order: unannotate when the
 * work that uses the part is done. Copies and memsets of the driver API are checked against the whole allocation.
 *
 *   cuMemAlloc(&arena, 1 << 20);
 *   graphcCudasimAnnotate(arena, 4096, "activations");          part one
 *   graphcCudasimAnnotate(arena + 4096 + 256, 1000, "bias");    part two behind a red zone of 256 bytes
 *   ... kernels ...
 *   graphcCudasimUnannotate(arena);                             "activations" may not be touched any more
 *
 * `label` (may be null) is copied and shown in reports. Return 0, or 1 when the range is not inside a live device
 * allocation (or no part starts there). */
int graphcCudasimAnnotate(uint64_t address, uint64_t bytes, const char *label);
int graphcCudasimUnannotate(uint64_t address);
/* The same in the order of a stream (a CUstream), for pools that hand memory on while work is still queued: the part
 * begins, or ends, when the stream gets there, and both count as a write of the part in that stream, so whoever uses it
 * without being ordered after its beginning and before its end is reported. Return 1 while the stream is captured. */
int graphcCudasimAnnotateIn(void *stream, uint64_t address, uint64_t bytes, const char *label);
int graphcCudasimUnannotateIn(void *stream, uint64_t address, uint64_t bytes);

/* Destroys every context and object and forgets cuInit, so that devices can be configured anew (tests, tools). */
void graphcCudasimReset(void);

#ifdef __cplusplus
}
#endif
#endif /* GRAPHC_CUDASIM_H */
