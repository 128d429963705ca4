/** What is known of the selected node or scope, on the right. */
import type { Host } from '../host';
import type { GraphNode, GraphValues, GraphViewEvent } from '../protocol';
import { h, replace, s, type Child } from '../common/dom';
import { bytes, exact, figure, grouped, percent, seconds, si } from '../common/numbers';
import { button, chip, pairs } from '../common/parts';
import { totals, type Item, type Scope, type Tree } from './tree';
import { sizeText } from './valuetext';

/** What the inspector can ask the view to do. */
export interface InspectorEvents {
  choose(item: string): void;
  toggle(scope: Scope): void;
  close(): void;
}

function section(title: string, ...children: Child[]): HTMLElement {
  return h('div', {}, h('h4', {}, title), ...children);
}

function amounts(node: {
  readonly parameters: number;
  readonly flops: number;
  readonly bytes: number;
  readonly memory: number;
  readonly seconds?: number | null;
  readonly time?: number | null;
}): (readonly [string, string, string])[] {
  const rows: (readonly [string, string, string])[] = [];
  if (node.parameters > 0) {
    rows.push(['parameters', si(node.parameters), grouped(node.parameters)]);
  }
  if (node.flops > 0) {
    rows.push(['cost', si(node.flops, 'flop'), exact(node.flops)]);
  }
  if (node.bytes > 0) {
    rows.push(['moved', bytes(node.bytes), exact(node.bytes)]);
  }
  if (node.memory > 0) {
    rows.push(['memory', bytes(node.memory), exact(node.memory)]);
  }
  const time = node.seconds ?? node.time ?? null;
  if (time !== null) {
    rows.push(['time', seconds(time), `${exact(time)} s`]);
  }
  return rows;
}

function inAnyRun(node: GraphNode): string {
  return node.dims.map((_, index) => sizeText(node, index, true)).join(' · ');
}

/** How the numbers are spread: bars, and what they add up to. */
function histogram(values: GraphValues): HTMLElement {
  const most = Math.max(1, ...values.bins);
  const [width, height] = [240, 48];
  const step = width / values.bins.length;
  const picture = s('svg', {
    class: 'wb-graph-values',
    viewBox: `0 0 ${width} ${height}`,
    role: 'img',
    'aria-label': `${grouped(values.count)} values from ${figure(values.low)} to ${figure(values.high)}`,
    'data-testid': 'wb-values'
  });
  values.bins.forEach((count, index) => {
    // What is there at all is seen: a bar of less than a pixel would be none.
    const tall = count === 0 ? 0 : Math.max(1, (count / most) * height);
    picture.append(s('rect', { x: index * step, y: height - tall, width: step - 0.6, height: tall }));
  });
  const facts = [
    `mean ${figure(values.mean)}`,
    `std ${figure(values.std)}`,
    `zeros ${percent(values.zeros)}`,
    values.broken > 0 ? `${grouped(values.broken)} not finite` : ''
  ];
  return h(
    'div',
    {},
    picture as unknown as HTMLElement,
    h(
      'div',
      { class: 'wb-graph-ends' },
      h('span', {}, figure(values.low)),
      h('span', {}, figure(values.high))
    ),
    h('p', { class: 'wb-quiet' }, facts.filter(Boolean).join(' · '))
  );
}

/** The inspector. */
export class Inspector {
  readonly element = h('div', {
    class: 'wb-inspector',
    role: 'group',
    'aria-label': 'What is selected',
    'data-testid': 'wb-inspector'
  });

  constructor(
    private readonly host: Host<GraphViewEvent>,
    private readonly events: InspectorEvents
  ) {}

  /** Shows an item. */
  show(item: Item, tree: Tree, dark: boolean, values: GraphValues | null): void {
    const close = button('×', () => this.events.close(), {
      class: 'wb-button wb-button-plain wb-inspector-close',
      'aria-label': 'Close'
    });
    const parts =
      item.kind === 'node' ? this.node(item.node, tree, dark, values) : this.scope(item.scope, item.open);
    replace(this.element, h('div', {}, close, parts[0]), ...parts.slice(1));
  }

