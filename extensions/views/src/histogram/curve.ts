/** The error curve (SQNR against the width of the range) and the strip of channels. */
import type { ObserverDetail } from '../protocol';
import { categoryColour, dimensionColour } from '../common/colours';
import { replace, s, setAttributes } from '../common/dom';
import { decibels } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';
import type { Theme } from '../common/theme';
import { optimum, previewSqnr, type Range } from './range';

const LEFT = 40;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;
const HEIGHT = 112;

function area(svg: SVGSVGElement, width: number): void {
  setAttributes(svg, { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` });
  replace(svg);
}

/** Draws the curve with every candidate on it, the optimum, and where the range is now. */
export function drawCurve(
  svg: SVGSVGElement,
  detail: ObserverDetail,
  range: Range,
  width: number,
  theme: Theme
): void {
  area(svg, width);
  const points = detail.curve
    .filter(point => point.sqnr !== null)
    .map(point => [point.high - point.low, point.sqnr!] as const);
  const candidates = detail.candidates.filter(candidate => candidate.sqnr !== null);
  const best = optimum(detail);
  const figures = [...points.map(point => point[1]), ...candidates.map(candidate => candidate.sqnr!)];
  if (best) {
    figures.push(best.sqnr);
  }
  if (points.length < 2) {
    return;
  }
  const here = range.high - range.low;
  const widths = [
    ...points.map(point => point[0]),
    ...candidates.map(candidate => candidate.high - candidate.low),
    ...(best ? [best.high - best.low] : [])
  ];
  const x = new Scale(Math.min(...widths), Math.max(...widths), LEFT, width - RIGHT);
  const least = Math.min(...figures);
  // Less than a tenth of a decibel is no difference that the axis could name.
  const most = Math.max(...figures, least + 0.1);
  // A little room above, for the ring around the optimum.
  const y = new Scale(least, most + (most - least) * 0.12, HEIGHT - BOTTOM, TOP);
  const sqnrTicks = ticks(least, most, 3);
  for (const tick of sqnrTicks) {
    svg.append(
      s('line', {
        x1: LEFT,
        x2: width - RIGHT,
        y1: y.at(tick),
        y2: y.at(tick),
        stroke: theme.line,
        'stroke-dasharray': '1 3'
      }),
      s(
        'text',
        { x: LEFT - 5, y: y.at(tick) + 3, 'text-anchor': 'end', 'font-size': 10, fill: theme.quiet },
        tickText(tick, sqnrTicks)
      )
    );
  }
  const widthTicks = ticks(x.low, x.high, Math.max(2, width / 90));
  for (const tick of widthTicks) {
    svg.append(
      s(
        'text',
        { x: x.at(tick), y: HEIGHT - 6, 'text-anchor': 'middle', 'font-size': 10, fill: theme.quiet },
        tickText(tick, widthTicks)
      )
    );
  }
  const path = [...points]
    .sort((a, b) => a[0] - b[0])
    .map(([at, value], index) => `${index ? 'L' : 'M'}${x.at(at).toFixed(1)} ${y.at(value).toFixed(1)}`)
    .join('');
  svg.append(
    s('path', {
      d: path,
      fill: 'none',
      stroke: theme.ink,
      'stroke-opacity': 0.65,
      'stroke-width': 1.5,
      'stroke-linejoin': 'round'
    })
  );
  candidates.forEach(candidate => {
    // Its colour goes by its place among all candidates, as on its button.
    const at = detail.candidates.indexOf(candidate);
    svg.append(
      s(
        'circle',
        {
          cx: x.at(candidate.high - candidate.low),
          cy: y.at(candidate.sqnr!),
          r: 4.5,
          fill: categoryColour(at + 1, theme.dark),
          stroke: `rgb(${theme.paper.join()})`,
          'stroke-width': 1.5
        },
        s('title', {}, `${candidate.name}: ${decibels(candidate.sqnr)}`)
      )
    );
  });
  if (best) {
    svg.append(
      s(
        'circle',
        {
          cx: x.at(best.high - best.low),
          cy: y.at(best.sqnr),
          r: 7.5,
          fill: 'none',
          stroke: theme.ink,
          'stroke-width': 1.5,
          'data-testid': 'wb-optimum'
        },
        s('title', {}, `optimum: ${decibels(best.sqnr)}`)
      )
    );
  }
  drawHere(svg, x, y, here, previewSqnr(detail.curve, range), theme);
}

function drawHere(
  svg: SVGSVGElement,
  x: Scale,
  y: Scale,
  width: number,
  sqnr: number | null,
  theme: Theme
): void {
  const at = clamp(x.at(width), LEFT, x.to);
  svg.append(
    s('line', {
      x1: at,
      x2: at,
      y1: TOP,
      y2: HEIGHT - BOTTOM,
      stroke: theme.accent,
      'stroke-width': 2,
      'data-testid': 'wb-curve-here'
    })
  );
  if (sqnr !== null) {
    svg.append(s('circle', { cx: at, cy: y.at(sqnr), r: 3, fill: theme.accent }));
  }
}

/** Draws the range of each channel as a bar; those far from their siblings stand out and carry their number. */
export function drawChannels(
  svg: SVGSVGElement,
  detail: ObserverDetail,
  range: Range,
  width: number,
  theme: Theme
): void {
  area(svg, width);
  const { channels } = detail;
  if (channels.length === 0) {
    return;
  }
  const low = Math.min(range.low, ...channels.map(channel => channel.low));
  const high = Math.max(range.high, ...channels.map(channel => channel.high));
  const y = new Scale(low, high, HEIGHT - BOTTOM, TOP + 10);
  const step = (width - LEFT - RIGHT) / channels.length;
  const thick = Math.max(0.6, Math.min(9, step - (step > 3 ? 1 : 0)));
  for (const value of [range.low, range.high]) {
    svg.append(
      s('line', {
        x1: LEFT,
        x2: width - RIGHT,
        y1: y.at(value),
        y2: y.at(value),
        stroke: theme.accent,
        'stroke-width': 1.25,
        'stroke-dasharray': '4 3'
      })
    );
  }
  const paths = { usual: '', outlier: '' };
  const labels: SVGTextElement[] = [];
  let free = -Infinity;
  channels.forEach((channel, index) => {
    const left = LEFT + (index + 0.5) * step - thick / 2;
    const top = y.at(channel.high);
    const path = `M${left.toFixed(2)} ${top.toFixed(1)}h${thick.toFixed(2)}V${Math.max(top + 1, y.at(channel.low)).toFixed(1)}h${-thick.toFixed(2)}z`;
    paths[channel.outlier ? 'outlier' : 'usual'] += path;
    if (channel.outlier && left > free) {
      const text = `${detail.channel_dim ?? ''} ${channel.index}`;
      labels.push(
        s(
          'text',
          {
            x: clamp(left + thick / 2, LEFT + 12, width - 20),
            y: Math.max(9, top - 4),
            'text-anchor': 'middle',
            'font-size': 10,
            'font-weight': 600,
            fill: theme.ink
          },
          text
        )
      );
      free = left + 34;
    }
  });
  const colour = dimensionColour(detail.channel_dim, theme.dark);
  svg.append(
    s('path', { d: paths.usual, fill: colour, 'fill-opacity': 0.75 }),
    s('path', { d: paths.outlier, fill: theme.dark ? '#f07f3c' : '#d55e00', 'data-testid': 'wb-outliers' }),
    ...labels
  );
  const channelTicks = ticks(low, high, 3);
  for (const tick of channelTicks) {
    svg.append(
      s(
        'text',
        { x: LEFT - 5, y: y.at(tick) + 3, 'text-anchor': 'end', 'font-size': 10, fill: theme.quiet },
        tickText(tick, channelTicks)
      )
    );
  }
  svg.append(
    s('text', { x: LEFT, y: HEIGHT - 6, 'font-size': 10, fill: theme.quiet }, String(channels[0]!.index)),
    s(
      'text',
      { x: width - RIGHT, y: HEIGHT - 6, 'text-anchor': 'end', 'font-size': 10, fill: theme.quiet },
      String(channels.at(-1)!.index)
    )
  );
}

/** The channel under a pixel. */
export function channelAt(
  detail: ObserverDetail,
  pixel: number,
  width: number
): ObserverDetail['channels'][number] | null {
  const step = (width - LEFT - RIGHT) / Math.max(1, detail.channels.length);
  return detail.channels[Math.floor((pixel - LEFT) / step)] ?? null;
}
