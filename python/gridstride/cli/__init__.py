"""The command `gridstride`: `demo` shows that it works, `info` what it runs on, `ir` what a kernel becomes,
`explain` how its threads run side by side."""

import argparse
import sys

from gridstride._native import CompileError

STAGES = ("typed", "optimized", "llvm", "assembly", "explain", "ptx", "explain-cuda")


def main(argv: list[str] | None = None) -> int:
    """Runs one command and gives the exit status: 0, 1 when the command failed, 2 for a wrong call."""
    args = parser().parse_args(argv)
    try:
        return args.run(args)
    except (CompileError, Mistake) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # `gridstride ir … | head`
        sys.stderr.close()
        return 0


class Mistake(Exception):
    """What the user has to change; its text is all there is to say."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="gridstride", description="GPU-style kernels in Python, compiled to machine code."
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="simulate a galaxy and a box of particles, check both, draw pictures")
    demo.add_argument("--quick", action="store_true", help="smaller sizes, a few seconds in all")
    demo.add_argument("--out", default="out", metavar="FOLDER", help="where the pictures go (default: out)")
    demo.add_argument("--device", default="cpu", help="cpu or interp (default: cpu)")
    demo.set_defaults(run=run_demo)

    info = commands.add_parser("info", help="versions, processor, compiler, cache")
    info.set_defaults(run=run_info)

    ir = commands.add_parser("ir", help="print what a kernel is compiled to")
    ir.add_argument("kernel", metavar="FILE:KERNEL", help="for example saxpy.py:saxpy")
    ir.add_argument("--stage", choices=STAGES, default="optimized", help="(default: optimized)")
    ir.add_argument("--types", metavar="TYPES", help='argument types of a generic kernel: "f32, array<vec<f32, 3>, 1>"')
    ir.set_defaults(run=run_ir)
    explain = commands.add_parser("explain", help="print what becomes of each memory access, branch and loop")
    explain.add_argument("kernel", metavar="FILE:KERNEL", help="for example saxpy.py:saxpy")
    explain.add_argument("--types", metavar="TYPES", help="argument types of a generic kernel, as for `ir`")
    explain.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="(default: cpu)")
    explain.set_defaults(run=run_explain)
    for command in (ir, explain):
        command.add_argument("--adjoint", action="store_true", help="of the kernel's adjoint kernel")
    return top


def run_demo(args: argparse.Namespace) -> int:
    from gridstride.cli.demo import demo

    return demo(quick=args.quick, out=args.out, device=args.device)


def run_info(args: argparse.Namespace) -> int:
    from gridstride.cli.facts import facts

    rows = facts()
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")
    return 0


def run_explain(args: argparse.Namespace) -> int:
    args.stage = "explain" if args.device == "cpu" else "explain-cuda"
    return run_ir(args)


def run_ir(args: argparse.Namespace) -> int:
    from gridstride.cli.stages import kernel_ir

    print(kernel_ir(args.kernel, args.stage, args.types, args.adjoint).rstrip())
    return 0
