"""Compile every fused pass for an H200 without one, and print what it takes of a multiprocessor.

    python benchmarks/fused_report.py            # ranks 20 and 32, single precision
    python benchmarks/fused_report.py --double   # also with factors in double precision

Registers of a thread, bytes that did not fit into them and how often a tile that lies inside goes for them, shared
memory of a program, and how many programs that leaves room for on a multiprocessor; "matrix" is the kind of matrix
instruction that the pass was made with, and "issued" the cycles that a multiprocessor takes to issue the instructions
of 64 × 64 entries that lie inside: no pass is quicker than that.
"""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from unrelu.kernels.device import fused, fused_look, fused_passes, operands

TARGET = GPUTarget("cuda", 90, 32)
TOOLS = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
REGISTERS, SHARED, THREADS = 65536, 227 * 1024, 2048
SAYS = {"nothing": 0, "one-sided": 1, "censored": 2}
DOUBLES = ("sums", "of_rows", "of_cols")
PARTS = ("left_low", "right_low")
INTEGERS = ("height", "width", "row_stride", "col_stride", "first_row", "first_col")
NUMBERS = ("inverse", "threshold", "sigma", "step_0", "step_1", "step_2", "step_3")


def wide(rank, precise, dtype):
    """How wide the sides of a fit are, and how their product is made, as for factors of so many columns."""
    left, _, how = operands.sides((torch.zeros((1, rank), dtype=dtype),) * 2, precise)
    return left.shape[1], how


def source(name, rank, says, precise, dtype, tuning=None):
    """A pass as it would be launched for a large symmetric matrix whose size is a multiple of 16."""
    what = "curvature" if name == "normal" else name
    kernel = fused_look.look_pass if name == "look" else getattr(fused_passes, f"{what}_pass")
    tuning = tuning or fused.TUNING[what]
    kind = torch.float32 if dtype == "fp32" else torch.float64
    (fit, how), (along, along_how), (beyond, beyond_how) = (
        wide(rank, True, kind), wide(2 * rank, precise or name != "curvature", kind), wide(rank, True, kind)
    )  # fmt: skip
    products = fused.ITSELF if dtype != "fp32" else fused.IN_THREE if precise else fused.SHORT
    constants = {
        "WIDE": fit, "FIT": how, "ALONG_WIDE": along, "ALONG_FIT": along_how,
        "BEYOND_WIDE": beyond, "BEYOND_FIT": beyond_how,
        "TIMES": rank, "TIMES_WIDE": operands.width_of(rank), "PRODUCTS": products, "FIRST": False,
        "TRIANGLE": True, "INSIDE": True, "SAYS": SAYS[says], "BELOW": True, "STEPS": 4,
        "TILE": tuning.tile, "SHARES": tuning.shares, "quiet": None, "col_stride": 1,
    }  # fmt: skip
    if products != fused.IN_THREE:
        constants |= dict.fromkeys(PARTS)
    if what == "curvature" and says == "nothing":
        constants |= {"left": None, "right": None, "WIDE": 0}
    if name == "normal":  # 64 columns of products of the factor's, and no change of the fit
        constants |= {"left_along": None, "right_along": None, "ALONG_WIDE": 0, "TIMES": 64, "TIMES_WIDE": 64}
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
            signature[argument] = "*fp64" if argument in DOUBLES else f"*{dtype}"
        if signature[argument] in ("*fp32", "*fp64", "i32"):
            attributes[(place,)] = [["tt.divisibility", 16]]
    constants = {(kernel.arg_names.index(key),): value for key, value in constants.items()}
    return ASTSource(kernel, signature, constants, attributes), tuning


def taken(name, rank, says, precise, dtype):
    """Registers, spilt bytes, shared memory, programs to a multiprocessor, and matrix instructions."""
    made, tuning = source(name, rank, says, precise, dtype)
    options = {
        "num_warps": tuning.warps, "num_stages": tuning.stages, "maxnreg": tuning.registers, "enable_fp_fusion": True,
    }  # fmt: skip
    found = triton.compile(made, target=TARGET, options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pass.cubin"
        path.write_bytes(found.asm["cubin"])
        told = subprocess.run([TOOLS / "cuobjdump", "-res-usage", path], capture_output=True, text=True, check=True)
        code = subprocess.run([TOOLS / "cuobjdump", "-sass", path], capture_output=True, text=True, check=True).stdout
    loop = shortest_loop(code)
    usage = dict(re.findall(r"(REG|STACK|LOCAL):(\d+)", told.stdout))
    registers = int(usage["REG"])
    spilt = len(re.findall(r"\b(?:LDL|STL)\b", "\n".join(loop)))
    shared, threads = found.metadata.shared, 32 * tuning.warps
    room = min(REGISTERS // (registers * threads), SHARED // max(shared + 1024, 1), THREADS // threads)
    matrix = [kind for kind in ("HGMMA", "HMMA", "DMMA") if re.search(rf"\b{kind}\b", code)]
    wide_loads = len(re.findall(r"LDG\.E\.128|LDG\.E\.\S*128|LDGSTS\S*128", code))
    issued = round(len(loop) * tuning.warps / 4 * 4096 / tuning.tile**2)
    return registers, int(usage["STACK"]), spilt, shared, room, "+".join(matrix) or "none", wide_loads, issued


def shortest_loop(code):
    """The instructions of the loop over tiles that lie inside; that over the others is longer."""
    lines = [(int(m[1], 16), m[2]) for m in re.finditer(r"/\*([0-9a-f]{4,})\*/\s+(.*?);", code)]
    at = {address: k for k, (address, _) in enumerate(lines)}
    loops = []
    for k, (_, words) in enumerate(lines):
        back = re.search(r"\bBRA\b.* 0x([0-9a-f]+)", words)
        first = at.get(int(back[1], 16), k) if back else k
        if k - first > 150:  # shorter ones wait for loads
            loops.append([words for _, words in lines[first : k + 1]])
    return min(loops, key=len)


# What no method asks for: with squares a look does not pull at unseen entries, and normal matrices are never precise.
NEVER = {
    ("quartic", "censored"), ("steps", "nothing"), ("steps", False), ("look", False), ("normal", True),
    ("normal", "one-sided"),
}  # fmt: skip


def cases(double):
    for rank in (20, 32):
        for precise in (True, False):
            for name in ("slopes", "curvature", "quartic", "steps", "look", "normal"):
                for says in SAYS:
                    if (name, says) in NEVER or (name, precise) in NEVER:
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
    print(
        "pass       rank unseen     products type  registers stack spills shared programs matrix 16-byte loads issued"
    )
    for name, rank, says, precise, dtype in cases(options.double):
        words = f"{name:<10} {rank:>4} {says:<10} {'3×TF32' if precise else '1×TF32':<8} {dtype}"
        if options.only not in words:
            continue
        try:
            registers, stack, spilt, shared, room, matrix, loads, issued = taken(name, rank, says, precise, dtype)
        except Exception as error:
            print(f"{words}  {type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}")
            continue
        print(
            f"{words}  {registers:>9} {stack:>5} {spilt:>6} {shared:>6} {room:>8} {matrix:>6} {loads:>13} {issued:>6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
