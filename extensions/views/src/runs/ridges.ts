/** Histograms over time: one ridge a step, the first behind, the last in front. */
import type { RunsDistribution } from '../protocol';
import { float32, StateError } from '../common/buffers';
import { h, Listeners, replace, s, setAttributes } from '../common/dom';
import { figure, grouped } from '../common/numbers';
import { clamp, Scale, ticks, tickText } from '../common/scales';
import { middleOut } from '../common/text';
import type { Theme } from '../common/theme';
import { runColour } from '../training/lines';

const RIGHT = 46;
const LEFT = 10;
const BOTTOM = 20;
/** How far the tallest ridge reaches over the one behind, in distances between ridges; less where there are few. */
const TALLEST = 46;

/** A distribution over time with its counts. */
export interface Ridges {
  readonly distribution: RunsDistribution;
  readonly counts: Float32Array;
}

/** Reads the counts. */
export function decodeRidges(distribution: RunsDistribution, buffers: readonly DataView[]): Ridges {
  const { steps, bins, tag } = distribution;
  if (!(bins > 0 && bins <= 4096 && steps.length <= 4096)) {
    throw new StateError(`histograms of ${steps.length} steps and ${bins} bins cannot be drawn`);
  }
  return {
    distribution,
    counts: float32(buffers, distribution.counts_buffer, steps.length * bins, `the histograms ${tag}`)
  };
}

/** One tag of one run. */
export class RidgeCard {
  readonly element: HTMLElement;
  readonly svg = s('svg', { class: 'wb-svg', tabindex: 0, role: 'application' });
  private readonly listeners = new Listeners();
  private readonly cursor = s('g', { 'pointer-events': 'none' });
  private data: Ridges | null = null;
  private x = new Scale(0, 1, 0, 1);
  private y = new Scale(0, 1, 0, 1);
  private at: { readonly step: number; readonly bin: number } | null = null;
  private readonly title = h('b', {});
  private readonly facts = h('span', { class: 'wb-chart-legend' });

  constructor(
    key: string,
    private readonly say: (words: string) => void
  ) {
    this.element = h(
      'figure',
      { class: 'wb-chart', 'data-testid': 'wb-ridges', 'data-chart': key },
      h('figcaption', {}, this.title, this.facts),
      this.svg as unknown as HTMLElement
    );
    this.listeners.on(this.svg, 'pointermove', event => this.point(event));
    this.listeners.on(this.svg, 'pointerleave', () => this.show(null));
    this.listeners.on(this.svg, 'blur', () => this.show(null));
    this.listeners.on(this.svg, 'keydown', event => this.key(event));
  }

  /** Draws at a size. */
  draw(data: Ridges, run: string, width: number, height: number, theme: Theme): void {
    this.data = data;
    const { distribution, counts } = data;
    const { steps, bins, low, high, of, tag } = distribution;
    const colour = runColour(distribution.run, theme.dark);
    const swatch = h('i', { 'aria-hidden': 'true' });
    swatch.style.color = colour;
    this.title.textContent = middleOut(tag, Math.max(16, Math.floor(width / 5)));
    this.title.title = tag;
    const shown = steps.length < of ? ` · ${steps.length} of ${grouped(of)} steps` : '';
    replace(this.facts, h('span', {}, swatch, middleOut(run, 32), shown));
    const { svg } = this;
    setAttributes(svg, { width, height, viewBox: `0 0 ${width} ${height}` });
    setAttributes(svg, {
      'aria-roledescription': 'chart',
      'aria-label': `${tag} of ${run}: histograms at ${steps.length} steps, values from ${figure(low)} to ${figure(
        high
      )}. Arrow keys read counts.`
    });
    replace(svg);
    const tall = steps.length > 1 ? Math.min(TALLEST, (height - BOTTOM) * 0.5) : height - BOTTOM - 10;
    this.x = new Scale(low, high, LEFT, width - RIGHT);
    this.y = new Scale(0, Math.max(1, steps.length - 1), tall + 6, height - BOTTOM);
    if (steps.length === 1) {
      this.y = new Scale(0, 1, height - BOTTOM, height - BOTTOM);
    }
    const most = counts.reduce((a, b) => Math.max(a, b), 0) || 1;
    const wide = (this.x.to - this.x.from) / bins;
    steps.forEach((_, row) => {
      const base = this.y.at(row);
      let path = `M${LEFT} ${base.toFixed(1)}`;
      for (let bin = 0; bin < bins; bin++) {
        const up = base - (counts[row * bins + bin]! / most) * tall;
        path += `L${(LEFT + (bin + 0.5) * wide).toFixed(1)} ${up.toFixed(1)}`;
      }
      path += `L${this.x.to.toFixed(1)} ${base.toFixed(1)}`;
      const share = steps.length > 1 ? row / (steps.length - 1) : 1;
      const paper = `rgb(${theme.paper.join()})`;
      svg.append(
        s('path', { d: `${path}Z`, fill: paper }),
        s('path', {
          d: path,
          fill: colour,
          'fill-opacity': (0.12 + 0.4 * share).toFixed(2),
          stroke: colour,
          'stroke-opacity': (0.45 + 0.55 * share).toFixed(2),
          'data-step': steps[row]!
        })
      );
    });
    this.drawAxes(width, height, theme);
    svg.append(this.cursor);
    this.show(this.at);
  }

