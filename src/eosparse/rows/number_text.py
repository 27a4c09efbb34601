"""Numbers as people write them: decimal and thousands marks, percentages, currencies, units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# What may stand beside a number: a currency, or a unit. Letters that touch a number are a unit only
# if they are a common one ("5mm"), since "P001" and "12A" are names.
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$€£¥₹₽₩₺₴₦₫₱¢]|USD|EUR|GBP|CHF|JPY|CNY|CAD|AUD|NZD|INR|SEK|NOK|DKK|PLN|CZK|HUF"
    r"|BRL|MXN|ZAR|Rs\.?|kr\.?|Fr\.?)"
)
_GLUED = (
    r"(?:%|‰|°|°C|°F|[munpfkMGµμ]?[mglsVWJNΩ]|mA|[cd]m|[cd]l|[cdm]m²|k?m²|[cdm]m³|m³|[kMG]?Hz|[kMG]?Pa"
    r"|k?cal|kWh|[kMGT]i?B|bpm|mmHg|mol|[mµ]?mol/l|[mµn]?g/d?l|km/h|m/s|mph|min|h|d|ct|px|pt|in|ft|lb|lbs|oz)"
)
_UNIT = r"(?:[^\W\d_]|[°²³/·^]){1,12}\.?"
_PARTS = re.compile(
    rf"(?P<sign>[-+\u2212]?)(?P<prefix>(?:{_CURRENCY}\s?)?)"
    r"(?P<inner>[-+\u2212]?)(?P<number>[\d.,'\u2019\u00a0\u202f]*\d[.,]?(?:[eE][-+]?\d+)?)"
    rf"(?P<suffix>(?:\s?{_CURRENCY}|\s?{_GLUED}|\s{_UNIT})?)"
)
# Each pattern tells which mark is the decimal one; "1.643" and "1,643" do not.
_POINT = re.compile(r"\d*\.\d+([eE][-+]?\d+)?|\d{1,3}(,\d{3})+\.\d*|[1-9]\d{0,2}(,\d{3}){2,}")
_COMMA = re.compile(r"\d*,\d+([eE][-+]?\d+)?|\d{1,3}(\.\d{3})+,\d*|[1-9]\d{0,2}(\.\d{3}){2,}")
_EITHER = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+|\d+,\d+|,\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Notation:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        The decimal mark.
    prefix, suffix : str
        What stands before and behind every number, such as "$" and " %".

    Examples
    --------
    >>> notation = find_notation(["1.503,5 €", "1.643 €"])
    >>> notation.parse("1.643 €"), notation.write("1234.5")
    (1643.0, '1234,5 €')
    """

    decimal: str = "."
    prefix: str = ""
    suffix: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether a number is written as Python writes it."""
        return self == Notation()

    @property
    def unit(self) -> str:
        """What stands beside every number, without spaces."""
        return (self.prefix + self.suffix).strip()

    def parse(self, cell: str) -> float | None:
        """Return the number that a cell holds; None if it is not written in this way."""
        found = _PARTS.fullmatch(cell.strip())
        if found is None or _unit_of(found) != (self.prefix.strip(), self.suffix.strip()):
            return None
        return _read(found["sign"] + found["inner"], found["number"], self.decimal)

    def write(self, number: str) -> str:
        """Return a number in this notation, without thousands marks."""
        return f"{self.prefix}{number.replace('.', self.decimal)}{self.suffix}"


def find_notation(cells: Iterable[str], decimal: str = ".", share: float = 1.0) -> Notation | None:
    """Find how the numbers of a column are written.

    Parameters
    ----------
    cells : iterable of str
        Cells that are not empty.
    decimal : str
        The decimal mark of the file, for cells that could mean either, such as "1.643".
    share : float
        The share of cells that must be numbers in this notation.

    Returns
    -------
    Notation or None
        None if too few cells are numbers.

    Examples
    --------
    >>> find_notation(["12 %", "7.5 %"])
    Notation(decimal='.', prefix='', suffix=' %')
    >>> find_notation(["north", "south"]) is None
    True
    """
    cells = [cell.strip() for cell in cells]
    parts = [found for cell in cells if (found := _PARTS.fullmatch(cell)) is not None]
    if not parts or len(parts) < share * len(cells):
        return None
    units = Counter(_unit_of(found) for found in parts)
    unit, _ = units.most_common(1)[0]
    same = [found for found in parts if _unit_of(found) == unit]
    mark = find_decimal_mark((found["number"] for found in same), decimal)
    shown = Counter((found["prefix"], found["suffix"]) for found in same).most_common(1)[0][0]
    notation = Notation(mark, *shown)
    n_numbers = sum(notation.parse(cell) is not None for cell in cells)
    return notation if n_numbers >= share * len(cells) else None


def find_decimal_mark(numbers: Iterable[str], usual: str = ".") -> str:
    """Return the decimal mark of numbers in text; `usual` if none of them tells.

    Examples
    --------
    >>> find_decimal_mark(["1.643", "1.503,5"]), find_decimal_mark(["1.643"])
    (',', '.')
    """
    votes = Counter(mark for number in numbers if (mark := tell_decimal_mark(number)))
    if votes["."] == votes[","]:
        return usual
    return "." if votes["."] > votes[","] else ","


def tell_decimal_mark(number: str) -> str | None:
    """Return the decimal mark that a number has for certain; None if it could be either.

    Examples
    --------
    >>> tell_decimal_mark("1,5"), tell_decimal_mark("1,234.5"), tell_decimal_mark("1.643")
    (',', '.', None)
    """
    number = re.sub(r"(?<=\d)['\u2019\u00a0\u202f](?=\d{3})", "", number.lstrip("+-"))
    if _EITHER.fullmatch(number):
        return None
    if _POINT.fullmatch(number):
        return "."
    return "," if _COMMA.fullmatch(number) else None


def is_number(cell: str) -> bool:
    """Whether a cell is a plain number, with a decimal point or comma.

    Examples
    --------
    >>> is_number("-1.5"), is_number("1,5"), is_number("12 %"), is_number("")
    (True, True, False, False)
    """
    return _PLAIN.fullmatch(cell.strip()) is not None


def _unit_of(found: re.Match[str]) -> tuple[str, str]:
    return found["prefix"].strip(), found["suffix"].strip()


def _read(sign: str, number: str, decimal: str) -> float | None:
    """Return a number; None if its thousands marks are misplaced, or it has two signs."""
    thousands = r"[,'\u2019\u00a0\u202f]" if decimal == "." else r"[.'\u2019\u00a0\u202f]"
    mantissa, exponent = re.match(r"([^eE]*)(.*)", number).groups()  # type: ignore[union-attr]  # matches anything
    whole, _, fraction = mantissa.partition(decimal)
    is_grouped = re.fullmatch(rf"[1-9]\d{{0,2}}({thousands})\d{{3}}(\1\d{{3}})*", whole)
    if len(sign) > 1 or not (is_grouped or re.fullmatch(r"\d*", whole)):
        return None
    if not re.fullmatch(r"\d*", fraction) or not (whole or fraction):
        return None
    sign = sign.replace("\u2212", "-")
    return float(f"{sign}{re.sub(r'[^0-9]', '', whole)}.{fraction or '0'}{exponent}")
