"""The drawings of docs/concepts.md: `python docs/drawings.py` writes them anew; a test compares.

What is drawn is computed by rankwise: which pairs are active, what the sums are.
"""

from pathlib import Path

import numpy as np

from rankwise import Preferences

BLUE, RED, GREEN, GREY, DARK = "#0072B2", "#D55E00", "#009E73", "#999999", "#222222"
LEVELS = (GREY, BLUE, GREEN)  # colours of the labels 0, 1, 2

SCORES = np.array([3.0, 2.55, 2.2, 1.75, 1.3, 0.85, 0.4])
LABELS = np.array([1, 2, 0, 2, 0, 1, 0])


def svg(width, height, title, parts):
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="14">\n<title>{title}</title>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n{body}\n</svg>\n'
    )


def text(x, y, words, anchor="middle", colour=DARK, size=14, bold=False):
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"{weight}>{words}</text>'


def line(x1, y1, x2, y2, colour=DARK, width=1.5, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"{dashes}/>'


def arrow(x1, y1, x2, y2, colour=DARK):
    """A line with a head at its second end."""
    along = np.array([x2 - x1, y2 - y1]) / np.hypot(x2 - x1, y2 - y1)
    across = np.array([-along[1], along[0]])
    corners = [np.array([x2, y2]) - 9 * along + side * 4.5 * across for side in (-1, 1)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *corners])
    return line(x1, y1, x2 - 6 * along[0], y2 - 6 * along[1], colour) + f'<polygon points="{points}" fill="{colour}"/>'


def dot(x, y, colour, label="", ring=False):
    stroke = f' stroke="{RED}" stroke-width="4"' if ring else ""
    return f'<circle cx="{x:g}" cy="{y:g}" r="13" fill="{colour}"{stroke}/>' + text(x, y + 5, label, colour="#ffffff")


def panel(x, y, width, height, colour, opacity=0.08):
    """A tinted rectangle that hides what is behind it."""
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"'
    tint = f'<rect {place} fill="{colour}" fill-opacity="{opacity}" stroke="{colour}" stroke-width="1.5"/>'
    return f'<rect {place} fill="#ffffff"/>' + tint


def box(x, y, width, height, colour, words, note=""):
    parts = [panel(x, y, width, height, colour), text(x + 12, y + 22, words, "start", bold=True)]
    return "".join([*parts, text(x + 12, y + 42, note, "start", size=13)] if note else parts)


def across(score):
    return 60 + 200 * score


def active_pairs():
    """The documents of one query by score and label; lines are pairs, solid if they are active."""
    place = [(across(score), 250 - 80 * label) for score, label in zip(SCORES, LABELS, strict=True)]
    parts = [text(40, 255 - 80 * level, str(level), colour=LEVELS[level], bold=True) for level in range(3)]
    parts += [text(40, 50, "label"), line(60, 290, 700, 290), text(700, 312, "score", "end")]
    for better, worse in np.argwhere(LABELS[:, None] > LABELS):
        is_active = SCORES[better] - SCORES[worse] < 1
        style = {"colour": RED, "width": 2} if is_active else {"colour": "#cccccc", "dash": "3 4"}
        parts.append(line(*place[better], *place[worse], **style))
    parts += [dot(*place[i], LEVELS[LABELS[i]], "abcdefg"[i]) for i in range(len(SCORES))]
    preferences = Preferences(LABELS)
    counts = [int(preferences.active(SCORES, threshold).n_pairs) for threshold in (1.0, np.inf)]
    parts.append(text(700, 50, f"{counts[0]} of {counts[1]} pairs are active (red): margin below 1", "end"))
    return svg(740, 330, "The graph of active pairs of seven documents", parts)


