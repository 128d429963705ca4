/** The scopes of a graph as a tree, which of them are folded, and the graph that is then to be seen. */
import type { GraphEdge, GraphNode, GraphScope, GraphState } from '../protocol';

/** A scope, or a run of identical scopes that stand as one. */
export interface Scope {
  readonly id: string;
  readonly name: string;
  parent: Scope | null;
  readonly scopes: Scope[];
  readonly nodes: GraphNode[];
  readonly kind: GraphScope['kind'];
  /** Equal for scopes that compute the same. */
  readonly same: number;
  /** How many identical scopes this one stacks; 1 for a scope by itself. */
  repeats: number;
  /** Elements of the parameters that are used below, by their names: one that is used twice counts once. */
  readonly held: Map<string, number>;
}

/** What a tree is made of: a graph's state, or a part of it. */
export type Plan = Pick<GraphState, 'nodes' | 'edges' | 'scopes'>;

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
  readonly memory: number;
  /** Seconds; null where nothing was measured. */
  readonly time: number | null;
}

/** The whole tree with what is needed to fold it. */
export interface Tree {
  readonly root: Scope;
  readonly scopes: ReadonlyMap<string, Scope>;
  readonly home: ReadonlyMap<string, Scope>;
  readonly nodes: ReadonlyMap<string, GraphNode>;
  readonly edges: readonly GraphEdge[];
}

/** Nodes that say nothing of the flow of data: what is computed from parameters and constants alone. */
export function background(state: Pick<GraphState, 'nodes' | 'edges'>): Set<string> {
  const sources = new Map<string, string[]>();
  for (const edge of state.edges) {
    const known = sources.get(edge.target);
    if (known) {
      known.push(edge.source);
    } else {
      sources.set(edge.target, [edge.source]);
    }
  }
  const hidden = new Set<string>();
  // Until nothing is added: the order of nodes promises nothing.
  for (let grew = true; grew;) {
    grew = false;
    for (const node of state.nodes) {
      const from = sources.get(node.id) ?? [];
      const fed = from.length > 0 || node.held.length > 0;
      if (node.kind === 'op' && !hidden.has(node.id) && fed && from.every(id => hidden.has(id))) {
        hidden.add(node.id);
        grew = true;
      }
    }
  }
  return hidden;
}

/** What a box is called: of a branch, a loop or a function not the name that the graph has for its result. */
function shownName(name: string, kind: GraphScope['kind']): string {
  const [word, ...rest] = name.split(' ');
  if (kind === 'function') {
    return word!.replace(/^@/, '');
  }
  const generated = (kind === 'if' || kind === 'loop') && rest.join(' ').startsWith(word!);
  return generated ? word! : name;
}

function newScope(parent: Scope | null, name: string, id: string, known: GraphScope | undefined): Scope {
  const { kind = 'module', same = -1 } = known ?? {};
  const shown = shownName(name, kind);
  return { id, name: shown, parent, scopes: [], nodes: [], kind, same, repeats: 1, held: new Map() };
}

/** Builds the tree of the nodes that are not hidden. */
export function buildTree(state: Plan, hidden: ReadonlySet<string>): Tree {
  const told = new Map(state.scopes.map(scope => [scope.id, scope]));
  const root = newScope(null, '', '', undefined);
  const scopes = new Map<string, Scope>([['', root]]);
  const home = new Map<string, Scope>();
  const nodes = new Map<string, GraphNode>();
  const child = (parent: Scope, name: string): Scope => {
    const id = parent.id === '' ? name : `${parent.id}.${name}`;
    let scope = scopes.get(id);
    if (!scope) {
      scope = newScope(parent, name, id, told.get(id));
      scopes.set(id, scope);
      parent.scopes.push(scope);
    }
    return scope;
  };
  for (const node of state.nodes) {
    if (!hidden.has(node.id)) {
      const scope = node.scope.reduce(child, root);
      scope.nodes.push(node);
      home.set(node.id, scope);
      nodes.set(node.id, node);
    }
  }
  const edges = state.edges.filter(edge => nodes.has(edge.source) && nodes.has(edge.target));
  state.nodes.forEach(node => hold(node, scopes));
  const slim = flatten(root, scopes, home);
  stack(slim, scopes);
  return { root: slim, scopes, home, nodes, edges };
}

