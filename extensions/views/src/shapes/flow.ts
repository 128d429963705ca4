/** Dims flowing through ops: one row an op, each tensor a run of bars, ribbons where a dim lives on. */
import type { FlowOperand, FlowRow, FlowState } from '../protocol';
import { dimensionColour, translucent } from '../common/colours';
import { breakable, h, Listeners, replace, s } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { dimensionText } from '../common/parts';
import { clamp } from '../common/scales';
import { BAR_HEIGHT, bar, markText, type BarMarks } from './bars';
import { flows, layoutRow, type PlacedBar, type RowLayout } from './flowLayout';
import type { Act, Stage } from './stage';

const MOST_ROWS = 2000;

/** So many rows are drawn at once; the others when they come near the window. */
const EAGER_ROWS = 24;

function marks(operand: FlowOperand, dim: number): BarMarks {
  return {
    contracted: operand.contracted.includes(dim),
    reduced: operand.reduced.includes(dim),
    broadcast: operand.broadcast.includes(dim)
  };
}

function ribbon(
  from: PlacedBar,
  x: number,
  y: number,
  length: number,
  colour: string,
  alpha: number
): SVGPathElement {
  const top = from.y + BAR_HEIGHT;
  const middle = (top + y) / 2;
  const d =
    `M${from.x} ${top}C${from.x} ${middle} ${x} ${middle} ${x} ${y}h${length}` +
    `C${x + length} ${middle} ${from.x + from.length} ${middle} ${from.x + from.length} ${top}z`;
  return s('path', { d, fill: translucent(colour, alpha) });
}

function say(operand: FlowOperand): string {
  const dims = operand.dims.map((dim, index) => dimensionText(dim) + markText(marks(operand, index)));
  return `${operand.label} ${operand.dtype} [${dims.join(', ')}]`;
}

/** A row in words, for people who listen. */
export function rowText(row: FlowRow): string {
  return `${row.op}: ${row.inputs.map(say).join(' and ')} gives ${say(row.output)}`;
}

/** The picture of a `FlowState`. */
export class FlowPicture implements Act<FlowState> {
  readonly element = h('div', {
    class: 'wb-flow',
    role: 'listbox',
    tabindex: 0,
    'aria-label': 'Ops, in the order they run',
    'data-testid': 'wb-flow'
  });
  /** Several widgets may share a page, and ids are the page's. */
  private readonly name = `wb-flow-${Math.random().toString(36).slice(2, 8)}`;
  private readonly listeners = new Listeners();
  private state: FlowState | null = null;
  private rows: HTMLElement[] = [];
  private selected: string | null = null;
  /** How many selections made here Python has not answered: its own are older than those. */
  private asked = 0;
  private drawnFor = '';
  private readonly later = new Map<Element, () => void>();
  private readonly near =
    typeof IntersectionObserver === 'undefined'
      ? null
      : new IntersectionObserver(entries => this.approach(entries), { rootMargin: '600px' });

  constructor(private readonly stage: Stage) {
    this.listeners.on(this.element, 'keydown', event => this.key(event));
    this.listeners.add(
      stage.host.onSelect?.(selection => {
        if (selection.node !== undefined && selection.from !== 'shapes') {
          this.mark(selection.node);
        }
      })
    );
  }

  accept(state: FlowState): void {
    this.state = state;
    this.drawnFor = '';
    this.selected = this.asked > 0 ? this.selected : state.selected;
    // Names get their colours in the order of the ops, however far a person has scrolled.
    state.rows.forEach(row =>
      [...row.inputs, row.output].forEach(({ dims }) => dims.forEach(dim => dimensionColour(dim.name)))
    );
  }

  draw(): void {
    const { state } = this;
    const theme = this.stage.theme();
    const width = this.stage.width();
    const key = `${width} ${theme.dark}`;
    if (!state || this.drawnFor === key) {
      return;
    }
    this.drawnFor = key;
    this.near?.disconnect();
    this.later.clear();
    const narrow = width <= 560;
    const available = Math.max(120, narrow ? width - 12 : width - 128 - Math.min(150, width * 0.2) - 28);
    this.rows = state.rows
      .slice(0, MOST_ROWS)
      .map((row, index) => this.row(row, index, available, theme.dark));
    const more = state.rows.length - MOST_ROWS;
    replace(
      this.element,
      ...this.rows,
      more > 0 ? h('p', { class: 'wb-quiet' }, `${more} more ops are not drawn.`) : null
    );
    if (state.rows.length === 0) {
      replace(this.element, h('p', { class: 'wb-quiet' }, 'No ops: nothing was recorded.'));
    }
    this.mark(this.selected, false);
  }