  private node(node: GraphNode, tree: Tree, dark: boolean, values: GraphValues | null): Child[] {
    const title = h('h3', {}, node.label || node.id);
    const where = [node.op, node.scope.join('.')].filter(text => text && text !== node.label).join(' · ');
    const facts: (readonly [string, string, string?])[] = [
      ['kind', node.kind],
      ['dtype', node.dtype || '–'],
      ...(node.bits > 0 ? [['bits', String(node.bits)] as const] : []),
      ...amounts(node)
    ];
    return [
      title,
      where ? h('p', { class: 'wb-quiet' }, where) : null,
      node.doc ? h('p', {}, node.doc) : null,
      node.equation ? section('equation', h('code', {}, node.equation)) : null,
      node.rule ? section('dims', h('p', {}, node.rule)) : null,
      section(
        'gives',
        node.dims.length > 0
          ? h('span', { class: 'wb-chips' }, ...node.dims.map(dim => chip(dim, dark)))
          : node.wrong
            ? 'nothing: here it fails'
            : 'a scalar',
        node.sizes.length > 0 ? h('p', { class: 'wb-quiet' }, `in any run: ${inAnyRun(node)}`) : null,
        node.quantization ? h('p', { class: 'wb-quiet' }, node.quantization) : null
      ),
      values && values.node === node.id ? section('values', histogram(values)) : null,
      node.held.length > 0
        ? section(
            'holds',
            ...node.held.map(tensor =>
              h(
                'div',
                { class: 'wb-graph-held' },
                h('span', {}, `${tensor.name} `),
                h('span', { class: 'wb-quiet' }, `${tensor.dtype} `),
                h('span', { class: 'wb-chips' }, ...tensor.dims.map(dim => chip(dim, dark))),
                tensor.quantization ? h('p', { class: 'wb-quiet' }, tensor.quantization) : null
              )
            )
          )
        : null,
      section('facts', pairs(facts)),
      node.attributes.length > 0
        ? section('attributes', pairs(node.attributes.map(([name, value]) => [name ?? '', value ?? ''])))
        : null,
      node.source ? section('source', this.source(node.source)) : null,
      ...this.neighbours(node, tree)
    ];
  }

  private scope(scope: Scope, open: boolean): Child[] {
    const sums = totals(scope);
    return [
      h('h3', {}, scope.id),
      scope.repeats > 1 ? h('p', {}, `${scope.repeats} identical blocks`) : null,
      section('holds', pairs([['ops', grouped(sums.ops)], ...amounts(sums)])),
      h(
        'div',
        {},
        button(open ? 'fold' : 'unfold', () => this.events.toggle(scope), { 'data-testid': 'wb-toggle' })
      )
    ];
  }

  private source(source: string): Child {
    const { openSource } = this.host;
    return openSource
      ? button(source, () => openSource(source), { title: `Go to ${source}` })
      : h('code', {}, source);
  }

  private neighbours(node: GraphNode, tree: Tree): Child[] {
    const named = (id: string): string => {
      const other = tree.nodes.get(id);
      return other ? other.label || other.id : id;
    };
    const part = (title: string, ids: readonly string[]): Child =>
      ids.length > 0 &&
      section(
        title,
        h(
          'div',
          { class: 'wb-neighbours' },
          ...[...new Set(ids)]
            .slice(0, 40)
            .map(id => button(named(id), () => this.events.choose(id), { 'data-neighbour': id }))
        )
      );
    const from = tree.edges.filter(edge => edge.target === node.id).map(edge => edge.source);
    const to = tree.edges.filter(edge => edge.source === node.id).map(edge => edge.target);
    return [part('takes from', from), part('gives to', to)];
  }
}
