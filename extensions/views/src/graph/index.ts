import type { Host, Mount, MountOptions } from '../host';
import type { GraphNode, GraphState, GraphViewEvent } from '../protocol';
import { StateError } from '../common/buffers';
import { h, replace, setText } from '../common/dom';
import type { Exports } from '../common/exporting';
import { Finder } from '../common/finder';
import { grouped } from '../common/numbers';
import { button, Notice, select } from '../common/parts';
import { Picture } from '../common/picture';
import { fitCamera, HandCamera, keptCamera, MARGIN, Minimap } from './camera';
import { COLOUR_CHOICES, makeColouring, type ColourBy, type Colouring } from './colouring';
import { GRAPH_CSS } from './css';
import { described, Folds } from './folds';
import { Gestures } from './gestures';
import { Inspector } from './inspector';
import type { GraphLayout, Route } from './layout';
import type { Room } from './levels';
import { entryOf, hay } from './navigate';
import { nodesTable } from './saved';
import { Scene } from './scene';
import { scopeItem, type Scope } from './tree';

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
  private readonly gestures: Gestures;
  private readonly minimap: Minimap;
  private readonly inspector: Inspector;
  private readonly legend = h('div', { class: 'wb-graph-legend', 'data-testid': 'wb-legend' });
  private readonly live = h('div', { class: 'wb-hidden', 'aria-live': 'polite' });
  private readonly finder: Finder<GraphNode>;
  private readonly side: HTMLElement;
  private readonly switches: readonly HTMLButtonElement[];
  private readonly truncated = h('div', {
    class: 'wb-notice',
    'data-kind': 'warn',
    'data-testid': 'wb-truncated',
    hidden: true
  });
  private readonly ended = new Notice('wrong', 'wb-ended');
  private readonly main: HTMLElement;
  private readonly page: HTMLElement;
  private readonly folds = new Folds();
  private colourBy: ColourBy = 'op';
  private selected: string | null = null;
  /** How many selections made here Python has not answered: its own are older than those. */
  private asked = 0;
  private hovered: Route | null = null;
  private fitted = false;
  /** Whether the scene has another layout or other colours than the newest. */
  private unpainted = false;
  private colouring: Colouring | null = null;
  /** Whether a person has asked for the whole graph, however small. */
  private whole = false;
  /** What the camera was placed for. */
  private window = { width: 0, height: 0, inspecting: false };
  /** Whether the small map stands at the side: once it does it stays, since it takes room from the picture. */
  private mapped = false;

  constructor(root: HTMLElement, host: Host<GraphViewEvent>, options?: MountOptions) {
    const identity = {
      name: 'graph',
      css: GRAPH_CSS,
      emptySentence: 'A graph will be drawn here. Trace a model to get one:',
      emptyCode: 'wb.widgets.graph(model, images)'
    };
    super(root, host, identity, options);
    this.hand = new HandCamera(this.field, () => this.frame.request());
    this.gestures = new Gestures(this.field, this.hand, this.folds, {
      selected: () => this.selected,
      choose: id => this.choose(id),
      toggle: scope => this.toggle(scope),
      hover: route => this.setHovered(route),
      fit: () => this.fit()
    });
    this.minimap = new Minimap(this.hand, () => ({
      width: this.field.clientWidth,
      height: this.field.clientHeight
    }));
    this.inspector = new Inspector(host, {
      choose: id => this.choose(id),
      toggle: scope => this.toggle(scope),
      close: () => this.choose(null)
    });
    this.finder = new Finder({
      all: () => this.folds.tree?.nodes.values() ?? [],
      hay,
      entry: entryOf,
      show: id => this.mark(id),
      choose: id => this.choose(id),
      leave: () => this.field.focus(),
      redraw: () => this.frame.request()
    });
    this.switches = [
      this.lookSwitch('parameters', 'Show parameters and constants inside the nodes that use them'),
      this.lookSwitch(
        'symbols',
        "Show sizes as they are in any run: n is the size of the input's dim N, ? is known as it runs"
      )
    ];
    this.field.append(this.scene.svg);
    // Beside the picture and not on it: what lies there would be hidden.
    this.side = h('div', { class: 'wb-graph-side' }, this.minimap.element, this.inspector.element);
    this.main = h('div', { class: 'wb-graph-main' }, this.field, this.side);
    this.page = h(
      'div',
      { style: 'display: contents' },
      this.tools(),
      this.truncated,
      this.ended.element,
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
    const other = this.changed(state);
    this.ended.say(state.wrong && `The graph ends here: ${state.wrong}`);
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
    if (this.asked === 0 && (state.selected !== (this.state?.selected ?? null) || other)) {
      this.follow(state.selected);
    }
  }

  protected draw(): void {
    const width = this.field.clientWidth;
    const height = this.field.clientHeight;
    if (!this.folds.layout) {
      return;
    }
    if (width === 0) {
      this.onceMore();
      return;
    }
    this.roomed(width, height);
    if (this.unpainted) {
      this.unpainted = false;
      this.repaint(this.scene);
    }
    this.settle(this.folds.layout, { width, height, inspecting: this.main.hasAttribute('data-inspect') });
    const marks = {
      selected: this.selected,
      found: new Set(this.finder.found.map(id => this.folds.shownAs(id))),
      hovered: this.hovered
    };
    this.scene.draw(this.hand.camera, width, height, marks);
    if (this.minimap.draw() && !this.mapped) {
      this.mapped = true;
      this.showSide();
    }
  }

  /** Lays the graph out for the room that it has, unless a person has moved it: then it stays where it is. */
  private roomed(width: number, height: number): void {
    // What a click opens takes room, and must not move the graph under the pointer.
    const inspecting = this.main.hasAttribute('data-inspect');
    const free = !this.fitted || (!this.hand.moved && !inspecting && !this.window.inspecting);
    if (free && this.folds.fill(roomOf(width, height))) {
      this.fitted = false;
      this.arranged();
    }
  }

  private showSide(): void {
    this.main.toggleAttribute('data-map', this.mapped);
    this.frame.request();
  }

  /** Puts the camera right for the size that the window has now. */
  private settle(layout: GraphLayout, now: GraphView['window']): void {
    const before = this.window;
    const resized = before.width !== now.width || before.height !== now.height;
    // What a click opens takes room from the window, and must not make the graph another size under the pointer.
    const opened = before.inspecting !== now.inspecting;
    this.window = now;
    if (!this.fitted || (resized && !opened && !this.hand.moved)) {
      this.whole &&= this.fitted;
      this.hand.place(fitCamera(layout, now.width, now.height, this.whole));
      this.fitted = true;
      const failed = this.state?.wrong ? this.folds.box(this.selected) : undefined;
      if (failed) {
        this.hand.reveal(failed);
        // The view did that: another size, or more on the nodes, may place it anew.
        this.hand.moved = false;
      }
    } else if (resized) {
      this.hand.camera = keptCamera(layout, this.hand.camera, before, now);
      const chosen = this.folds.box(this.selected);
      if (opened && chosen) {
        this.hand.reveal(chosen);
      }
    }
  }

  protected exports(): Exports {
    const { state } = this;
    if (!state || !this.folds.layout) {
      return {};
    }
    return {
      svg: () => this.wholePicture(),
      csv: () => nodesTable(state),
      json: () => state
    };
  }

  /** All of the graph as it is unfolded, not only what the window shows. */
  private wholePicture(): SVGSVGElement {
    const scene = new Scene();
    this.repaint(scene);
    scene.drawWhole();
    // A picture has styles only in the page; it is read at once, and gone with the next turn.
    const place = h(
      'div',
      { class: 'wb-graph-export', 'aria-hidden': 'true' },
      scene.svg as unknown as HTMLElement
    );
    this.element.append(place);
    setTimeout(() => place.remove(), 0);
    return scene.svg;
  }

  protected override themeChanged(): void {
    this.paint();
  }

  override destroy(): void {
    this.gestures.destroy();
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
      this.finder.element,
      colour.element,
      ...this.switches,
      spacer,
      button('fold all', () => this.unfold(false), { 'data-testid': 'wb-fold-all' }),
      button('unfold all', () => this.unfold(true), {
        'data-testid': 'wb-unfold-all'
      }),
      this.zoomButtons()
    );
  }

  private zoomButtons(): HTMLElement {
    return h(
      'span',
      { class: 'wb-graph-zoom' },
      button('−', () => this.hand.zoom(1 / 1.3), { 'aria-label': 'Zoom out' }),
      button('fit', () => this.fit(), { 'aria-label': 'fit: show the whole graph', 'data-testid': 'wb-fit' }),
      button('+', () => this.hand.zoom(1.3), { 'aria-label': 'Zoom in' })
    );
  }

  private listen(): void {
    this.slashLeadsTo(this.finder.field);
    this.listeners.add(
      this.host.onSelect?.(selection => {
        if (selection.from !== 'graph' && selection.node !== undefined) {
          this.follow(selection.node);
        }
      })
    );
  }

  /** Takes up the nodes where they are others than those that are drawn; says whether it is another graph. */
  private changed(state: GraphState): boolean {
    // The very same objects come with all that is not about them: ten thousand nodes are not read for a click.
    if (state.nodes === this.state?.nodes && state.edges === this.state.edges) {
      return false;
    }
    // As text, since a state that was sent as a whole comes with objects of its own.
    const same = (text: (one: GraphState) => string): boolean =>
      this.state !== null && text(state) === text(this.state);
    const other = !same(shapeOf);
    if (other || !same(one => JSON.stringify([one.nodes, one.edges]))) {
      this.plant(state, other);
    }
    return other;
  }

  /** Builds the tree anew; a graph of the same shape keeps what a person opened. */
  private plant(state: GraphState, other: boolean): void {
    const { clientWidth, clientHeight } = this.field;
    this.folds.plant(state, other, clientWidth > 0 ? roomOf(clientWidth, clientHeight) : null);
    this.switches[0]!.disabled = state.nodes.every(node => node.held.length === 0);
    this.switches[1]!.disabled = [...state.nodes, ...state.edges].every(one => one.sizes.length === 0);
    if (other) {
      this.fitted = false;
      this.mapped = false;
      this.showSide();
    }
    this.arranged();
  }

  /** Takes up a layout that has changed. */
  private arranged(): void {
    if (this.folds.layout) {
      this.minimap.reset(this.folds.layout);
      this.paint();
    }
  }

  private paint(): void {
    const { theme } = this;
    const { layout, tree } = this.folds;
    if (!layout || !tree) {
      return;
    }
    const items = [...layout.boxes.values()].map(box => box.item);
    const colouring = makeColouring(this.colourBy, [...tree.nodes.values()], items, theme.dark, theme.paper);
    this.colouring = colouring;
    // Not cleared before it is drawn anew: until then, and in a place that has no size for a moment, the old one stays.
    this.unpainted = true;
    replace(this.legend, ...colouring.legend.map(entry => h('span', {}, dot(entry.colour), entry.text)));
    this.inspect();
    this.frame.request();
  }

  /** Puts the newest layout and colours into a scene. */
  private repaint(scene: Scene): void {
    const { layout, look } = this.folds;
    if (layout && this.colouring) {
      scene.reset(layout, look, { colouring: this.colouring, dark: this.theme.dark });
    }
  }

  private lookSwitch(what: 'parameters' | 'symbols', title: string): HTMLButtonElement {
    const element = button(
      what,
      () => {
        const shown = !this.folds.look[what];
        this.folds.show({ [what]: shown });
        element.setAttribute('aria-pressed', String(shown));
        this.fitted &&= this.hand.moved;
        this.arranged();
      },
      { 'aria-pressed': 'false', 'data-testid': `wb-${what}`, title }
    );
    return element;
  }

  private fit(): void {
    const { layout } = this.folds;
    if (layout) {
      this.hand.place(fitCamera(layout, this.field.clientWidth, this.field.clientHeight, true));
      this.whole = true;
      this.frame.request();
    }
  }

  private unfold(all: boolean): void {
    this.folds.unfold(all);
    this.arranged();
    this.fitted = false;
    this.frame.request();
  }

  /** Opens or folds one scope, which stays where it is in the window. */
  private toggle(scope: Scope): void {
    const id = scopeItem(scope);
    const before = this.folds.box(id);
    this.folds.toggle(scope);
    this.arranged();
    const after = this.folds.box(id);
    if (before && after) {
      const { camera } = this.hand;
      const shift = (from: number, to: number): number => (from - to) * camera.scale;
      this.hand.camera = {
        ...camera,
        x: camera.x + shift(before.x + before.width / 2, after.x + after.width / 2),
        y: camera.y + shift(before.y, after.y)
      };
      this.hand.moved = true; // another size must not fit it: the scope would leave its place
    }
    this.selected = id;
    this.inspect();
    this.frame.request();
  }

  private choose(id: string | null): void {
    this.mark(id);
    const node = id !== null && this.folds.tree?.nodes.has(id) ? id : null;
    if (id === null || node !== null) {
      this.host.select?.({ node, from: 'graph' });
      this.asked += 1;
      void this.send({ type: 'select', id: node }).then(answer => {
        this.asked -= 1;
        if (answer && !answer.accepted && this.asked === 0) {
          this.follow(this.state?.selected ?? null);
        }
      });
    }
  }

  /** Goes to a node that was selected elsewhere. */
  private follow(id: string | null): void {
    if (id === null || this.folds.tree?.nodes.has(id)) {
      this.mark(id);
    }
  }

  private mark(id: string | null): void {
    this.selected = id;
    if (id !== null && this.folds.reveal(id)) {
      this.arranged();
    }
    this.inspect();
    const box = this.folds.box(id);
    if (box && this.fitted) {
      this.hand.reveal(box);
    }
    setText(this.live, box ? described(box.item) : '');
    this.frame.request();
  }

  private inspect(): void {
    const item = this.folds.box(this.selected)?.item;
    this.main.toggleAttribute('data-inspect', item !== undefined);
    this.inspector.element.style.display = item ? '' : 'none';
    if (item && this.folds.tree) {
      this.inspector.show(item, this.folds.tree, this.theme.dark, this.state?.values ?? null);
    }
  }

  private setHovered(route: Route | null): void {
    if (route !== this.hovered) {
      this.hovered = route;
      this.frame.request();
    }
  }
}

/** What a graph is apart from what is said of its nodes: with another one nothing stays as it was. */
function shapeOf(state: GraphState): string {
  return JSON.stringify([
    state.nodes.map(node => [node.id, node.scope]),
    state.edges.map(edge => [edge.source, edge.target])
  ]);
}

/** The room for a picture in a window. */
function roomOf(width: number, height: number): Room {
  return { width: width - 2 * MARGIN, height: height - 2 * MARGIN };
}

function dot(colour: string): HTMLElement {
  const element = h('i');
  element.style.background = colour;
  return element;
}

/** The graph view. */
export const mountGraph: Mount<GraphState, GraphViewEvent> = (root, host, options) =>
  new GraphView(root, host, options);
