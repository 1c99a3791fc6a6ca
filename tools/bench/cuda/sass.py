"""What a kernel costs on a GPU, found without one: machine instructions counted by the simulated device.

PTX runs on the simulator with a counter in every basic block; the same PTX, with a line number on every instruction, goes through
ptxas and nvdisasm, which says for each machine instruction which PTX it came from. Machine instructions times the counts of their
blocks are what a GPU would execute. Registers, spills and shared memory are ptxas's own report; sectors and distinct lines the
simulator's counters. Nothing here knows latencies or caches: times are estimates.
"""
import ctypes
import importlib.util
import pathlib
import re
import shutil
import subprocess
import tempfile

# An H200: what bounds a kernel.
SMS, CLOCK, BANDWIDTH = 132, 1.785e9, 4.8e12
REGISTERS, THREADS, BLOCKS, SHARED = 65536, 2048, 32, 227 * 1024


def find_program(name, given=None):
    """`given`, else on PATH, in the CUDA Toolkit, or inside the triton package."""
    if given:
        return given
    spec = importlib.util.find_spec("triton")
    folders = [pathlib.Path(found).parent] if (found := shutil.which(name)) else []
    folders += sorted(pathlib.Path("/usr/local").glob("cuda*/bin"), reverse=True)
    folders += [pathlib.Path(spec.origin).parent / "backends/nvidia/bin"] if spec else []
    for folder in folders:
        if (folder / name).exists():
            return str(folder / name)
    raise RuntimeError(f"{name} was not found; pip install triton has it")


# ---- PTX ---------------------------------------------------------------------------------------------------------

LABEL = re.compile(r"^\s*([$\w]+):\s*$")
NOT_CODE = re.compile(r"^\s*($|//|\.|\{|\}|[$\w]+:)")


def body_range(lines, kernel):
    start = next(i for i, line in enumerate(lines) if re.search(rf"\.entry\s+{re.escape(kernel)}\b", line))
    first = next(i for i in range(start, len(lines)) if lines[i].strip().startswith("{"))
    depth = 0
    for i in range(first, len(lines)):
        depth += lines[i].count("{") - lines[i].count("}")
        if depth == 0:
            return first, i
    raise ValueError(f"{kernel} has no end")


def blocks_of(lines, first, last):
    """Number of the basic block of every line of code, and where each block starts."""
    block, number, starts, fresh = {}, -1, [], True
    for i in range(first + 1, last):
        line = lines[i]
        if LABEL.match(line):
            fresh = True
            continue
        if NOT_CODE.match(line) and not line.strip().startswith("{//"):
            continue
        if fresh:
            number += 1
            starts.append(i)
            fresh = False
        block[i] = number
        if re.search(r"\bbra\b", line):
            fresh = True
    return block, starts


def without_debug(ptx):
    kept, skipping = [], False
    for line in ptx.splitlines():
        stripped = line.strip()
        if stripped.startswith(".section"):
            skipping = True
        if skipping:
            skipping = not (stripped == "}")
            continue
        if stripped.startswith((".loc", ".file")) or stripped.startswith("$L__tmp") or stripped.startswith("$L__func"):
            continue
        kept.append(re.sub(r",\s*debug\b|\.debug\b", "", line) if stripped.startswith(".target") else line)
    return kept


def with_counters(ptx, kernel):
    """The PTX with a counter of lanes for every block, and the number of blocks."""
    lines = without_debug(ptx)
    first, last = body_range(lines, kernel)
    block, starts = blocks_of(lines, first, last)
    out = []
    entry = next(i for i, line in enumerate(lines) if ".entry" in line)
    entry = next(i for i in range(entry, -1, -1) if re.match(r"^\s*(\.visible|\.weak|\.entry)", lines[i]))
    for i, line in enumerate(lines):
        if i == entry:
            out.append(f".visible .global .align 8 .b64 block_counts[{max(1, len(starts))}];")
        if i in starts:
            n = starts.index(i)
            out.append("{ .reg .b64 %counter_at; .reg .b64 %counter_old;")
            out.append(f"mov.u64 %counter_at, block_counts; add.u64 %counter_at, %counter_at, {8 * n};")
            out.append("atom.global.add.u64 %counter_old, [%counter_at], 1; }")
        out.append(line)
    return "\n".join(out) + "\n", len(starts)


