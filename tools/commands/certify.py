"""fence-sim certify and fence-sim explain: the purpose of every instruction of a lowering."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from fencewright.lowering.lower import lower_for
from fencewright.lowering.sequence import Request, Target, UnsupportedError
from fencewright.lowering.targets import parse_target
from fencewright.lowering.vocabulary import (
    SCOPE_WORDS,
    AddressSpace,
    Availability,
    L2PerAgent,
    Operation,
    Ordering,
    RmwKind,
    Scope,
)
from fencewright.tools.diagnostics import error, output_file, positive, read_text
from fencewright.tools.progress import progress
from fencewright.tools.statuses import DOES_NOT_HOLD, HOLDS
from fencewright.tools.workers import add_workers, campaign_error, open_workers

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from fencewright.simulator.certify.certificate import Certificate

NAME = "fence-sim"
ALL = "all"
"""Instead of a chip: every mode whose certificate the project ships."""


def add_commands(add_parser: Callable[..., ArgumentParser]) -> None:
    """Add ``certify`` and ``explain``."""
    certifier = add_parser(
        "certify", help="show for every sequence of a chip that it is sufficient and necessary"
    )
    certifier.set_defaults(execute=certify_chip)
    _add_mode(certifier)
    certifier.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        help="write the certificate, JSON (with all: the folder for them)",
    )
    certifier.add_argument(
        "--stream", metavar="FILE", type=Path, help="results as they come; resumes from it"
    )
    add_workers(certifier)
    certifier.add_argument(
        "--recheck",
        metavar="CERTIFICATE",
        type=Path,
        help="check this certificate instead of making one",
    )
    certifier.add_argument(
        "--sample",
        metavar="N",
        type=positive,
        help="of --recheck: only N operations, drawn by --seed",
    )
    certifier.add_argument("--seed", metavar="N", type=int, help="of --recheck (0)")
    explainer = add_parser(
        "explain", help="what each instruction of a sequence is for, with a counterexample"
    )
    explainer.set_defaults(execute=explain_operation)
    _add_mode(explainer)
    _add_operation(explainer)


def _add_mode(parser: ArgumentParser) -> None:
    parser.add_argument("chip", metavar="CHIP", help="gfx942, sm_90.. (certify: or all)")
    parser.add_argument("--mattr", metavar="FEATURES", default="", help="+tgsplit")
    parser.add_argument("--l2-per-agent", choices=tuple(map(str, L2PerAgent)), help="(many)")
    parser.add_argument("--ptx-version", metavar="VERSION", help="as 8.6")


def _add_operation(parser: ArgumentParser) -> None:
    parser.add_argument("operation", choices=tuple(map(str, Operation)))
    parser.add_argument("ordering", choices=tuple(map(str, Ordering)))
    parser.add_argument(
        "scope",
        type=lambda given: SCOPE_WORDS.get(given, given),
        choices=tuple(map(str, Scope)),
        nargs="?",
        default=Scope.SYSTEM,
        help="or others' word for it: cta, block, gpu, device, sys",
    )
    spaces, orderings = (tuple(map(str, each)) for each in (AddressSpace, Ordering))
    parser.add_argument("--space", choices=spaces, help="of an access (global)")
    parser.add_argument("--kind", choices=tuple(map(str, RmwKind)), help="of an atomic_rmw (add)")
    parser.add_argument("--failure-ordering", choices=orderings, help="of a cmpxchg")
    parser.add_argument("--no-return", action="store_true", help="nobody uses the old value")
    parser.add_argument("--spaces", choices=spaces, nargs="+", help="what it orders (default: all)")
    parser.add_argument("--one-as", action="store_true", help="each address space on its own")
    parser.add_argument("--av-none", action="store_true", help="order without making available")
    parser.add_argument("--at", metavar="N", type=int, help="only instruction N, from 0")
    parser.add_argument(
        "--certificate", metavar="FILE", type=Path, help="take from it what it has found"
    )


def _mode(arguments: Namespace) -> Target:
    version = arguments.ptx_version
    numbers = None if version is None else tuple(version.split("."))
    if numbers is not None and not (len(numbers) == 2 and all(map(str.isdigit, numbers))):
        raise error(f"'{version}' is not a PTX version like 8.6", NAME)
    features = [each.removeprefix("+") for each in arguments.mattr.split(",") if each]
    # Of a mode that the chip does not have every operation would hold, there being none.
    try:
        mode = parse_target(
            arguments.chip, features, arguments.l2_per_agent or L2PerAgent.MANY, ptx_version=version
        )
        lower_for(mode, Operation.FENCE, Ordering.SEQ_CST)
    except UnsupportedError as problem:
        raise error(str(problem), NAME) from problem
    return mode


def _check_effect(operation: Operation, arguments: Namespace) -> None:
    """Raise :class:`ToolError` for a flag that says nothing of ``operation``."""
    flags = (
        ("--space", arguments.space is not None, operation.is_access, "an access"),
        ("--kind", arguments.kind is not None, operation is Operation.ATOMIC_RMW, "an atomic_rmw"),
        ("--no-return", arguments.no_return, operation in _RETURNING, "an atomic_rmw or cmpxchg"),
    )
    for flag, is_given, has_effect, whose in flags:
        if is_given and not has_effect:
            raise error(f"{flag} has no effect: it is of {whose}, not of a {operation}", NAME)


_RETURNING = frozenset({Operation.ATOMIC_RMW, Operation.CMPXCHG})
"""The operations that return an old value."""


def _request(arguments: Namespace) -> Request:
    operation = Operation(arguments.operation)
    _check_effect(operation, arguments)
    space = AddressSpace(arguments.space or AddressSpace.GLOBAL) if operation.is_access else None
    failure = arguments.failure_ordering
    if operation is Operation.CMPXCHG and failure is None:
        failure = Ordering.RELAXED
    spaces = arguments.spaces
    return Request(
        op=operation,
        ordering=Ordering(arguments.ordering),
        scope=Scope(arguments.scope),
        space=space,
        failure_ordering=None if failure is None else Ordering(failure),
        returns=not arguments.no_return,
        kind=RmwKind(arguments.kind or RmwKind.ADD),
        one_as=arguments.one_as,
        spaces=None if spaces is None else frozenset(map(AddressSpace, spaces)),
        availability=Availability.NONE if arguments.av_none else Availability.FULL,
    )


def _read_certificate(path: Path) -> "Certificate":
    from fencewright.simulator.certify.certificate import Certificate, CertificateError

    try:
        return Certificate.from_json(read_text(str(path)))
    except (CertificateError, OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else None
        raise error(reason or str(problem), str(path)) from problem


def _certificate_of(mode: Target, path: Path) -> "Certificate":
    """The certificate in a file, which is that of ``mode``."""
    certificate = _read_certificate(path)
    if certificate.mode != mode:
        raise error(
            f"is the certificate of {certificate.mode}, not of {mode}: give "
            f"`{_words_of(certificate.mode)}` as the chip",
            str(path),
        )
    return certificate


def _words_of(mode: Target) -> str:
    """The words of the command line for a mode."""
    words = [mode.chip]
    if mode.features:
        words.append("--mattr " + ",".join(f"+{each}" for each in sorted(mode.features)))
    if mode.l2_per_agent is L2PerAgent.ONE:
        words.append(f"--l2-per-agent {L2PerAgent.ONE}")
    if mode.ptx_version is not None:
        words.append("--ptx-version {}.{}".format(*mode.ptx_version))
    return " ".join(words)


def explain_operation(arguments: Namespace) -> int:
    """``fence-sim explain``."""
    from fencewright.simulator.certify.certificate import CertificateError, explain

    path, mode = arguments.certificate, _mode(arguments)
    known = None if path is None else _certificate_of(mode, path)
    try:
        found = explain(_request(arguments), mode, arguments.at, known)
    except UnsupportedError as problem:
        raise error(str(problem), NAME) from problem
    except CertificateError as problem:
        raise error(str(problem), str(path or NAME)) from problem
    if not found and arguments.at is not None:
        raise error(f"--at {arguments.at}: no synchronising instruction has this number", NAME)
    if not found:
        print("there is no synchronising instruction to explain: the operation needs none here")
        return HOLDS
    print("\n\n".join(map(str, found)))
    return HOLDS


def certify_chip(arguments: Namespace) -> int:
    """``fence-sim certify``."""
    from fencewright.simulator.certify.certificate import CertificateError, modes
    from fencewright.simulator.core.processes.campaign import CampaignError

    _check_use(arguments)
    if arguments.recheck is not None:
        return _recheck(arguments)
    output = arguments.output
    if arguments.chip == ALL:
        folder = _folder(output)
        outputs = [(mode, str(folder / f"{mode}.json")) for mode in modes()]
    else:
        if output is not None and not (folder := Path(output).parent).is_dir():
            raise error("is no folder, so no certificate can be written to it", str(folder))
        mode = _mode(arguments)
        if output is not None and Path(output).is_dir():
            example = Path(output) / f"{mode}.json"
            raise error(f"is a folder: give a file for the certificate, as -o {example}", output)
        outputs = [(mode, output)]
    try:
        with open_workers(arguments) as executor:
            judged = [
                _certify(mode, output, executor, arguments.stream) for mode, output in outputs
            ]
    except CampaignError as problem:
        raise campaign_error(problem, NAME) from problem
    except (CertificateError, UnsupportedError) as problem:
        raise error(str(problem), NAME) from problem
    return HOLDS if all(judged) else DOES_NOT_HOLD


def _check_use(arguments: Namespace) -> None:
    """Raise :class:`ToolError` for a flag without a meaning for this ``certify``."""
    makes, every = arguments.recheck is None, arguments.chip == ALL
    flags = (
        ("-o", arguments.output is not None, makes, "--recheck writes no certificate"),
        ("--stream", arguments.stream is not None, makes, "--recheck has no results to go on from"),
        ("--jobs", arguments.jobs > 1, makes, "--recheck runs in one process"),
        ("--cluster", arguments.cluster is not None, makes, "--recheck runs in one process"),
        ("--sample", arguments.sample is not None, not makes, "it is of --recheck"),
        ("--seed", arguments.seed is not None, not makes, "it is of --recheck"),
        ("--mattr", bool(arguments.mattr), not every, "all has every mode"),
        ("--l2-per-agent", arguments.l2_per_agent is not None, not every, "all has every mode"),
        ("--ptx-version", arguments.ptx_version is not None, not every, "all has every mode"),
    )
    for flag, is_given, has_effect, why in flags:
        if is_given and not has_effect:
            raise error(f"{flag} has no effect: {why}", NAME)


def _recheck(arguments: Namespace) -> int:
    """``fence-sim certify CHIP --recheck``."""
    from fencewright.simulator.certify.certificate import CertificateError, recheck

    path: Path = arguments.recheck
    if arguments.chip == ALL:
        mode = _read_certificate(path).mode
        raise error(f"--recheck is of one certificate: give `{_words_of(mode)}` for all", NAME)
    certificate = _certificate_of(_mode(arguments), path)
    try:
        problems = recheck(certificate, arguments.sample, arguments.seed or 0)
    except CertificateError as problem:
        raise error(str(problem), str(path)) from problem
    what = "the certificate" if arguments.sample is None else "the sample of the certificate"
    print(*(problems or (f"{what} holds",)), sep="\n")
    return DOES_NOT_HOLD if problems else HOLDS


def _folder(output: str | None) -> Path:
    """The folder for every certificate, made if it is not there; None is where we are."""
    if output == "-":
        raise error("the certificates are many: give a folder for them, as -o certificates", NAME)
    folder = Path(output or ".")
    if folder.exists() and not folder.is_dir():
        raise error(
            "is a file: give a folder for the certificates, as -o certificates", str(folder)
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _certify(
    mode: "Target", output: str | None, executor: "Executor | None", stream: Path | None
) -> bool:
    """Make, write and report one certificate; whether it has no finding."""
    from fencewright.simulator.certify.certificate import certify_mode, requests_of

    # Opened minutes before it is written to, so that an unwritable path is reported at once.
    with nullcontext() if output is None else output_file(output) as file:
        with progress(len(requests_of(mode)), f"operations of {mode}") as display:
            found = certify_mode(mode, executor=executor, stream=stream, watch=display.update)
        if file is not None:
            file.write(found.to_json())
    findings = found.findings()
    log = sys.stderr if output == "-" else sys.stdout
    soundness = "every one sound" if found.is_sound else "not all sound"
    print(*findings, f"{mode}: {len(found.operations)} operations, {soundness}", sep="\n", file=log)
    return not findings
