/** A name or shape error as a picture: operands aligned from the right, what clashes ringed and joined. */
import type { ClashDim, ClashOperand, ClashState } from '../protocol';
import { h, replace, s } from '../common/dom';
import type { Exports } from '../common/exporting';
import { codeBlock, dimensionText } from '../common/parts';
import type { Theme } from '../common/theme';
import { shorten, textWidth } from '../common/text';
import { BAR_HEIGHT, bar, barLength } from './bars';
import type { Act, Stage } from './stage';

const LABEL_WIDTH = 96;
const ROW_GAP = 38;
const COLUMN_GAP = 11;
const ORIGIN_SIZE = 10.5;

/** Breaks a text into lines of at most `width` pixels; the last one ends in … if there is more. */
export function wrap(text: string, width: number, most: number, size = ORIGIN_SIZE): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line ? `${line} ${word}` : word;
    // A word that is wider than a line has one of its own, and is shortened there.
    if (textWidth(longer, size) <= width || !line) {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  if (line) {
    lines.push(line);
  }
  const kept = lines.slice(0, most).map(each => shorten(each, width, size));
  if (lines.length > most) {
    kept[most - 1] = shorten(kept[most - 1] + ' …', width, size);
  }
  return kept;
}

/** Width of each column, counted from the right: wide enough for its bars, wider where it clashes. */
export function columnWidths(operands: readonly ClashOperand[]): number[] {
  const count = Math.max(0, ...operands.map(operand => operand.dims.length));
  return Array.from({ length: count }, (_, fromRight) => {
    const dims = operands
      .map(operand => operand.dims.at(-1 - fromRight))
      .filter((dim): dim is ClashDim => dim !== undefined);
    const bars = dims.map(dim => barLength(dim, 6));
    const least = dims.some(dim => dim.clash) ? 172 : dims.some(dim => dim.origin) ? 92 : 48;
    return Math.max(least, ...bars);
  });
}

/** Least width of each column, counted from the right: what is written in its bars can be read. */
function leastWidths(operands: readonly ClashOperand[], count: number): number[] {
  return Array.from({ length: count }, (_, fromRight) =>
    Math.max(
      30,
      ...operands
        .map(operand => operand.dims.at(-1 - fromRight))
        .filter((dim): dim is ClashDim => dim !== undefined)
        .map(dim => Math.min(textWidth(dimensionText(dim), 11) + 14, 120))
    )
  );
}

/** Widths between `least` and `wanted` that fill `room`; the least ones where it is too small for them. */
export function fitWidths(wanted: readonly number[], least: readonly number[], room: number): number[] {
  const sum = (widths: readonly number[]): number => widths.reduce((total, width) => total + width, 0);
  const low = wanted.map((width, index) => Math.min(width, least[index]!));
  const spare = sum(wanted) - sum(low);
  const share = spare > 0 ? Math.min(1, Math.max(0, (room - sum(low)) / spare)) : 1;
  return low.map((width, index) => width + (wanted[index]! - width) * share);
}

/** The picture of a `ClashState`. */
export class ClashPicture implements Act<ClashState> {
  readonly element: HTMLElement;
  private readonly message = h('div', {
    class: 'wb-clash-message',
    'data-testid': 'wb-clash-message',
    role: 'alert'
  });
  private readonly picture = h('div', {
    class: 'wb-clash-picture',
    // It is wider than a narrow place, and whoever has no mouse scrolls what has the focus.
    tabindex: 0,
    role: 'group',
    'aria-label': 'The operands, aligned from the right'
  });
  private readonly more = h(
    'div',
    { class: 'wb-quiet wb-clash-more', 'data-testid': 'wb-clash-more', hidden: true },
    '↔ The operands are wider than this place: scroll them sideways.'
  );
  private readonly fix = h('div', { class: 'wb-clash-fix' });
  private state: ClashState | null = null;
  private fresh = true;
  private svg: SVGSVGElement | null = null;

  constructor(private readonly stage: Stage) {
    this.element = h(
      'div',
      { class: 'wb-clash', 'data-testid': 'wb-clash' },
      this.message,
      this.picture,
      this.more,
      this.fix
    );
  }

  accept(state: ClashState): void {
    this.state = state;
    this.fresh = true;
    replace(this.message, h('b', {}, state.op), h('p', {}, state.message));
    const copy = (text: string): void => this.stage.host.copy(text);
    const fix = state.fix
      ? [h('span', { class: 'wb-quiet' }, 'This would work:'), codeBlock(state.fix, copy, 'wb-fix')]
      : [];
    replace(this.fix, ...fix);
  }

  draw(): void {
    if (this.state) {
      const { clientWidth } = this.picture;
      const drawn = drawClash(this.state, this.stage.theme(), clientWidth > 0 ? clientWidth - 4 : Infinity);
      this.svg = drawn.svg;
      replace(this.picture, this.svg);
      const wide = this.picture.scrollWidth > this.picture.clientWidth + 1;
      this.more.hidden = !wide;
      this.picture.toggleAttribute('data-wide', wide);
      if (this.fresh && wide) {
        // What clashes is what one looks for.
        this.picture.scrollLeft = drawn.clash - clientWidth / 2;
      }
      this.fresh = false;
    }
  }