def with_lines(ptx, kernel):
    """The PTX with a line number on every instruction, and the block of each of these lines."""
    lines = without_debug(ptx)
    first, last = body_range(lines, kernel)
    block, _ = blocks_of(lines, first, last)
    out, where = [], {}
    target = next(i for i, line in enumerate(lines) if line.strip().startswith(".address_size"))
    for i, line in enumerate(lines):
        if i in block:
            where[i + 1] = block[i]
            out.append(f".loc 1 {i + 1} 0")
        out.append(line)
        if i == target:
            out.append('.file 1 "kernel.ptx"')
    return "\n".join(out) + "\n", where


# ---- machine code ------------------------------------------------------------------------------------------------

RESOURCES = {"registers": r"Used (\d+) registers", "spills": r"(\d+) bytes spill stores", "stack": r"(\d+) bytes stack frame", "shared": r"(\d+) bytes smem"}


class MachineCode:
    """Instructions of a kernel, each with its opcode, PTX line and control bits."""

    def __init__(self, ptx, kernel, ptxas=None, nvdisasm=None):
        architecture = re.search(r"^\s*\.target\s+(\w+)", ptx, re.M)[1]
        text, self.where = with_lines(ptx, kernel)
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = pathlib.Path(folder) / "kernel.ptx", pathlib.Path(folder) / "kernel.cubin"
            # Triton writes a newer dialect than many a ptxas knows; these kernels need nothing of it.
            source.write_text(re.sub(r"^(\s*\.version)\s+[\d.]+", r"\1 8.7", text, flags=re.M))
            done = subprocess.run([find_program("ptxas", ptxas), "-v", "-lineinfo", f"-arch={architecture}", source, "-o", cubin], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip()[:400])
            self.resources = {key: int(m[1]) if (m := re.search(pattern, done.stderr)) else 0 for key, pattern in RESOURCES.items()}
            listing = subprocess.run([find_program("nvdisasm", nvdisasm), "-g", "-hex", cubin], capture_output=True, text=True, check=True).stdout
        self.instructions = self.parse(listing, kernel)

    @staticmethod
    def parse(listing, kernel):
        found, line, inside = [], None, False
        words = []
        for text in listing.splitlines():
            if text.startswith(".text.") or "\t.section\t.text." in text or text.strip().startswith(".section\t.text"):
                inside = kernel in text
            if not inside:
                continue
            if m := re.search(r'//## File "[^"]*", line (\d+)', text):
                line = int(m[1])
            elif m := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);?\s*/\* 0x([0-9a-f]{16}) \*/", text):
                found.append({"op": m[1], "text": text, "line": line, "control": 0})
            elif (m := re.match(r"\s*/\* 0x([0-9a-f]{16}) \*/", text)) and found:
                # The upper half holds the scheduler's bits: 41.. of it are stall, yield, barriers.
                found[-1]["control"] = int(m[1], 16) >> 41
        while found and found[-1]["op"] in ("NOP", "BRA"):
            found.pop() # padding behind the end
        return found

    def executed(self, counts):
        """Lane-instructions of a launch whose blocks ran `counts` times."""
        total = 0
        for instruction in self.instructions:
            block = self.where.get(instruction["line"], 0)
            total += counts[block] if block < len(counts) else 0
        return total

    def bytes_in_flight(self):
        """Most bytes a thread has asked global memory for before an instruction waits for some of them."""
        most = now = 0
        pending = 0
        for instruction in self.instructions:
            control = instruction["control"]
            write, wait = control >> 5 & 7, control >> 11 & 63
            if wait & pending:
                now, pending = 0, 0
            if instruction["op"].startswith(("LDG", "LD.E")):
                width = int(m[1]) // 8 if (m := re.search(r"\.(64|128)\b", instruction["op"])) else 2 if "16" in instruction["op"] else 1 if "8" in instruction["op"] else 4
                now += width
                most = max(most, now)
                if write < 6:
                    pending |= 1 << write
        return most

    def widest_access(self):
        widths = [int(m[1]) for i in self.instructions if i["op"].startswith(("LDG", "STG", "LD.E", "ST.E")) and (m := re.search(r"\.(64|128)\b", i["op"]))]
        return max(widths, default=32)


