"""The text of every picture of the documentation can be read: size, contrast, overlap, a title."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

IMAGES = sorted((Path(__file__).parents[2] / "docs" / "images").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"
LEAST_SIZE = 12
"""Pixels at 100 %."""
LEAST_CONTRAST = 4.5
"""Source: W3C, Web Content Accessibility Guidelines 2.2, 1.4.3."""
ADVANCE = 0.6
"""The width of a character of a monospaced font in ems."""
NAMED = {"white": "#ffffff", "black": "#000000"}


@dataclass(frozen=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > 1 and down > 1

    def has(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


@dataclass(frozen=True)
class Text:
    words: str
    size: float
    colour: str
    box: Box


def pixels(length: str) -> float:
    number = float(length.rstrip("pxt"))
    return number * 96 / 72 if length.endswith("pt") else number


def scale(root: ElementTree.Element) -> float:
    """Pixels of a unit of the picture."""
    width = float((root.get("viewBox") or "").split()[2])
    return pixels(root.get("width") or str(width)) / width


def numbers(text: str | None) -> list[float]:
    return [float(each) for each in re.findall(r"-?[\d.]+", text or "")]


def moved(
    element: ElementTree.Element, parents: dict[ElementTree.Element, ElementTree.Element]
) -> tuple[float, float]:
    """By how much the groups around an element move it."""
    x = y = 0.0
    at: ElementTree.Element | None = element
    while at is not None:
        if found := re.search(r"translate\(([^)]*)\)", at.get("transform", "")):
            dx, dy = numbers(found[1])
            x, y = x + dx, y + dy
        at = parents.get(at)
    return x, y


def inherited(
    element: ElementTree.Element,
    name: str,
    parents: dict[ElementTree.Element, ElementTree.Element],
    default: str,
) -> str:
    at: ElementTree.Element | None = element
    while at is not None:
        if value := at.get(name):
            return value
        at = parents.get(at)
    return default


def texts(root: ElementTree.Element) -> Iterator[Text]:
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in root.iter(f"{SVG}text"):
        spans = [each for each in element if each.tag == f"{SVG}tspan"] or [element]
        dx, dy = moved(element, parents)
        down = float(element.get("y") or 0)
        size = float(inherited(element, "font-size", parents, "16"))
        for span in spans:
            words = "".join(span.itertext()).strip()
            if span is not element:
                down = float(span.get("y") or down) + size * float(
                    (span.get("dy") or "0").rstrip("em")
                )
            width = ADVANCE * size * len(words)
            anchor = inherited(element, "text-anchor", parents, "start")
            x = float(span.get("x") or element.get("x") or 0) + dx
            x -= {"start": 0, "middle": width / 2, "end": width}[anchor]
            y = down + dy
            if words:
                colour = inherited(element, "fill", parents, "black")
                yield Text(words, size, colour, Box(x, y - 0.75 * size, x + width, y + 0.2 * size))


def areas(root: ElementTree.Element) -> Iterator[tuple[Box, str]]:
    """What is filled, in the order of drawing, with its colour."""
    parents = {child: parent for parent in root.iter() for child in parent}
    for element in root.iter():
        dx, dy = moved(element, parents)
        fill = element.get("fill", "black")
        if element.get("fill-opacity") == "0" or fill == "none":
            continue
        if element.tag == f"{SVG}rect":
            x, y, width, height = (
                float(element.get(each) or 0) for each in ("x", "y", "width", "height")
            )
            yield Box(x + dx, y + dy, x + dx + width, y + dy + height), fill
        elif element.tag in (f"{SVG}polygon", f"{SVG}path"):
            if (
                "edge" in (parents[element].get("class") or "")
                or parents[element].tag == f"{SVG}marker"
            ):
                continue
            points = numbers(element.get("points") or element.get("d"))
            if (
                element.tag == f"{SVG}path"
                and "Z" not in (element.get("d") or "").upper()
                and fill != "white"
            ):
                continue
            yield (
                Box(
                    min(points[::2]) + dx,
                    min(points[1::2]) + dy,
                    max(points[::2]) + dx,
                    max(points[1::2]) + dy,
                ),
                fill,
            )


def luminance(colour: str) -> float:
    colour = NAMED.get(colour, colour)
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def problems(svg: str) -> list[str]:
    """What is wrong with the text of a picture."""
    root = ElementTree.fromstring(svg)
    found: list[str] = []
    if not (root.findtext(f"{SVG}title") or "").strip():
        found.append("no title")
    filled = list(areas(root))
    all_texts = list(texts(root))
    for each in all_texts:
        if each.size * scale(root) < LEAST_SIZE - 0.01:
            found.append(f"'{each.words}' has {each.size * scale(root):.1f} px")
        x, y = (each.box.left + each.box.right) / 2, (each.box.top + each.box.bottom) / 2
        below = next((fill for box, fill in reversed(filled) if box.has(x, y)), "white")
        if contrast(each.colour, below) < LEAST_CONTRAST:
            found.append(f"'{each.words}' is {each.colour} on {below}")
    for one, other in combinations(all_texts, 2):
        if one.box.overlaps(other.box):
            found.append(f"'{one.words}' covers '{other.words}'")
    return found


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_every_text_can_be_read(path: Path) -> None:
    assert problems(path.read_text(encoding="utf-8")) == []


def picture(text: str) -> str:
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50">'
        f'<title>t</title><rect x="0" y="0" width="100" height="50" fill="#f6f8fa"/>{text}</svg>'
    )


GOOD = '<text x="5" y="20" font-size="12" fill="#1f2328">ab</text>'


@pytest.mark.parametrize(
    ("svg", "said"),
    [
        (picture(GOOD), []),
        (picture(GOOD).replace("<title>t</title>", ""), ["no title"]),
        (picture(GOOD).replace('"12"', '"11"'), ["'ab' has 11.0 px"]),
        (picture(GOOD).replace('width="100" height="50" view', 'width="50" height="25" view'), ["'ab' has 6.0 px"]),
        (picture(GOOD).replace("#1f2328", "#8c959f"), ["'ab' is #8c959f on #f6f8fa"]),
        (picture(GOOD + GOOD.replace("ab", "cd").replace('"5"', '"9"')), ["'ab' covers 'cd'"]),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_found(svg: str, said: list[str]) -> None:
    assert problems(svg) == said
