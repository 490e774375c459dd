"""How amounts are written wherever they are told: money and sizes. Pure."""

from __future__ import annotations


def format_cost(usd: float | None) -> str:
    """What something cost, in cents. Empty where the price is not known: an unknown price is not free."""
    if usd is None:
        return ""
    if 0 < usd < 0.01:
        return "<$0.01"
    return f"${usd:.2f}" if usd < 1000 else f"${usd:,.0f}"


def format_cost_limit(usd: float) -> str:
    """A limit of money, or what is used of it, where parts of a cent count: `$0.04`, `$0.015`, `$0.0034`."""
    if usd >= 0.1 or usd <= 0:
        return format_cost(usd)
    digits = f"{float(f'{usd:.2g}'):.6f}".rstrip("0")
    return f"${digits}" if len(digits) >= len("0.00") else format_cost(usd)


def format_bytes(size: int) -> str:
    """`640 bytes`, `1.9 kB`, `640 kB`, `1.9 MB`."""
    for limit, unit in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size >= limit:
            share = size / limit
            return f"{share:.1f} {unit}" if share < 9.95 else f"{share:.0f} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"