def occupancy(threads, registers, shared):
    """Threads of a multiprocessor that are there at once."""
    warps = (threads + 31) // 32
    by_registers = REGISTERS // (warps * ((registers * 32 + 255) // 256 * 256))
    by_shared = SHARED // (shared + 1024)
    blocks = min(BLOCKS, THREADS // (warps * 32), by_registers, by_shared)
    return blocks * threads


# ---- the simulated device ------------------------------------------------------------------------------------------


class Launch(ctypes.Structure):
    _fields_ = (
        [("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("hostSeconds", ctypes.c_double)]
        + [(name, ctypes.c_double) for name in ("microsecondsA100", "microsecondsH200", "microsecondsRTX4090")]
        + [(name, ctypes.c_uint64) for name in ("warpInstructions", "laneInstructions", "globalSectors", "globalIdealSectors", "globalBytes", "uniqueLines",
                                                 "sharedCycles", "sharedIdealCycles", "branches", "divergentBranches", "mma")]
        + [("occupancy", ctypes.c_double), ("table", ctypes.c_char_p)]
    )


class Simulator:
    """The simulator as a CUDA driver, one device, every launch counted."""

    def __init__(self, library):
        self.driver = ctypes.CDLL(str(library))
        if self.driver.graphcCudasimConfigure(b"gpu=h200,counters=on,threads=0,streams=off,memory=64GiB"):
            raise RuntimeError("the simulator refuses its options")
        self.context = ctypes.c_void_p()
        device = ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} failed with {code}")

    def allocate(self, bytes):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(bytes))
        return address

    def upload(self, array):
        address = self.allocate(array.nbytes)
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))
        return address

    def download(self, array, address):
        self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(array.nbytes))
        return array

    def free(self, address):
        self.call("cuMemFree_v2", address)

    def run(self, ptx, kernel, grid, block, shared, arguments):
        """Runs the kernel as it is for the counters, and once more with counted blocks."""
        counters = self.launch(ptx, kernel, grid, block, shared, arguments)[0]
        counted, blocks = with_counters(ptx, kernel)
        _, counts = self.launch(counted, kernel, grid, block, shared, arguments, blocks)
        return counters, counts

    def launch(self, ptx, kernel, grid, block, shared, arguments, blocks=0):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx.encode()))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments])
        self.driver.graphcCudasimClear()
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, None, pointers, None)
        self.call("cuCtxSynchronize")
        launches = ctypes.POINTER(Launch)()
        self.driver.graphcCudasimLaunches.restype = ctypes.c_size_t
        count = self.driver.graphcCudasimLaunches(ctypes.byref(launches))
        record = {name: getattr(launches[count - 1], name) for name, _ in Launch._fields_ if name not in ("grid", "block", "table", "kernel")}
        values = []
        if blocks:
            address, size = ctypes.c_uint64(), ctypes.c_size_t()
            self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, b"block_counts")
            held = (ctypes.c_uint64 * blocks)()
            self.call("cuMemcpyDtoH_v2", held, address, ctypes.c_size_t(8 * blocks))
            values = list(held)
        self.call("cuModuleUnload", module)
        return record, values