  /** Rows for a table: run, tag, step, and the borders and count of each bin. */
  rows(run: string): (string | number)[][] {
    const { data } = this;
    if (!data) {
      return [];
    }
    const { steps, bins, low, high, tag } = data.distribution;
    const edge = (bin: number): number => low + ((high - low) * bin) / bins;
    return steps.flatMap((step, row) =>
      Array.from({ length: bins }, (_, bin) => [
        run,
        tag,
        step,
        edge(bin),
        edge(bin + 1),
        data.counts[row * bins + bin]!
      ])
    );
  }

  /** Lets go. */
  destroy(): void {
    this.listeners.release();
  }

  private drawAxes(width: number, height: number, theme: Theme): void {
    const { svg, x, y, data } = this;
    const { steps, low, high } = data!.distribution;
    const text = { 'font-size': 10, fill: theme.quiet };
    const values = ticks(low, high, clamp(width / 90, 2, 7));
    for (const value of values) {
      svg.append(
        s('line', {
          x1: x.at(value),
          x2: x.at(value),
          y1: height - BOTTOM,
          y2: height - BOTTOM + 3,
          stroke: theme.quiet
        }),
        s(
          'text',
          { x: x.at(value), y: height - 5, 'text-anchor': 'middle', ...text },
          tickText(value, values)
        )
      );
    }
    let last = -Infinity;
    for (let row = steps.length - 1; row >= 0; row--) {
      const down = y.at(row);
      if (Math.abs(down - last) >= 13) {
        last = down;
        svg.append(s('text', { x: width - RIGHT + 5, y: down + 3, ...text }, grouped(steps[row]!)));
      }
    }
  }

  private point(event: PointerEvent): void {
    const { data } = this;
    if (!data) {
      return;
    }
    const box = this.svg.getBoundingClientRect();
    const { steps, bins } = data.distribution;
    const across = (event.clientX - box.left - this.x.from) / (this.x.to - this.x.from);
    this.show({
      bin: clamp(Math.floor(across * bins), 0, bins - 1),
      step: clamp(Math.round(this.y.invert(event.clientY - box.top)), 0, steps.length - 1)
    });
  }

  private show(at: { readonly step: number; readonly bin: number } | null): void {
    const { data } = this;
    const before = this.at;
    this.at = at;
    replace(this.cursor);
    if (!data || !at || at.step >= data.distribution.steps.length) {
      if (before) {
        this.say('');
      }
      return;
    }
    const { bins, steps, low, high, tag } = data.distribution;
    const edge = (bin: number): number => low + ((high - low) * bin) / bins;
    const path = this.svg.querySelector(`[data-step='${steps[at.step]!}']`)?.getAttribute('d') ?? '';
    const middle = this.x.at((edge(at.bin) + edge(at.bin + 1)) / 2);
    const down = this.y.at(at.step);
    this.cursor.append(
      s('path', { d: path, fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5 }),
      s('line', { x1: middle, x2: middle, y1: down - 6, y2: down + 4, stroke: 'currentColor' })
    );
    const count = data.counts[at.step * bins + at.bin]!;
    this.say(
      `step ${grouped(steps[at.step]!)} — ${tag}: ${figure(count)} from ${figure(edge(at.bin))} to ${figure(
        edge(at.bin + 1)
      )}`
    );
  }

  private key(event: KeyboardEvent): void {
    const { data } = this;
    if (!data || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const { steps, bins } = data.distribution;
    const here = this.at ?? { step: steps.length - 1, bin: Math.floor(bins / 2) };
    const move = {
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0]
    }[event.key];
    if (move) {
      this.show({
        step: clamp(here.step + (this.at ? move[0]! : 0), 0, steps.length - 1),
        bin: clamp(here.bin + (this.at ? move[1]! : 0), 0, bins - 1)
      });
    } else if (event.key === 'Escape' && this.at) {
      this.show(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
