/** What lies under and over the range: axis, bars, what is clipped away, levels, and what rules would choose. */
import type { Candidate, ObserverDetail } from '../protocol';
import { categoryColour } from '../common/colours';
import { s } from '../common/dom';
import { figure, ordinal, percent, si } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';
import { textWidth } from '../common/text';
import type { Theme } from '../common/theme';
import { drawOverlay, type Overlay } from './values';
import { clipped, levels, whyNot, type Range } from './range';

/** Which end of the range. */
export type End = 'low' | 'high';

/** What the plot is to show. */
export interface PlotState {
  readonly detail: ObserverDetail;
  readonly counts: Float32Array;
  readonly range: Range;
  readonly log: boolean;
  readonly around: 'all' | 'range';
  readonly preview: Candidate | null;
  readonly stale: boolean;
  readonly overlay: Overlay | null;
}

export const LEFT = 40;
export const RIGHT = 12;
export const TOP = 26;
export const BOTTOM = 34;
/** Of all bars together, in pixels: twice that of a handle and a little more. */
const LEAST_WIDTH = 5;

/** Where to draw, and what. */
export interface Ground {
  readonly state: PlotState;
  readonly across: Scale;
  readonly width: number;
  readonly height: number;
  readonly theme: Theme;
  /** Drawn first. */
  readonly under: SVGGElement;
  /** Drawn over the bars, under the handles. */
  readonly over: SVGGElement;
}

/** Draws all of it. */
export function drawGround(ground: Ground): void {
  drawAxis(ground);
  drawBars(ground);
  drawLevels(ground);
  if (ground.state.overlay) {
    const { over, across, height, theme, state } = ground;
    drawOverlay(over, ground.state.overlay, across, height - BOTTOM, TOP + 8, state.log, theme);
  }
  // Over all lines: its words are to be read.
  drawZones(ground);
  drawMarks(ground);
}

function drawAxis({ across, under, width, height, theme }: Ground): void {
  const base = height - BOTTOM;
  const { low, high } = across;
  // Two numbers at least, also where there is little room: one alone is no axis.
  const values = ticks(low, high, Math.max(4, Math.floor(width / 90)));
  for (const tick of values) {
    const at = across.at(tick);
    under.append(
      s(
        'text',
        { x: at, y: height - 6, 'text-anchor': 'middle', fill: theme.quiet, 'font-size': 10 },
        tickText(tick, values)
      )
    );
  }
  under.append(
    s('line', {
      x1: LEFT,
      x2: width - RIGHT,
      y1: base + 0.5,
      y2: base + 0.5,
      stroke: theme.quiet,
      'stroke-opacity': 0.6
    })
  );
  if (low < 0 && high > 0) {
    under.append(
      s('line', {
        x1: across.at(0),
        x2: across.at(0),
        y1: TOP,
        y2: base,
        stroke: theme.line,
        'stroke-width': 1
      })
    );
  }
}

function drawBars(ground: Ground): void {
  const { across, under, height, theme } = ground;
  const { counts, detail, log, range } = ground.state;
  const base = height - BOTTOM;
  // Not spread into Math.max: a million bins are more arguments than a call takes.
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  // One more, so that nothing is 0 and a single value can be seen.
  const size = (count: number): number => (log ? Math.log10(1 + count) : count);
  const y = new Scale(0, size(most) || 1, base, TOP + 8);
  const label = (count: number): void => {
    const at = y.at(size(count));
    under.append(
      s('line', { x1: LEFT, x2: across.to, y1: at, y2: at, stroke: theme.line, 'stroke-dasharray': '1 3' }),
      s(
        'text',
        { x: LEFT - 5, y: at + 3, 'text-anchor': 'end', fill: theme.quiet, 'font-size': 10 },
        si(count)
      )
    );
  };
  const marks = log
    ? [1, 2, 3, 4, 5, 6, 7, 8, 9].map(power => 10 ** power).filter(count => count < most)
    : ticks(0, most, 3).filter(count => count > 0);
  marks.forEach(label);
  const width = (detail.observed_high - detail.observed_low) / Math.max(1, counts.length);
  // Two paths, and not an element for each of a million bins.
  const inside = bars(ground, width, y, size, base, value => value >= range.low && value <= range.high);
  const outside = bars(ground, width, y, size, base, value => value < range.low || value > range.high);
  const blue = theme.dark ? '#4aa3df' : '#0072b2';
  under.append(
    s('path', { d: inside, fill: blue, 'fill-opacity': 0.85 }),
    s('path', { d: outside, fill: theme.quiet, 'fill-opacity': 0.5 })
  );
}

function bars(
  { across, state }: Ground,
  width: number,
  y: Scale,
  size: (count: number) => number,
  base: number,
  taken: (middle: number) => boolean
): string {
  const { counts } = state;
  const { observed_low: start } = state.detail;
  // Bins narrower than a pixel are joined; the highest of them is drawn.
  const pixels = Math.abs(across.at(start + width) - across.at(start));
  const group = Math.max(1, Math.min(counts.length, Math.floor(1 / Math.max(1e-6, pixels))));
  // Values that are all at one place are seen beside the handle that stands there.
  const spare = Math.max(0, LEAST_WIDTH - pixels * counts.length) / 2;
  let path = '';
  for (let bin = 0; bin < counts.length; bin += group) {
    let count = 0;
    for (let index = bin; index < Math.min(counts.length, bin + group); index++) {
      count = Math.max(count, counts[index]!);
    }
    const middle = start + (bin + group / 2) * width;
    if (count <= 0 || !taken(middle)) {
      continue;
    }
    const left = clamp(across.at(start + bin * width) - spare, LEFT, across.to);
    const right = clamp(across.at(start + (bin + group) * width) + spare, LEFT, across.to);
    if (right > left) {
      const gap = right - left > 3 ? 0.6 : 0;
      // A bin with anything in it is never invisible.
      const top = Math.min(base - 0.8, y.at(size(count)));
      path += `M${left.toFixed(2)} ${base}V${top.toFixed(2)}H${(right - gap).toFixed(2)}V${base}z`;
    }
  }
  return path;
}

