"""Counts in messages: "1 row" and "2 rows"."""

__all__ = ["counted"]


def counted(count: int, noun: str, spec: str = "") -> str:
    """A count with its noun, in the singular or the plural; ``spec`` formats the number."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:{spec}} {noun}"
