/** Where the bars of one op lie, and which input bar flows into which output bar. */
import type { Dim, FlowOperand, FlowRow } from '../protocol';
import { textWidth } from '../common/text';
import { BAR_HEIGHT, barLength } from './bars';

/** One bar: which operand (−1 is the output), which of its dims, and where. */
export interface PlacedBar {
  readonly operand: number;
  readonly dim: number;
  readonly x: number;
  readonly y: number;
  readonly length: number;
}

/** A label above a run of bars. */
export interface PlacedLabel {
  readonly operand: number;
  readonly text: string;
  readonly x: number;
  readonly y: number;
}

/** The picture of one op. */
export interface RowLayout {
  readonly bars: readonly PlacedBar[];
  readonly labels: readonly PlacedLabel[];
  readonly width: number;
  readonly height: number;
}

const LABEL = 14;
const LINE = LABEL + BAR_HEIGHT + 6;
const RIBBON = 30;
const BAR_GAP = 2;
const OPERAND_GAP = 26;

function lengths(operand: FlowOperand, scale: number): number[] {
  return operand.dims.map(dim => barLength(dim, scale));
}

function run(bars: readonly number[]): number {
  return bars.reduce((sum, length) => sum + length + BAR_GAP, 0);
}

/** What stands above an operand's bars. */
export function operandLabel(operand: FlowOperand): string {
  const label = operand.label.length > 28 ? operand.label.slice(0, 27) + '…' : operand.label;
  return operand.dims.length === 0 ? `${label} ${operand.dtype} scalar` : `${label} ${operand.dtype}`;
}

/** Lays one op out in `available` pixels: operands side by side while they fit, the output below. */
export function layoutRow(row: FlowRow, available: number): RowLayout {
  const all = [...row.inputs, row.output];
  const longest = (scale: number): number => Math.max(...all.map(operand => run(lengths(operand, scale))));
  // The largest scale at which the longest run fits; if there is none all bars are squeezed.
  const scale = [7, 5, 3, 1, 0].find(candidate => longest(candidate) <= available) ?? 0;
  const squeeze = Math.min(1, available / Math.max(1, longest(scale)));
  const bars: PlacedBar[] = [];
  const labels: PlacedLabel[] = [];
  let x = 0;
  let y = 0;
  let width = 0;
  const put = (operand: FlowOperand, index: number): number => {
    const sizes = lengths(operand, scale).map(length => length * squeeze);
    const label = operandLabel(operand);
    const wide = Math.max(run(sizes), textWidth(label) + 4);
    if (index >= 0 && x > 0 && x + wide > available) {
      x = 0;
      y += LINE;
    }
    labels.push({ operand: index, text: label, x, y: y + 10 });
    let at = x;
    sizes.forEach((length, dim) => {
      bars.push({ operand: index, dim, x: at, y: y + LABEL, length });
      at += length + BAR_GAP;
    });
    width = Math.max(width, x + wide);
    return wide;
  };
  row.inputs.forEach((operand, index) => {
    x += put(operand, index) + OPERAND_GAP;
  });
  x = 0;
  y += row.inputs.length > 0 ? BAR_HEIGHT + RIBBON : 0;
  const outputTop = y;
  put(row.output, -1);
  // The output's label stands behind its bars, where no ribbon passes.
  const last = labels.pop()!;
  const end = bars
    .filter(bar => bar.operand === -1)
    .reduce((right, bar) => Math.max(right, bar.x + bar.length), 0);
  const beside = end + 8 + textWidth(last.text) <= available;
  labels.push({ ...last, x: beside ? end + 8 : 0, y: outputTop + LABEL + (beside ? 14 : BAR_HEIGHT + 11) });
  return {
    bars,
    labels,
    width: Math.max(width, end),
    height: outputTop + LABEL + BAR_HEIGHT + (beside ? 4 : 16)
  };
}

/** The output dim that carries the name of an input's, or stands at its place where it has none. */
function byName(row: FlowRow, dim: Dim, fromRight: number, taken: ReadonlySet<number>): number {
  if (dim.name !== null) {
    return row.output.dims.findIndex((other, at) => other.name === dim.name && !taken.has(at));
  }
  const other = row.output.dims[fromRight];
  return other?.name === null && other.size === dim.size ? fromRight : -1;
}

/** For each input dim that lives on, the output dim it becomes: as Python says, else by name, or by place. */
export function flows(
  row: FlowRow
): { readonly operand: number; readonly dim: number; readonly output: number }[] {
  const result: { operand: number; dim: number; output: number }[] = [];
  row.inputs.forEach((operand, index) => {
    const taken = new Set<number>();
    const told = operand.becomes.length === operand.dims.length;
    operand.dims.forEach((dim, place) => {
      if (operand.contracted.includes(place) || operand.reduced.includes(place)) {
        return;
      }
      const fromRight = place - operand.dims.length + row.output.dims.length;
      const output = told ? (operand.becomes[place] ?? -1) : byName(row, dim, fromRight, taken);
      if (output >= 0 && output < row.output.dims.length) {
        taken.add(output);
        result.push({ operand: index, dim: place, output });
      }
    });
  });
  return result;
}
