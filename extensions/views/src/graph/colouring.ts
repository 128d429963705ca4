/** What the colour of a node says. */
import type { GraphNode } from '../protocol';
import { colourTable, hex, OP_COLOURS, opColour, tableIndex, type Rgb } from '../common/colours';
import { bytes, seconds, si } from '../common/numbers';
import { nodesBelow, type Item } from './tree';

/** What nodes can be coloured by. */
export type ColourBy =
  'op' | 'kind' | 'dtype' | 'bits' | 'parameters' | 'flops' | 'bytes' | 'memory' | 'time';

/** The choices with their names. */
export const COLOUR_CHOICES: readonly (readonly [ColourBy, string])[] = [
  ['op', 'op'],
  ['kind', 'kind'],
  ['dtype', 'dtype'],
  ['bits', 'bits'],
  ['parameters', 'parameters'],
  ['flops', 'flops'],
  ['bytes', 'bytes moved'],
  ['memory', 'memory'],
  ['time', 'time']
];

/** One entry of the legend. */
export interface LegendEntry {
  readonly colour: string;
  readonly text: string;
}

/** A way to colour a graph. */
export interface Colouring {
  /** The colour of an item, and null where there is nothing to say. */
  of(item: Item): string | null;
  /** The amount behind the colour, in words; empty where there is none. */
  amount(item: Item): string;
  readonly legend: readonly LegendEntry[];
}

const NEUTRAL_KINDS = new Set(['input', 'output']);

function members(item: Item): GraphNode[] {
  return item.kind === 'node' ? [item.node] : nodesBelow(item.scope);
}

function byCategory(nodes: readonly GraphNode[], dark: boolean, key: (node: GraphNode) => string): Colouring {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const value = key(node);
    if (value) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  const names = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const colours = new Map(names.slice(0, OP_COLOURS).map((name, index) => [name, opColour(index, dark)]));
  const value = (item: Item): string => {
    const found = new Set(members(item).map(key).filter(Boolean));
    return found.size === 1 ? [...found][0]! : '';
  };
  const legend = [...colours].map(([name, colour]) => ({ colour, text: `${name} ${counts.get(name)}` }));
  const rest = names.length - colours.size;
  return {
    of: item => colours.get(value(item)) ?? null,
    amount: () => '',
    legend: rest > 0 ? [...legend, { colour: dark ? '#555b63' : '#c4c8cd', text: `${rest} more` }] : legend
  };
}

function byAmount(
  items: readonly Item[],
  dark: boolean,
  paper: Rgb,
  key: (node: GraphNode) => number,
  text: (value: number) => string,
  /** So much is next to nothing. */
  least = 1
): Colouring {
  const sum = (item: Item): number => members(item).reduce((total, node) => total + key(node), 0);
  const closed = items.filter(item => item.kind === 'node' || !item.open);
  const most = closed.reduce((found, item) => Math.max(found, sum(item)), 0);
  const table = colourTable('viridis', dark, paper);
  // Amounts differ by powers of ten between layers: the logarithm keeps the small ones apart.
  const place = (value: number): number =>
    tableIndex(Math.log10(1 + value / least), 0, Math.log10(1 + most / least) || 1);
  const colour = (value: number): string => {
    const at = place(value) * 3;
    return hex([table[at]!, table[at + 1]!, table[at + 2]!]);
  };
  const steps =
    most > 0 ? [0, 0.5, 1].map(part => (part === 0 ? least : least * (most / least) ** part)) : [];
  return {
    of: item => (sum(item) > 0 ? colour(sum(item)) : null),
    amount: item => (sum(item) > 0 ? text(sum(item)) : ''),
    legend: steps.map(value => ({ colour: colour(value), text: text(value) }))
  };
}

/** Where nothing was measured: what to run. */
const UNMEASURED: Colouring = {
  of: () => null,
  amount: () => '',
  legend: [{ colour: 'transparent', text: 'not measured yet: wb.widgets.graph(model, batch, profile=True)' }]
};

/** Makes a colouring for what is seen. */
export function makeColouring(
  by: ColourBy,
  nodes: readonly GraphNode[],
  items: readonly Item[],
  dark: boolean,
  paper: Rgb
): Colouring {
  switch (by) {
    case 'op':
      return byCategory(nodes, dark, node => (NEUTRAL_KINDS.has(node.kind) ? '' : node.op));
    case 'kind':
      return byCategory(nodes, dark, node => node.kind);
    case 'dtype':
      return byCategory(nodes, dark, node => node.dtype);
    case 'bits':
      return byCategory(nodes, dark, node => (node.bits > 0 ? `${node.bits} bit` : ''));
    case 'parameters':
      return byAmount(
        items,
        dark,
        paper,
        node => node.parameters,
        value => si(value)
      );
    case 'flops':
      return byAmount(
        items,
        dark,
        paper,
        node => node.flops,
        value => si(value, 'flop')
      );
    case 'bytes':
      return byAmount(items, dark, paper, node => node.bytes, bytes);
    case 'memory':
      return byAmount(items, dark, paper, node => node.memory, bytes);
    case 'time':
      return nodes.some(node => node.seconds !== null)
        ? byAmount(items, dark, paper, node => node.seconds ?? 0, seconds, 1e-6)
        : UNMEASURED;
  }
}