  exports(): Exports {
    const rows = this.state?.rows ?? [];
    const state = this.state;
    const table = (): string =>
      csv([
        ['node', 'op', 'scope', 'source', 'inputs', 'output'],
        ...rows.map(row => [
          row.node,
          row.op,
          row.scope,
          row.source,
          row.inputs.map(say).join('; '),
          say(row.output)
        ])
      ]);
    return rows.length > 0 ? { svg: () => this.wholePicture(), csv: table, json: () => state } : {};
  }

  destroy(): void {
    this.near?.disconnect();
    this.listeners.release();
  }

  private approach(entries: readonly IntersectionObserverEntry[]): void {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        this.later.get(target)?.();
        this.later.delete(target);
        this.near?.unobserve(target);
      }
    }
  }

  private row(row: FlowRow, index: number, available: number, dark: boolean): HTMLElement {
    const layout = layoutRow(row, available);
    const svg = s('svg', {
      class: 'wb-svg',
      role: 'img',
      'aria-label': rowText(row),
      width: Math.ceil(layout.width),
      height: layout.height,
      viewBox: `0 0 ${available} ${layout.height}`,
      preserveAspectRatio: 'xMinYMin meet'
    });
    const draw = (): void => svg.append(this.drawing(row, layout, dark));
    if (index < EAGER_ROWS || !this.near) {
      draw();
    } else {
      this.later.set(svg, draw);
      this.near.observe(svg);
    }
    const { openSource } = this.stage.host;
    const source =
      openSource && row.source
        ? h(
            // No button: what stands in an option is read as its text, and Enter on the row does the same.
            'span',
            { class: 'wb-flow-source wb-flow-link', title: `Go to ${row.source}` },
            row.source
          )
        : h('span', { class: 'wb-flow-source' }, row.source);
    if (openSource && row.source) {
      source.addEventListener('click', event => {
        event.stopPropagation();
        openSource(row.source);
      });
    }
    const op = h(
      'div',
      { class: 'wb-flow-op' },
      ...breakable(row.op),
      h('small', {}, ...breakable(row.scope))
    );
    const element = h(
      'div',
      {
        class: 'wb-flow-row',
        role: 'option',
        id: `${this.name}-${index}`,
        'data-node': row.node,
        'data-testid': 'wb-flow-row'
      },
      op,
      svg as unknown as HTMLElement,
      source
    );
    element.addEventListener('click', () => this.choose(row.node));
    return element;
  }

  private drawing(row: FlowRow, layout: RowLayout, dark: boolean): SVGGElement {
    const group = s('g');
    const operandOf = (placed: PlacedBar): FlowOperand =>
      placed.operand < 0 ? row.output : row.inputs[placed.operand]!;
    const outputs = layout.bars.filter(placed => placed.operand < 0);
    const find = (operand: number, dim: number): PlacedBar | undefined =>
      layout.bars.find(placed => placed.operand === operand && placed.dim === dim);
    for (const flow of flows(row)) {
      const from = find(flow.operand, flow.dim)!;
      const to = outputs[flow.output]!;
      group.append(
        ribbon(from, to.x, to.y, to.length, dimensionColour(row.output.dims[flow.output]!.name, dark), 0.24)
      );
    }
    this.drawEnds(group, row, layout, dark);
    for (const placed of layout.bars) {
      const operand = operandOf(placed);
      group.append(
        bar(operand.dims[placed.dim]!, placed.x, placed.y, placed.length, marks(operand, placed.dim), dark)
      );
    }
    for (const label of layout.labels) {
      const text = label.operand < 0 ? `→ ${label.text}` : label.text;
      group.append(
        s('text', { x: label.x, y: label.y, 'font-size': 11, fill: this.stage.theme().quiet }, text)
      );
    }
    return group;
  }

  /** What is contracted runs together to one point in the op; what is reduced fades out. */
  private drawEnds(group: SVGGElement, row: FlowRow, layout: RowLayout, dark: boolean): void {
    const ending = layout.bars.filter(
      placed => placed.operand >= 0 && row.inputs[placed.operand]!.contracted.includes(placed.dim)
    );
    const bottom = Math.max(
      0,
      ...layout.bars.filter(placed => placed.operand >= 0).map(placed => placed.y + BAR_HEIGHT)
    );
    const centre =
      ending.reduce((sum, placed) => sum + placed.x + placed.length / 2, 0) / Math.max(1, ending.length);
    for (const placed of ending) {
      const colour = dimensionColour(row.inputs[placed.operand]!.dims[placed.dim]!.name, dark);
      group.append(ribbon(placed, centre - 1, bottom + 17, 2, colour, 0.3));
    }
    if (ending.length > 0) {
      group.append(s('circle', { cx: centre, cy: bottom + 18, r: 3, fill: this.stage.theme().quiet }));
    }
    for (const placed of layout.bars) {
      if (placed.operand >= 0 && row.inputs[placed.operand]!.reduced.includes(placed.dim)) {
        const colour = dimensionColour(row.inputs[placed.operand]!.dims[placed.dim]!.name, dark);
        const [left, top, cut] = [placed.x, placed.y + BAR_HEIGHT, placed.length / 4];
        const d = `M${left} ${top}h${placed.length}l${-cut} 12h${2 * cut - placed.length}z`;
        group.append(s('path', { d, fill: translucent(colour, 0.16) }));
      }
    }
  }

  private choose(node: string): void {
    this.mark(node);
    this.stage.host.select?.({ node, from: 'shapes' });
    this.asked += 1;
    void this.stage.send({ type: 'select', id: node }).then(() => {
      this.asked -= 1;
    });
  }

  private mark(node: string | null, reveal = true): void {
    this.selected = node;
    this.rows.forEach(row => row.setAttribute('aria-selected', String(row.dataset['node'] === node)));
    const chosen = this.rows.find(row => row.dataset['node'] === node);
    if (chosen) {
      this.element.setAttribute('aria-activedescendant', chosen.id);
      if (reveal) {
        chosen.scrollIntoView({ block: 'nearest' });
      }
    } else {
      this.element.removeAttribute('aria-activedescendant');
    }
  }

  private key(event: KeyboardEvent): void {
    const last = this.rows.length - 1;
    const at = this.rows.findIndex(row => row.dataset['node'] === this.selected);
    const next = {
      ArrowDown: at + 1,
      ArrowUp: at < 0 ? last : at - 1,
      Home: 0,
      End: last,
      PageDown: at + 8,
      PageUp: at - 8
    }[event.key];
    if (next !== undefined && last >= 0) {
      this.choose(this.rows[clamp(next, 0, last)]!.dataset['node']!);
    } else if (event.key === 'Enter') {
      const row = this.state?.rows[at];
      if (row?.source) {
        this.stage.host.openSource?.(row.source);
      }
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** All rows as one picture: for the export. */
  private wholePicture(): SVGSVGElement {
    const theme = this.stage.theme();
    const rows = this.state?.rows ?? [];
    const whole = s('svg', { class: 'wb-svg' });
    let y = 8;
    let width = 0;
    for (const row of rows) {
      const layout = layoutRow(row, 720);
      const group = s('g', { transform: `translate(130 ${y})` }, this.drawing(row, layout, theme.dark));
      const name = s(
        'text',
        { x: 8, y: y + 28, 'font-weight': 600, 'font-size': 12, fill: theme.ink },
        row.op
      );
      const scope = s('text', { x: 8, y: y + 42, 'font-size': 10, fill: theme.quiet }, row.scope);
      whole.append(group, name, scope);
      y += layout.height + 14;
      width = Math.max(width, layout.width + 146);
    }
    whole.setAttribute('viewBox', `0 0 ${Math.ceil(width)} ${y}`);
    // Styles can only be read from elements of the page.
    whole.style.position = 'absolute';
    whole.style.visibility = 'hidden';
    this.element.appendChild(whole);
    setTimeout(() => whole.remove(), 0);
    return whole;
  }
}