def sweep():
    """Three moments of the sweep, from the highest score down: who is in the run, and what is counted."""
    order = np.argsort(-SCORES)
    graph = Preferences(LABELS).active(SCORES, 1.0)
    below = graph.below(np.ones(len(SCORES)))
    parts = []
    for row, i in enumerate((0, 1, 3)):
        y = 70 + 105 * row
        edge = across(SCORES[i] - 1)
        parts.append(panel(edge, y - 28, 690 - edge, 56, RED))
        parts.append(line(60, y, 690, y, "#cccccc"))
        parts += [dot(across(SCORES[j]), y, LEVELS[LABELS[j]], "abcdefg"[j], ring=bool(j == i)) for j in order]
        run = [j for j in order if SCORES[i] - SCORES[j] < 1]
        held = ", ".join(f"{sum(LABELS[j] == level for j in run)} of label {level}" for level in range(3))
        partners = f"{int(below[i])} of a smaller label" if LABELS[i] else "none has a smaller label"
        parts.append(text(60, y + 48, f"at {'abcdefg'[i]}, label {LABELS[i]}: the run has {held}; {partners}", "start"))
    parts.append(text(690, 28, "the run: all documents with a score above that of the ringed one minus 1", "end"))
    return svg(740, 350, "The sweep over the documents of a query, from the highest score down", parts)


def five_nouns():
    """What an objective consists of, and how a value and a gradient pass through it."""
    parts = [
        box(20, 20, 700, 330, DARK, "Objective", "½|w|² + C · the sum"),
        box(45, 75, 650, 255, BLUE, "Sum", "of the chunks, on threads or on a cluster"),
        box(70, 130, 480, 180, GREEN, "Chunk", "some whole queries"),
        box(95, 190, 190, 95, RED, "Rows", "X, wherever it is stored"),
        box(335, 190, 190, 95, RED, "Risk", "a function of scores"),
        box(570, 130, 100, 180, GREEN, "Chunk"),
        text(620, 225, "…", size=22),
        arrow(285, 215, 335, 215),
        text(310, 207, "X w", size=13),
        arrow(335, 265, 285, 265),
        text(310, 282, "Xᵀ g", size=13),
        text(190, 262, "w in, scores out", size=13),
        text(430, 262, "preferences × loss", size=13),
    ]
    return svg(740, 370, "The five nouns of a fit: objective, sum, chunk, rows and risk", parts)


def certified_gap():
    """A function, and the parabola that strong convexity puts below it."""

    def objective(w):
        return w**2 / 2 + np.maximum(0, 2.2 - w) ** 2 / 2

    def slope(w):
        return w - np.maximum(0, 2.2 - w)

    def curve(function, colour, dash=""):
        points = " ".join(f"{120 + 230 * w:.1f},{300 - 110 * function(w):.1f}" for w in np.linspace(0, 2.2, 60))
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.5"{dashes}/>'

    here = 1.9
    value, gradient = objective(here), slope(here)
    lowest, best = value - gradient**2 / 2, min(objective(w) for w in np.linspace(0, 2, 2001))

    def height(y):
        return 300 - 110 * y

    x, end = 120 + 230 * here, 640
    parts = [
        curve(objective, BLUE),
        curve(lambda w: value + gradient * (w - here) + (w - here) ** 2 / 2, RED, "6 4"),
        f'<circle cx="{x:g}" cy="{height(value):.1f}" r="6" fill="{DARK}"/>',
        text(x - 14, height(value) - 10, "w", bold=True),
        *(line(110, height(y), end, height(y), "#cccccc", dash="2 4") for y in (value, best, lowest)),
        text(end + 8, height(value) + 5, "f(w)", "start"),
        text(end + 8, height(best) + 2, "min f", "start"),
        text(end + 8, height(lowest) + 9, "f(w) − ½|∇f(w)|²", "start", RED),
        text(185, 70, "f", "start", BLUE, 16, True),
        text(120, 325, "f is above the parabola with its slope at w and curvature 1", "start", RED),
    ]
    return svg(780, 345, "Why half the squared gradient bounds the distance to the optimum", parts)


DRAWINGS = {
    "active-pairs.svg": active_pairs,
    "sweep.svg": sweep,
    "five-nouns.svg": five_nouns,
    "certified-gap.svg": certified_gap,
}

if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        Path(__file__).with_name(name).write_text(draw())