  exports(): Exports {
    const { state, svg } = this;
    return svg && state
      ? { svg: () => svg, caption: () => [`${state.op}: ${state.message}`, state.fix], json: () => state }
      : {};
  }

  destroy(): void {}
}

/** The picture, no wider than `room` if its words allow it, and the middle of what clashes first. */
function drawClash(
  state: ClashState,
  theme: Theme,
  room: number
): { readonly svg: SVGSVGElement; readonly clash: number } {
  const wanted = columnWidths(state.operands);
  const labels = Math.max(24, ...state.operands.map(operand => textWidth(operand.label, 12) * 1.08 + 10));
  const full = LABEL_WIDTH + wanted.reduce((sum, width) => sum + width + COLUMN_GAP, 8);
  const labelWidth = full > room ? Math.min(LABEL_WIDTH, labels) : LABEL_WIDTH;
  const fixed = labelWidth + wanted.length * COLUMN_GAP + 8;
  const widths = fitWidths(wanted, leastWidths(state.operands, wanted.length), room - fixed);
  const total = fixed + widths.reduce((sum, width) => sum + width, 0);
  const clash = theme.dark ? '#ff8a3c' : '#d55e00';
  const svg = s('svg', {
    class: 'wb-svg',
    role: 'img',
    'aria-label': describe(state),
    'data-testid': 'wb-clash-svg'
  });
  const rings: { readonly x: number; readonly y: number; readonly below: number }[] = [];
  // Put in last: bars lie over the joins, whose places are known only after them.
  const front = s('g');
  let y = 8;
  for (const operand of state.operands) {
    let right = total - 8;
    let tallest = 0;
    front.append(
      s(
        'text',
        { x: 2, y: y + 14, 'font-weight': 600, 'font-size': 12, fill: theme.ink },
        s('title', {}, operand.label),
        shorten(operand.label, labelWidth - 8, 12)
      )
    );
    for (let fromRight = 0; fromRight < operand.dims.length; fromRight++) {
      const dim = operand.dims.at(-1 - fromRight)!;
      const width = widths[fromRight]!;
      const left = right - width;
      front.append(bar(dim, left, y, width, {}, theme.dark));
      const lines = wrap(dim.origin, width - 4, dim.clash || width < 80 ? 3 : 2);
      lines.forEach((line, index) =>
        front.append(originText(line, dim, left + width / 2, y + BAR_HEIGHT + 15 + index * 13, theme))
      );
      tallest = Math.max(tallest, lines.length * 13);
      if (dim.clash) {
        front.append(
          s('rect', {
            x: left - 4,
            y: y - 4,
            width: width + 8,
            height: BAR_HEIGHT + 8,
            rx: 6,
            fill: 'none',
            stroke: clash,
            'stroke-width': 2.5,
            'data-testid': 'wb-clash-ring'
          })
        );
        rings.push({
          x: left + width / 2,
          y: y - 4,
          below: y + BAR_HEIGHT + 4 + (lines.length > 0 ? lines.length * 13 + 6 : 0)
        });
      }
      right = left - COLUMN_GAP;
    }
    y += BAR_HEIGHT + tallest + ROW_GAP;
  }
  svg.append(joins(rings, clash, theme), front);
  const height = y - ROW_GAP + 14;
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${total} ${height}`, width: total, height })) {
    svg.setAttribute(name, String(value));
  }
  return { svg, clash: rings[0]?.x ?? total };
}

function originText(line: string, dim: ClashDim, x: number, y: number, theme: Theme): SVGTextElement {
  const fill = dim.clash ? theme.ink : theme.quiet;
  return s(
    'text',
    { x, y, 'text-anchor': 'middle', 'font-size': ORIGIN_SIZE, fill },
    s('title', {}, dim.origin),
    line
  );
}

/** A line from each ring to the next, with a mark that says they differ. */
function joins(
  rings: readonly { readonly x: number; readonly y: number; readonly below: number }[],
  colour: string,
  theme: Theme
): SVGGElement {
  const group = s('g');
  for (let index = 1; index < rings.length; index++) {
    const from = rings[index - 1]!;
    const to = rings[index]!;
    const middle = (from.below + to.y) / 2;
    const d = `M${from.x} ${from.below}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
    group.append(
      s('path', { d, fill: 'none', stroke: colour, 'stroke-width': 2.5 }),
      s('circle', {
        cx: (from.x + to.x) / 2,
        cy: middle,
        r: 8,
        fill: theme.dark ? '#1b1b1b' : '#ffffff',
        stroke: colour,
        'stroke-width': 1.5
      }),
      s(
        'text',
        {
          x: (from.x + to.x) / 2,
          y: middle + 4,
          'text-anchor': 'middle',
          'font-size': 12,
          'font-weight': 700,
          fill: colour
        },
        '≠'
      )
    );
  }
  return group;
}

function describe(state: ClashState): string {
  const operands = state.operands.map(operand => {
    const dims = operand.dims.map(dim => dimensionText(dim) + (dim.clash ? ' (clashes)' : ''));
    return `${operand.label} [${dims.join(', ')}]`;
  });
  return `${state.op} was refused: ${operands.join(' and ')}`;
}
