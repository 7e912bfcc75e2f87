"""The tables of the page on certificates, from the certificates that the project ships."""

from collections import Counter
from collections.abc import Iterable, Mapping

from fencewright.lowering.cdna.chips import CHIPS, DEFAULT_CHIP
from fencewright.lowering.sequence import Target
from fencewright.lowering.vocabulary import AddressSpace, Scope
from fencewright.simulator.certify.certificate import (
    KEPT,
    Certificate,
    OperationCertificate,
    Verdict,
    certify_rows,
    modes,
    shipped,
)
from fencewright.simulator.certify.coverage import UNCERTIFIED
from fencewright.simulator.certify.shapes import memory_kinds
from fencewright.simulator.core.program import MemoryKind
from fencewright.tools.reports.markdown import markdown_table

_DETAILED = (Target(DEFAULT_CHIP), Target("sm_90", ptx_version=(8, 6)))


def _covered(certificate: Certificate) -> str:
    """Modes that it also holds for; PTX versions of one chip as a range."""
    chips: dict[str, list[str]] = {}
    for name in certificate.covers:
        chip, _, version = name.partition("-ptx")
        chips.setdefault(chip, []).append(version)
    parts = [
        chip if not versions[0] else f"{chip} (PTX {versions[0]} to {versions[-1]})"
        for chip, versions in chips.items()
    ]
    return ", ".join(parts)


def _summary(certificates: Iterable[Certificate]) -> str:
    rows: list[tuple[str, ...]] = []
    for each in certificates:
        parts = Counter(part.verdict for op in each.operations for part in op.parts)
        rows.append(
            (
                f"`{each.mode}`",
                _covered(each),
                str(len(each.operations)),
                str(sum(op.tests for op in each.operations)),
                str(sum(not op.is_sound for op in each.operations)),
                *(str(parts[verdict]) for verdict in Verdict),
            )
        )
    columns = ("mode", "covers", "operations", "tests", "insufficient", *Verdict)
    return markdown_table(columns, rows)


def _kept() -> str:
    rows = [
        (
            each.name,
            ", ".join(f"`{word}`" for word in each.words) or "everything",
            "; ".join(f"{name}: {', '.join(map(str, v))}" for name, v in each.where.items()),
            each.reason,
        )
        for each in KEPT
    ]
    return markdown_table(("reason", "parts", "where", "in full"), rows)


def _uncertified() -> str:
    rows = [(each.name, each.reason) for each in UNCERTIFIED]
    return markdown_table(("operations", "why"), rows)


def _memory() -> str:
    kinds = ((chip, *memory_kinds(chip)) for chip in CHIPS)
    rows = [(*map(str, each),) for each in kinds if MemoryKind.UNCACHED in each]
    return markdown_table(("chip", "weak data", "what is accessed atomically"), rows)


def _findings(certificates: Iterable[Certificate]) -> str:
    """Insufficient operations by the tests that they fail, and unnecessary parts."""
    lines: list[str] = []
    for certificate in certificates:
        failing = [each for each in certificate.operations if not each.is_sound]
        unnecessary = [
            f"`{part.part}` in {op.operation}"
            for op in certificate.operations
            for part in op.unnecessary
        ]
        if not failing and not unnecessary:
            continue
        lines.append(f"### `{certificate.mode}`\n")
        if failing:
            rows = [(op.operation, str(len(op.failures)), str(op.failures[0])) for op in failing]
            lines.append(markdown_table(("insufficient", "tests", "the first of them"), rows))
        if unnecessary:
            lines.append("Unnecessary:\n")
            lines += [f"- {each}" for each in unnecessary]
            lines.append("")
    return "\n".join(lines) or "None.\n"


def _detail(certificate: Certificate) -> str:
    rows: list[tuple[str, ...]] = []
    for each in certificate.operations:
        if _is_shown(each):
            for part in each.parts:
                why = str(part.witness) if part.witness else part.reason
                rows.append(
                    (each.operation, f"`{part.part}`", f"`{part.change}`", part.verdict, why)
                )
    columns = ("operation", "part", "weakened", "verdict", "witness or reason")
    return markdown_table(columns, rows)


def _rows(certificate: Certificate) -> str:
    rows: list[tuple[str, ...]] = []
    for each in certify_rows(certificate):
        where = "; ".join(f"{name}: {', '.join(map(str, v))}" for name, v in each.where.items())
        parts = [
            f"`{part}`: " + (f"{found[0]}, {found[1]}" if found else "no operation")
            for part, found in each.parts.items()
        ]
        value = f"`{each.value}`" if each.value else "nothing"
        counts = f"{each.operations}", f"{len(each.insufficient)}"
        rows.append((each.table, where, value, *counts, "<br>".join(parts)))
    columns = ("table", "where", "instructions", "operations", "insufficient", "needed by")
    return markdown_table(columns, rows)


def _is_shown(certificate: OperationCertificate) -> bool:
    request = certificate.request
    whole = request.spaces is None and not request.one_as and request.availability == "full"
    place = request.space in (None, AddressSpace.GLOBAL)
    scopes = (Scope.WORKGROUP, Scope.AGENT, Scope.SYSTEM)
    plain = request.returns and not request.volatile
    return whole and place and plain and request.scope in scopes


def certificates_parts() -> Mapping[str, str]:
    """The contents of every shipped certificate, as the parts of docs/reference/certificates.md."""
    certificates = {mode: shipped(mode) for mode in modes()}
    parts: list[str] = []
    for mode, certificate in certificates.items():
        if not mode.is_ptx:
            parts += [f"## Rows: `{mode}`\n", _rows(certificate)]
    for mode in _DETAILED:
        parts.append(f"## Witnesses: `{mode}`\n")
        parts.append("Global memory and fences; the rest is in the JSON.\n")
        parts.append(_detail(shipped(mode)))
    return {
        "summary": _summary(certificates.values()),
        "memory": _memory(),
        "kept": _kept(),
        "uncertified": _uncertified(),
        "findings": _findings(certificates.values()),
        "parts": "\n".join(parts),
    }
