/** What is known of the selected node or scope, on the right. */
import type { Host } from '../host';
import type { GraphNode, GraphViewEvent } from '../protocol';
import { h, replace, type Child } from '../common/dom';
import { bytes, exact, grouped, si } from '../common/numbers';
import { button, chip, pairs } from '../common/parts';
import { totals, type Item, type Scope, type Tree } from './tree';

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
}): (readonly [string, string, string])[] {
  const rows: (readonly [string, string, string])[] = [];
  if (node.parameters > 0) {
    rows.push(['parameters', si(node.parameters), grouped(node.parameters)]);
  }
  if (node.flops > 0) {
    rows.push(['cost', si(node.flops, 'flop'), exact(node.flops)]);
  }
  if (node.bytes > 0) {
    rows.push(['memory', bytes(node.bytes), exact(node.bytes)]);
  }
  return rows;
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
  show(item: Item, tree: Tree, dark: boolean): void {
    const close = button('×', () => this.events.close(), {
      class: 'wb-button wb-button-plain wb-inspector-close',
      'aria-label': 'Close'
    });
    const parts = item.kind === 'node' ? this.node(item.node, tree, dark) : this.scope(item.scope, item.open);
    replace(this.element, h('div', {}, close, parts[0]), ...parts.slice(1));
  }

  private node(node: GraphNode, tree: Tree, dark: boolean): Child[] {
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
          : 'a scalar'
      ),
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