/** Counts what a node holds into every scope around it, drawn or not: a folded one tells how much it holds. */
function hold(node: GraphNode, scopes: ReadonlyMap<string, Scope>): void {
  const own = node.held.filter(tensor => tensor.kind === 'parameter');
  for (let depth = 0; own.length > 0 && depth <= node.scope.length; depth++) {
    const scope = scopes.get(node.scope.slice(0, depth).join('.'));
    own.forEach(tensor => scope?.held.set(tensor.name, tensor.elements));
  }
}

/** A module around a single op is noise: the op moves up. Blocks stay: which of them an op is in, is what counts. */
function flatten(scope: Scope, scopes: Map<string, Scope>, home: Map<string, Scope>): Scope {
  // Over a copy: scopes leave the list on the way.
  for (const inner of [...scope.scopes]) {
    flatten(inner, scopes, home);
    if (inner.kind === 'module' && inner.scopes.length === 0 && inner.nodes.length <= 1) {
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

/** Whether scopes may stand as one: what Python found to compute the same. The branches of an `if` are two all the same. */
function alike(one: Scope, other: Scope): boolean {
  return one.same >= 0 && one.same === other.same && one.kind !== 'block';
}

/** Puts runs of identical sibling scopes into one scope that says how many they are. */
function stack(scope: Scope, scopes: Map<string, Scope>): void {
  scope.scopes.forEach(inner => stack(inner, scopes));
  const next: Scope[] = [];
  for (let start = 0; start < scope.scopes.length;) {
    const first = scope.scopes[start]!;
    let end = start + 1;
    while (end < scope.scopes.length && alike(first, scope.scopes[end]!)) {
      end += 1;
    }
    const run = scope.scopes.slice(start, end);
    next.push(run.length > 1 ? pile(run, scope, scopes) : first);
    start = end;
  }
  scope.scopes.splice(0, scope.scopes.length, ...next);
}

function pile(run: readonly Scope[], parent: Scope, scopes: Map<string, Scope>): Scope {
  const first = run[0]!;
  const whole: Scope = {
    ...first,
    id: `${first.id}…`,
    name: `${first.name} … ${run.at(-1)!.name}`,
    parent,
    scopes: [...run],
    nodes: [],
    same: -1,
    repeats: run.length,
    held: new Map(run.flatMap(each => [...each.held]))
  };
  run.forEach(each => {
    each.parent = whole;
  });
  scopes.set(whole.id, whole);
  return whole;
}

/** Every node below a scope. */
export function nodesBelow(scope: Scope): GraphNode[] {
  return [...scope.nodes, ...scope.scopes.flatMap(nodesBelow)];
}

/** The sums of a scope. */
export function totals(scope: Scope): Totals {
  const nodes = nodesBelow(scope);
  const sum = (key: 'flops' | 'bytes' | 'memory'): number =>
    nodes.reduce((total, node) => total + node[key], 0);
  const measured = nodes.filter(node => node.seconds !== null);
  return {
    ops: nodes.filter(node => node.kind === 'op').length,
    parameters: [...scope.held.values()].reduce((total, count) => total + count, 0),
    flops: sum('flops'),
    bytes: sum('bytes'),
    memory: sum('memory'),
    time: measured.length > 0 ? measured.reduce((total, node) => total + node.seconds!, 0) : null
  };
}

/** How many items are seen when these scopes are open. */
export function countSeen(scope: Scope, open: ReadonlySet<string>): number {
  return (
    scope.nodes.length +
    scope.scopes.reduce((sum, inner) => sum + 1 + (open.has(inner.id) ? countSeen(inner, open) : 0), 0)
  );
}

/** Scopes to open level by level while no more than `most` items are seen: the last entry opens most. */
export function openings(tree: Tree, most: number): Set<string>[] {
  const found = [new Set<string>()];
  let level = tree.root.scopes;
  while (level.length > 0) {
    // A stack stays folded: open, it would hide just that its blocks are alike.
    const next = new Set([
      ...found.at(-1)!,
      ...level.filter(scope => scope.repeats === 1).map(scope => scope.id)
    ]);
    if (countSeen(tree.root, next) > most) {
      return found;
    }
    found.push(next);
    level = level.flatMap(scope => (scope.repeats === 1 ? scope.scopes : []));
  }
  return found;
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
