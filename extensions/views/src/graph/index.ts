import type { Host, Mount, MountOptions } from '../host';
import type { GraphState, GraphViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import { csv, type Exports } from '../common/exporting';
import { grouped } from '../common/numbers';
import { button, dimensionText, select } from '../common/parts';
import { Picture } from '../common/picture';
import { fitCamera, HandCamera, Minimap } from './camera';
import { COLOUR_CHOICES, makeColouring, type ColourBy } from './colouring';
import { GRAPH_CSS } from './css';
import { Inspector } from './inspector';
import { layoutGraph, type GraphLayout, type Route } from './layout';
import { routeAt, search, walk } from './navigate';
import { Scene } from './scene';
import {
  around,
  background,
  buildTree,
  openAtFirst,
  scopeItem,
  standIn,
  type Scope,
  type Tree
} from './tree';

/** About so many items are seen at first; deeper scopes are folded. */
const FIRST_ITEMS = 48;

class GraphView extends Picture<GraphState, GraphViewEvent> {
  private readonly scene = new Scene();
  private readonly field = h('div', {
    class: 'wb-graph-field',
    tabindex: 0,
    role: 'application',
    'aria-label':
      'Graph: arrow keys walk along edges, Enter folds and unfolds, / searches, plus and minus zoom',
    'data-testid': 'wb-graph-field'
  });
  private readonly hand: HandCamera;
  private readonly minimap: Minimap;
  private readonly inspector: Inspector;
  private readonly legend = h('div', { class: 'wb-graph-legend', 'data-testid': 'wb-legend' });
  private readonly live = h('div', { class: 'wb-hidden', 'aria-live': 'polite' });
  private readonly searchField = h('input', {
    type: 'search',
    class: 'wb-input',
    placeholder: '/ search',
    'aria-label': 'Search the graph',
    'data-testid': 'wb-search'
  });
  private readonly foundText = h('span', {
    class: 'wb-graph-found',
    'aria-live': 'polite',
    'data-testid': 'wb-found'
  });
  private readonly hiddenButton: HTMLButtonElement;
  private readonly truncated = h('div', {
    class: 'wb-notice',
    'data-kind': 'warn',
    'data-testid': 'wb-truncated',
    hidden: true
  });
  private readonly main: HTMLElement;
  private readonly page: HTMLElement;
  private tree: Tree | null = null;
  private layout: GraphLayout | null = null;
  private open = new Set<string>();
  private everything = false;
  private colourBy: ColourBy = 'op';
  private selected: string | null = null;
  private found: readonly string[] = [];
  private foundAt = -1;
  private hovered: Route | null = null;
  private shape = '';
  private planted = '';
  private fitted = false;

  constructor(root: HTMLElement, host: Host<GraphViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'graph',
      css: GRAPH_CSS,
      emptySentence: 'A graph will be drawn here. Trace a model to get one:',
      emptyCode: 'wb.widgets.graph(wb.graph.trace(model, images))'
    };
    super(root, host, identity, options);
    this.hand = new HandCamera(this.field, () => this.frame.request());
    this.minimap = new Minimap(
      this.hand,
      () => ({ width: this.field.clientWidth, height: this.field.clientHeight }),
      () => this.frame.request()
    );
    this.inspector = new Inspector(host, {
      choose: id => this.choose(id),
      toggle: scope => this.toggle(scope),
      close: () => this.choose(null)
    });
    this.hiddenButton = button('parameters', () => this.showEverything(), {
      'aria-pressed': 'false',
      'data-testid': 'wb-parameters',
      title: 'Show parameters, constants and what is computed from them alone'
    });
    this.field.append(this.scene.svg, this.zoomButtons(), this.minimap.element);
    this.main = h('div', { class: 'wb-graph-main' }, this.field, this.inspector.element);
    this.page = h(
      'div',
      { style: 'display: contents' },
      this.tools(),
      this.truncated,
      this.main,
      this.legend,
      this.live
    );
    this.listen();
  }

  protected accept(state: GraphState): void {
    if (state.kind !== 'graph') {
      throw new StateError(`the graph view knows no state of the kind “${String(state.kind)}”`);
    }
    if (state.nodes.length === 0) {
      replace(this.content, this.empty('This graph has no nodes. Trace a model that does something:'));
      return;
    }
    if (this.page.parentNode !== this.content) {
      replace(this.content, this.page);
    }
    const shape = JSON.stringify([
      state.nodes.map(node => [node.id, node.scope]),
      state.edges.map(edge => [edge.source, edge.target])
    ]);
    const other = shape !== this.shape;
    this.shape = shape;
    this.truncated.hidden = state.truncated === 0;
    replace(
      this.truncated,
      h('span', {}, '▲'),
      h(
        'span',
        {},
        `${grouped(state.truncated)} more nodes were left out: the graph is larger than a view can show.`
      )
    );
    const content = JSON.stringify([state.nodes, state.edges]);
    if (content !== this.planted) {
      this.planted = content;
      this.plant(state, other);
    }
    if (state.selected !== (this.state?.selected ?? null) || other) {
      this.follow(state.selected);
    }
  }

  protected draw(): void {
    const width = this.field.clientWidth;
    const height = this.field.clientHeight;
    if (!this.layout || width === 0) {
      return;
    }
    if (!this.fitted) {
      this.hand.camera = fitCamera(this.layout, width, height, false);
      this.fitted = true;
    }
    const marks = {
      selected: this.selected,
      found: new Set(this.found.map(id => this.shownAs(id))),
      hovered: this.hovered
    };
    this.scene.draw(this.hand.camera, width, height, marks);
    this.minimap.draw();
  }

  protected exports(): Exports {
    const { state, layout } = this;
    if (!state || !layout) {
      return {};
    }
    const rows = state.nodes.map(node => [
      node.id,
      node.kind,
      node.op,
      node.scope.join('.'),
      node.dtype,
      node.dims.map(dimensionText).join(' '),
      node.parameters,
      node.flops,
      node.bytes,
      node.source
    ]);
    return {
      svg: () => this.scene.svg,
      csv: () =>
        csv([
          ['id', 'kind', 'op', 'scope', 'dtype', 'dims', 'parameters', 'flops', 'bytes', 'source'],
          ...rows
        ]),
      json: () => state
    };
  }

  protected override themeChanged(): void {
    this.paint();
  }

  override destroy(): void {
    this.hand.destroy();
    super.destroy();
  }

  private tools(): HTMLElement {
    const colour = select(
      'colour',
      COLOUR_CHOICES,
      this.colourBy,
      value => {
        this.colourBy = value;
        this.paint();
      },
      'wb-colour'
    );
    const spacer = h('span', { class: 'wb-spacer' });
    return h(
      'div',
      { class: 'wb-graph-tools', role: 'toolbar', 'aria-label': 'Graph tools' },
      this.searchField,
      this.foundText,
      colour.element,
      this.hiddenButton,
      spacer,
      button('fold all', () => this.unfold([]), { 'data-testid': 'wb-fold-all' }),
      button('unfold all', () => this.unfold([...(this.tree?.scopes.keys() ?? [])]), {
        'data-testid': 'wb-unfold-all'
      })
    );
  }

  private zoomButtons(): HTMLElement {
    return h(
      'div',
      { class: 'wb-graph-zoom' },
      button('−', () => this.hand.zoom(1 / 1.3), { 'aria-label': 'Zoom out' }),
      button('fit', () => this.fit(), { 'aria-label': 'Show the whole graph', 'data-testid': 'wb-fit' }),
      button('+', () => this.hand.zoom(1.3), { 'aria-label': 'Zoom in' })
    );
  }

  private listen(): void {
    this.listeners.on(this.field, 'click', event => this.click(event));
    this.listeners.on(this.field, 'dblclick', event => this.doubleClick(event));
    this.listeners.on(this.field, 'pointermove', event => this.hover(event));
    this.listeners.on(this.field, 'pointerleave', () => this.setHovered(null));
    this.listeners.on(this.field, 'keydown', event => this.key(event));
    this.listeners.on(this.searchField, 'input', () => this.find());
    this.listeners.on(this.searchField, 'keydown', event => this.searchKey(event));
    this.listeners.on(this.element, 'keydown', event => {
      if (event.key === '/' && !(event.target instanceof HTMLInputElement)) {
        event.preventDefault();
        event.stopPropagation();
        this.searchField.focus();
      }
    });
    this.listeners.add(
      this.host.onSelect?.(selection => {
        if (selection.from !== 'graph' && selection.node !== undefined) {
          this.follow(selection.node);
        }
      })
    );
  }

  /** Builds the tree anew; a graph of the same shape keeps what a person opened. */
  private plant(state: GraphState, other: boolean): void {
    const hidden = this.everything ? new Set<string>() : background(state);
    this.tree = buildTree(state, hidden);
    const count = state.nodes.filter(node => node.kind === 'parameter' || node.kind === 'constant').length;
    this.hiddenButton.disabled = count === 0;
    if (other) {
      this.open = openAtFirst(this.tree, FIRST_ITEMS);
      this.fitted = false;
    }
    this.arrange();
  }

  private arrange(): void {
    if (this.tree) {
      this.layout = layoutGraph(this.tree, this.open);
      this.minimap.reset(this.layout);
      this.paint();
    }
  }

  private paint(): void {
    const { layout, tree, theme } = this;
    if (!layout || !tree) {
      return;
    }
    const items = [...layout.boxes.values()].map(box => box.item);
    const colouring = makeColouring(this.colourBy, [...tree.nodes.values()], items, theme.dark, theme.paper);
    this.scene.reset(layout, colouring, theme.dark);
    replace(this.legend, ...colouring.legend.map(entry => h('span', {}, dot(entry.colour), entry.text)));
    this.inspect();
    this.frame.request();
  }

  private shownAs(id: string): string {
    return this.tree?.nodes.has(id) ? standIn(this.tree, this.open, id) : id;
  }

  private showEverything(): void {
    this.everything = !this.everything;
    this.hiddenButton.setAttribute('aria-pressed', String(this.everything));
    if (this.state && this.tree) {
      const known = new Set(this.tree.scopes.keys());
      this.plant(this.state, false);
      // A scope that only came to be because of what is shown now would hide just that.
      [...this.tree.scopes.keys()].filter(id => !known.has(id)).forEach(id => this.open.add(id));
      this.arrange();
    }
  }

  private fit(): void {
    if (this.layout) {
      this.hand.camera = fitCamera(this.layout, this.field.clientWidth, this.field.clientHeight, true);
      this.frame.request();
    }
  }

  private unfold(ids: readonly string[]): void {
    this.open = new Set(ids);
    this.arrange();
    this.fitted = false;
    this.frame.request();
  }

  /** Opens or folds one scope, which stays where it is in the window. */
  private toggle(scope: Scope): void {
    const id = scopeItem(scope);
    const before = this.layout?.boxes.get(id);
    if (!this.open.delete(scope.id)) {
      this.open.add(scope.id);
    }
    this.arrange();
    const after = this.layout?.boxes.get(id);
    if (before && after) {
      const { camera } = this.hand;
      const shift = (from: number, to: number): number => (from - to) * camera.scale;
      this.hand.camera = {
        ...camera,
        x: camera.x + shift(before.x + before.width / 2, after.x + after.width / 2),
        y: camera.y + shift(before.y, after.y)
      };
    }
    this.selected = id;
    this.inspect();
    this.frame.request();
  }

  private choose(id: string | null): void {
    this.mark(id);
    const node = id !== null && this.tree?.nodes.has(id) ? id : null;
    if (id === null || node !== null) {
      this.host.select?.({ node, from: 'graph' });
      void this.send({ type: 'select', id: node });
    }
  }

  /** Goes to a node that was selected elsewhere. */
  private follow(id: string | null): void {
    if (id === null || this.tree?.nodes.has(id)) {
      this.mark(id);
    }
  }

  private mark(id: string | null): void {
    this.selected = id;
    if (id !== null && this.tree?.nodes.has(id) && !this.layout?.boxes.has(id)) {
      around(this.tree, id).forEach(scope => this.open.add(scope.id));
      this.arrange();
    }
    this.inspect();
    const box = id === null ? undefined : this.layout?.boxes.get(id);
    if (box && this.fitted) {
      this.hand.reveal(box);
    }
    setText(this.live, this.describe());
    this.frame.request();
  }

  private describe(): string {
    const box = this.selected === null ? undefined : this.layout?.boxes.get(this.selected);
    if (!box) {
      return '';
    }
    if (box.item.kind === 'scope') {
      return `scope ${box.item.scope.name}, ${box.item.open ? 'unfolded' : 'folded'}`;
    }
    const { node } = box.item;
    return `${node.kind} ${node.label}, ${node.op}, gives ${node.dims.map(dimensionText).join(', ') || 'a scalar'}`;
  }

  private inspect(): void {
    const item = this.selected === null ? undefined : this.layout?.boxes.get(this.selected)?.item;
    this.main.toggleAttribute('data-inspect', item !== undefined);
    this.inspector.element.style.display = item ? '' : 'none';
    if (item && this.tree) {
      this.inspector.show(item, this.tree, this.theme.dark);
    }
  }

  private itemAt(
    event: Event
  ): { readonly id: string; readonly fold: boolean; readonly scope: Scope | null } | null {
    const target = event.target instanceof Element ? event.target : null;
    const group = target?.closest('[data-node], [data-scope]');
    if (!group) {
      return null;
    }
    const node = group.getAttribute('data-node');
    if (node !== null) {
      return { id: node, fold: false, scope: null };
    }
    const scope = this.tree?.scopes.get(group.getAttribute('data-scope') ?? '') ?? null;
    return scope && { id: scopeItem(scope), fold: target!.hasAttribute('data-fold'), scope };
  }

  private click(event: MouseEvent): void {
    this.field.focus({ preventScroll: true });
    if (this.hand.panned || (event.target as Element).closest('.wb-minimap, .wb-graph-zoom')) {
      return;
    }
    const item = this.itemAt(event);
    if (item?.fold && item.scope) {
      this.toggle(item.scope);
    } else if (item) {
      this.choose(item.id);
    } else if (this.selected !== null) {
      this.choose(null);
    }
  }

  private doubleClick(event: MouseEvent): void {
    const item = this.itemAt(event);
    if (item?.scope) {
      this.toggle(item.scope);
    }
  }

  private hover(event: PointerEvent): void {
    if (!this.layout || event.buttons !== 0) {
      return;
    }
    const box = this.field.getBoundingClientRect();
    const { x, y, scale } = this.hand.camera;
    const onNode = (event.target as Element).closest('[data-node], .wb-g-folded');
    const point = { x: (event.clientX - box.left - x) / scale, y: (event.clientY - box.top - y) / scale };
    this.setHovered(onNode || scale < 0.3 ? null : routeAt(this.layout, point, 7 / scale));
  }

  private setHovered(route: Route | null): void {
    if (route !== this.hovered) {
      this.hovered = route;
      this.frame.request();
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key.startsWith('Arrow') && this.layout) {
      const next = walk(this.layout, this.selected, event.key);
      if (next) {
        this.choose(next);
      }
    } else if (event.key === 'Enter' || event.key === ' ') {
      const item = this.selected === null ? undefined : this.layout?.boxes.get(this.selected)?.item;
      const scope = item?.kind === 'scope' ? item.scope : item ? this.tree?.home.get(item.id) : undefined;
      if (scope && scope.id !== '') {
        this.toggle(scope);
      }
    } else if (event.key === '+' || event.key === '=') {
      this.hand.zoom(1.3);
    } else if (event.key === '-') {
      this.hand.zoom(1 / 1.3);
    } else if (event.key === '0' || event.key === 'f') {
      this.fit();
    } else if (event.key === 'Escape' && this.selected !== null) {
      this.choose(null);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private find(): void {
    this.found = this.tree
      ? search(this.tree.nodes.values(), this.searchField.value).map(node => node.id)
      : [];
    this.foundAt = -1;
    const text = this.searchField.value.trim();
    setText(this.foundText, text ? `${grouped(this.found.length)} found` : '');
    if (this.found.length === 1) {
      this.jump(1);
    }
    this.frame.request();
  }

  private jump(step: number): void {
    const count = this.found.length;
    if (count > 0) {
      this.foundAt = (this.foundAt + step + count) % count;
      setText(this.foundText, `${this.foundAt + 1} of ${grouped(count)}`);
      this.mark(this.found[this.foundAt]!);
    }
  }

  private searchKey(event: KeyboardEvent): void {
    if (event.key === 'Enter') {
      this.jump(event.shiftKey ? -1 : 1);
      const id = this.found[this.foundAt];
      if (id !== undefined) {
        this.choose(id);
      }
    } else if (event.key === 'Escape') {
      this.searchField.value = '';
      this.find();
      this.field.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

function dot(colour: string): HTMLElement {
  const element = h('i');
  element.style.background = colour;
  return element;
}

/** The graph view. */
export const mountGraph: Mount<GraphState, GraphViewEvent> = (root, host, options) =>
  new GraphView(root, host, options);