/** The parts that are clipped away: shaded, hatched, with how much is in them. */
function drawZones(ground: Ground): void {
  const { across, over, width, height, theme } = ground;
  const { detail, counts, range, stale } = ground.state;
  const observed = { low: detail.observed_low, high: detail.observed_high };
  const local = clipped(counts, observed, range);
  // Python's figures are exact; until they are there the bins have to do.
  const fractions = stale ? local : { low: detail.clip_low, high: detail.clip_high };
  const base = height - BOTTOM;
  const draw = (end: End, from: number, to: number): void => {
    const left = clamp(from, LEFT, width - RIGHT);
    const right = clamp(to, LEFT, width - RIGHT);
    if (right - left < 1) {
      return;
    }
    // Lines of its own, so that an exported picture needs no patterns.
    let hatch = '';
    for (let at = left - (base - TOP); at < right; at += 8) {
      const start = Math.max(at, left);
      const stop = Math.min(at + (base - TOP), right);
      if (stop > start) {
        hatch += `M${start} ${base - (start - at)}L${stop} ${base - (stop - at)}`;
      }
    }
    over.append(
      s('rect', {
        x: left,
        y: TOP,
        width: right - left,
        height: base - TOP,
        fill: theme.ink,
        'fill-opacity': 0.045
      }),
      s('path', { d: hatch, stroke: theme.quiet, 'stroke-opacity': 0.22, fill: 'none' })
    );
    zoneText(ground, end, left, right, base, fractions[end]);
  };
  draw('low', LEFT, across.at(range.low));
  draw('high', across.at(range.high), width - RIGHT);
}

function zoneText(
  { across, over, width, theme, state }: Ground,
  end: End,
  left: number,
  right: number,
  base: number,
  fraction: number
): void {
  const text = `clip ${percent(fraction)}`;
  const length = textWidth(text, 11) * 1.08;
  const room = right - left > Math.max(66, length + 4);
  // Both may stand inside a narrow range: one over the other.
  const raised = end === 'high' && !room && left - across.at(state.range.low) < 2 * length + 16;
  const y = base - (raised ? 24 : 8);
  const x = room ? (left + right) / 2 : end === 'low' ? Math.min(right + 6, width - RIGHT) : left - 6;
  const anchor = room ? 'middle' : end === 'low' ? 'start' : 'end';
  over.append(
    s(
      'text',
      {
        x,
        y,
        'text-anchor': anchor,
        'font-size': 11,
        'font-weight': 600,
        fill: theme.ink,
        stroke: `rgb(${theme.paper.join()})`,
        'stroke-width': 3,
        'paint-order': 'stroke',
        'data-testid': `wb-clip-${end}`,
        'data-fraction': fraction
      },
      text
    )
  );
}

/** The values that the quantization can tell apart, as ticks below and, where they are few, as lines over the bars. */
function drawLevels({ across, over, height, theme, state }: Ground): void {
  const { detail, range } = state;
  if (whyNot(range) !== '') {
    return;
  }
  const pixels = (across.to - across.from) / (across.high - across.low);
  const count = detail.quant_max - detail.quant_min;
  const { values, every } = levels(range, count, pixels, 4);
  const base = height - BOTTOM;
  const inside = values
    .map(value => across.at(value))
    .filter(at => at >= LEFT - 0.5 && at <= across.to + 0.5);
  const path = inside.map(at => `M${at.toFixed(1)} ${base + 1}v5`).join('');
  over.append(s('path', { d: path, stroke: theme.ink, 'stroke-opacity': 0.55, fill: 'none' }));
  const spacing = ((range.high - range.low) / Math.max(1, count)) * pixels;
  if (spacing >= 3) {
    const lines = inside.map(at => `M${at.toFixed(1)} ${TOP + 8}V${base}`).join('');
    // Fainter where they are many, so that the bars stay what is seen first.
    const opacity = spacing >= 10 ? 0.2 : 0.09;
    over.append(
      s('path', {
        d: lines,
        stroke: theme.ink,
        'stroke-opacity': opacity,
        fill: 'none',
        'data-testid': 'wb-grid'
      })
    );
  }
  const words = every === 1 ? `${count + 1} levels` : `${count + 1} levels, every ${ordinal(every)} ticked`;
  over.append(
    s('text', { x: across.to, y: base + 16, 'text-anchor': 'end', 'font-size': 10, fill: theme.quiet }, words)
  );
}

function drawMarks({ across, over, height, theme, state }: Ground): void {
  const { detail, preview } = state;
  detail.candidates.forEach((candidate, index) => {
    const colour = categoryColour(index + 1, theme.dark);
    const active = preview?.name === candidate.name;
    for (const value of [candidate.low, candidate.high]) {
      const at = across.at(value);
      if (at < LEFT - 4 || at > across.to + 4) {
        continue;
      }
      over.append(
        s(
          'path',
          { d: `M${at - 4} ${TOP - 1}h8l-4 6z`, fill: colour },
          s('title', {}, `${candidate.name}: ${figure(candidate.low)} to ${figure(candidate.high)}`)
        )
      );
      if (active) {
        over.append(
          s('line', {
            x1: at,
            x2: at,
            y1: TOP,
            y2: height - BOTTOM,
            stroke: colour,
            'stroke-width': 2,
            'stroke-dasharray': '4 3'
          })
        );
      }
    }
  });
}
