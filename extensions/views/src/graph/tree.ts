/** The scopes of a graph as a tree, which of them are folded, and the graph that is then to be seen. */
import type { GraphEdge, GraphNode, GraphState } from '../protocol';

/** A scope, or a run of identical scopes that stand as one. */
export interface Scope {
  readonly id: string;
  readonly name: string;
  parent: Scope | null;
  readonly scopes: Scope[];
  readonly nodes: GraphNode[];
  /** How many identical scopes this one stacks; 1 for a scope by itself. */
  repeats: number;
  /** Elements of the parameter nodes below, whether they are drawn or not. */
  held: number;
}

/** What is drawn at one level of the tree: a node, or a scope open or folded. */
export type Item =
  | {
      readonly kind: 'node';
      readonly id: string;
      readonly node: GraphNode;
      readonly lines: readonly [string, string];
    }
  | { readonly kind: 'scope'; readonly id: string; readonly scope: Scope; readonly open: boolean };

/** The sums of a scope. */
export interface Totals {
  readonly ops: number;
  readonly parameters: number;
  readonly flops: number;
  readonly bytes: number;
}

/** The whole tree with what is needed to fold it. */
export interface Tree {
  readonly root: Scope;
  readonly scopes: ReadonlyMap<string, Scope>;
  readonly home: ReadonlyMap<string, Scope>;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly edges: readonly GraphEdge[];
}

/** Nodes that say nothing of the flow of data: parameters, constants, and what is computed from them alone. */
export function background(state: Pick<GraphState, 'nodes' | 'edges'>): Set<string> {
  const hidden = new Set(
    state.nodes.filter(node => node.kind === 'parameter' || node.kind === 'constant').map(node => node.id)
  );
  const sources = new Map<string, string[]>();
  for (const edge of state.edges) {
    sources.set(edge.target, [...(sources.get(edge.target) ?? []), edge.source]);
  }
  // Until nothing is added: the order of nodes promises nothing.
  for (let grew = true; grew;) {
    grew = false;
    for (const node of state.nodes) {
      const from = sources.get(node.id);
      if (node.kind === 'op' && !hidden.has(node.id) && from && from.every(id => hidden.has(id))) {
        hidden.add(node.id);
        grew = true;
      }
    }
  }
  return hidden;
}

function child(parent: Scope, name: string, scopes: Map<string, Scope>): Scope {
  const id = parent.id === '' ? name : `${parent.id}.${name}`;
  let scope = scopes.get(id);
  if (!scope) {
    scope = { id, name, parent, scopes: [], nodes: [], repeats: 1, held: 0 };
    scopes.set(id, scope);
    parent.scopes.push(scope);
  }
  return scope;
}

/** Builds the tree of the nodes that are not hidden. */
export function buildTree(state: Pick<GraphState, 'nodes' | 'edges'>, hidden: ReadonlySet<string>): Tree {
  const root: Scope = { id: '', name: '', parent: null, scopes: [], nodes: [], repeats: 1, held: 0 };
  const scopes = new Map<string, Scope>([['', root]]);
  const home = new Map<string, Scope>();
  const nodes = new Map<string, GraphNode>();
  for (const node of state.nodes) {
    if (!hidden.has(node.id)) {
      const scope = node.scope.reduce((at, name) => child(at, name, scopes), root);
      scope.nodes.push(node);
      home.set(node.id, scope);
      nodes.set(node.id, node);
    }
  }
  const edges = state.edges.filter(edge => nodes.has(edge.source) && nodes.has(edge.target));
  // Counted into every scope around it, drawn or not: a folded one tells how much it holds.
  for (const node of state.nodes) {
    for (let depth = node.kind === 'parameter' ? 1 : Infinity; depth <= node.scope.length; depth++) {
      const scope = scopes.get(node.scope.slice(0, depth).join('.'));
      if (scope) {
        scope.held += node.parameters;
      }
    }
  }
  const slim = flatten(root, scopes, home);
  stack(slim, scopes);
  return { root: slim, scopes, home, nodes, edges };
}

/** A scope around a single op is noise: the op moves up. */
function flatten(scope: Scope, scopes: Map<string, Scope>, home: Map<string, Scope>): Scope {
  // Over a copy: scopes leave the list on the way.
  for (const inner of [...scope.scopes]) {
    flatten(inner, scopes, home);
    if (inner.scopes.length === 0 && inner.nodes.length <= 1) {
      scope.scopes.splice(scope.scopes.indexOf(inner), 1);
      scopes.delete(inner.id);
      for (const node of inner.nodes) {
        scope.nodes.push(node);
        home.set(node.id, scope);
      }
    }
  }
  return scope;
}

/** What a scope is made of, without its name: equal for identical blocks. */
function signature(scope: Scope): string {
  const ops = scope.nodes.map(node => `${node.op}[${node.dims.map(dim => `${dim.name}${dim.size}`).join()}]`);
  return `${ops.join(';')}(${scope.scopes.map(signature).join('|')})×${scope.repeats}`;
}

