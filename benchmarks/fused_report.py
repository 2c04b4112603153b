"""Compile every fused pass for an H200 without one, and print what it takes of a multiprocessor.

    python benchmarks/fused_report.py            # ranks 20 and 32, single precision
    python benchmarks/fused_report.py --double   # also with factors in double precision

Registers of a thread, bytes that did not fit into them, shared memory of a program, and how many programs that leaves
room for on a multiprocessor; "matrix" is the kind of matrix instruction that the pass was made with.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from unrelu.kernels.device import fused, fused_passes

TARGET = GPUTarget("cuda", 90, 32)
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
REGISTERS, SHARED, THREADS = 65536, 227 * 1024, 2048
SAYS = {"nothing": 0, "one-sided": 1, "censored": 2}
INTEGERS = ("height", "width", "row_stride", "col_stride", "first_row", "first_col")
NUMBERS = ("inverse", "threshold", "sigma", "step_0", "step_1", "step_2", "step_3")


def wide(rank):
    return max(fused.NARROWEST, triton.next_power_of_2(rank))


def source(name, rank, says, precise, dtype):
    """A pass as it would be launched for a large symmetric matrix whose size is a multiple of 16."""
    kernel, tuning = getattr(fused_passes, f"{name}_pass"), fused.TUNING[name]
    single = dtype == "fp32"
    constants = {
        "RANK": rank, "WIDE": wide(rank), "ALONG": 2 * rank, "ALONG_WIDE": wide(2 * rank),
        "TIMES": rank, "TIMES_WIDE": wide(rank), "BEYOND": rank, "BEYOND_WIDE": wide(rank),
        "TRIANGLE": True, "SAYS": SAYS[says], "BELOW": True, "STEPS": 4, "TILE": tuning.tile, "SHARES": tuning.shares,
        "FIT": "tf32x3" if single else "ieee", "PRODUCTS": ("tf32x3" if precise else "tf32") if single else "ieee",
        "quiet": None, "col_stride": 1,
    }  # fmt: skip
    if name == "curvature" and says == "nothing":
        constants |= {"left": None, "right": None}
    constants = {key: value for key, value in constants.items() if key in kernel.arg_names}
    signature, attributes = {}, {}
    for place, argument in enumerate(kernel.arg_names):
        if argument in constants:
            signature[argument] = "constexpr"
        elif argument in INTEGERS:
            signature[argument] = "i32"
        elif argument in NUMBERS:
            signature[argument] = "fp64"
        else:
            signature[argument] = "*fp64" if argument == "sums" else f"*{dtype}"
        if signature[argument] in ("*fp32", "*fp64", "i32"):
            attributes[(place,)] = [["tt.divisibility", 16]]
    constants = {(kernel.arg_names.index(key),): value for key, value in constants.items()}
    return ASTSource(kernel, signature, constants, attributes), tuning


def taken(name, rank, says, precise, dtype):
    """Registers, spilt bytes, shared memory, programs to a multiprocessor, and matrix instructions."""
    made, tuning = source(name, rank, says, precise, dtype)
    options = {"num_warps": tuning.warps, "num_stages": tuning.stages, "enable_fp_fusion": True}
    found = triton.compile(made, target=TARGET, options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pass.cubin"
        path.write_bytes(found.asm["cubin"])
        told = subprocess.run([TOOLS / "cuobjdump", "-res-usage", path], capture_output=True, text=True, check=True)
        code = subprocess.run([TOOLS / "cuobjdump", "-sass", path], capture_output=True, text=True, check=True).stdout
    usage = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", told.stdout))
    registers = int(usage["REG"])
    spilt = len(re.findall(r"\b(?:LDL|STL)\b", code))
    shared, threads = found.metadata.shared, 32 * tuning.warps
    room = min(REGISTERS // (registers * threads), SHARED // max(shared + 1024, 1), THREADS // threads)
    matrix = [kind for kind in ("HGMMA", "HMMA", "DMMA") if re.search(rf"\b{kind}\b", code)]
    wide_loads = len(re.findall(r"LDG\.E\.128|LDG\.E\.\S*128|LDGSTS\S*128", code))
    return registers, int(usage["STACK"]), spilt, shared, room, "+".join(matrix) or "none", wide_loads


def cases(double):
    for rank in (20, 32):
        for precise in (True, False):
            for name in ("slopes", "curvature", "quartic", "steps"):
                for says in SAYS:
                    if (name, says) in {("quartic", "censored"), ("steps", "nothing")} or (
                        name == "steps" and not precise
                    ):
                        continue
                    yield name, rank, says, precise, "fp32"
    if double:
        for name in ("slopes", "curvature", "quartic", "steps"):
            yield name, 20, "one-sided", True, "fp64"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--only", default="", help="passes whose line contains this")
    options = parser.parse_args()
    print("pass       rank unseen     products type  registers stack spills shared programs matrix 16-byte loads")
    for name, rank, says, precise, dtype in cases(options.double):
        words = f"{name:<10} {rank:>4} {says:<10} {'3×TF32' if precise else '1×TF32':<8} {dtype}"
        if options.only not in words:
            continue
        try:
            registers, stack, spilt, shared, room, matrix, loads = taken(name, rank, says, precise, dtype)
        except Exception as error:
            print(f"{words}  {type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}")
            continue
        print(f"{words}  {registers:>9} {stack:>5} {spilt:>6} {shared:>6} {room:>8} {matrix:>6} {loads:>5}", flush=True)


if __name__ == "__main__":
    main()