/** Puts runs of at least three identical sibling scopes into one scope that says how many they are. */
function stack(scope: Scope, scopes: Map<string, Scope>): void {
  scope.scopes.forEach(inner => stack(inner, scopes));
  const marks = scope.scopes.map(signature);
  const next: Scope[] = [];
  for (let start = 0; start < marks.length;) {
    let end = start + 1;
    while (end < marks.length && marks[end] === marks[start]) {
      end += 1;
    }
    const run = scope.scopes.slice(start, end);
    if (run.length >= 3) {
      const first = run[0]!;
      const name = `${first.name} … ${run.at(-1)!.name}`;
      const whole: Scope = {
        id: `${first.id}…`,
        name,
        parent: scope,
        scopes: run,
        nodes: [],
        repeats: run.length,
        held: run.reduce((sum, each) => sum + each.held, 0)
      };
      run.forEach(each => {
        each.parent = whole;
      });
      scopes.set(whole.id, whole);
      next.push(whole);
    } else {
      next.push(...run);
    }
    start = end;
  }
  scope.scopes.splice(0, scope.scopes.length, ...next);
}

/** Every node below a scope. */
export function nodesBelow(scope: Scope): GraphNode[] {
  return [...scope.nodes, ...scope.scopes.flatMap(nodesBelow)];
}

/** The sums of a scope. */
export function totals(scope: Scope): Totals {
  const nodes = nodesBelow(scope);
  const sum = (key: 'flops' | 'bytes'): number => nodes.reduce((total, node) => total + node[key], 0);
  const ops = nodes.filter(node => node.kind === 'op');
  // An op may count the parameters that it uses, or the nodes that hold them may: never both.
  const used = ops.reduce((total, node) => total + node.parameters, 0);
  return {
    ops: ops.length,
    parameters: Math.max(used, scope.held),
    flops: sum('flops'),
    bytes: sum('bytes')
  };
}

/** How many items are seen when these scopes are open. */
export function countSeen(scope: Scope, open: ReadonlySet<string>): number {
  return (
    scope.nodes.length +
    scope.scopes.reduce((sum, inner) => sum + 1 + (open.has(inner.id) ? countSeen(inner, open) : 0), 0)
  );
}

/** Opens scopes level by level while no more than `most` items are seen. */
export function openAtFirst(tree: Tree, most: number): Set<string> {
  let open = new Set<string>();
  let level = tree.root.scopes;
  while (level.length > 0) {
    // A stack stays folded: open, it would hide just that its blocks are alike.
    const next = new Set([...open, ...level.filter(scope => scope.repeats === 1).map(scope => scope.id)]);
    if (countSeen(tree.root, next) > most) {
      return open;
    }
    open = next;
    level = level.flatMap(scope => (scope.repeats === 1 ? scope.scopes : []));
  }
  return open;
}

/** The scopes around a node, innermost first. */
export function around(tree: Tree, node: string): Scope[] {
  const chain: Scope[] = [];
  for (let scope = tree.home.get(node) ?? null; scope && scope.id !== ''; scope = scope.parent) {
    chain.push(scope);
  }
  return chain;
}

/** The item that stands for a node: itself, or the outermost folded scope around it. */
export function standIn(tree: Tree, open: ReadonlySet<string>, node: string): string {
  const folded = around(tree, node).filter(scope => !open.has(scope.id));
  return folded.length > 0 ? scopeItem(folded.at(-1)!) : node;
}

/** The id of a scope among the items: no node has an id like it. */
export function scopeItem(scope: Scope): string {
  return `scope:${scope.id}`;
}

/** The two lines of a node: its name, and its op where that says more. An op that is alone in its scope goes by that name. */
export function nodeLines(node: GraphNode, home: Scope): readonly [string, string] {
  const own = node.scope.join('.');
  const alone = own !== home.id && (home.id === '' || own.startsWith(`${home.id}.`));
  const plain = node.label || node.op || node.id;
  const name = alone && plain === node.op ? own.slice(home.id === '' ? 0 : home.id.length + 1) : plain;
  const second = node.kind === 'op' ? node.op : node.kind;
  return [name, second === name ? '' : second];
}

/** What is drawn directly inside a scope. */
export function itemsOf(scope: Scope, open: ReadonlySet<string>): Item[] {
  const scopes = scope.scopes.map(inner => ({
    kind: 'scope' as const,
    id: scopeItem(inner),
    scope: inner,
    open: open.has(inner.id)
  }));
  const nodes = scope.nodes.map(node => ({
    kind: 'node' as const,
    id: node.id,
    node,
    lines: nodeLines(node, scope)
  }));
  return [...nodes, ...scopes];
}

/** An edge between two items that are seen, with the values that travel along it. */
export interface SeenEdge {
  readonly source: string;
  readonly target: string;
  readonly edges: GraphEdge[];
}

/** The edges between what is seen; those inside a folded scope vanish, parallel ones join. */
export function seenEdges(tree: Tree, open: ReadonlySet<string>): SeenEdge[] {
  const places = new Map<string, string>();
  const place = (node: string): string => {
    let found = places.get(node);
    if (found === undefined) {
      found = standIn(tree, open, node);
      places.set(node, found);
    }
    return found;
  };
  const result = new Map<string, SeenEdge>();
  for (const edge of tree.edges) {
    const source = place(edge.source);
    const target = place(edge.target);
    if (source === target) {
      continue;
    }
    const key = `${source}\u0000${target}`;
    const known = result.get(key);
    if (known) {
      known.edges.push(edge);
    } else {
      result.set(key, { source, target, edges: [edge] });
    }
  }
  return [...result.values()];
}
