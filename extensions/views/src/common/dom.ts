/**
 * The only place where elements are made. Text goes in through `textContent` alone, so that a label from
 * data, whatever it holds, is never markup.
 */

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';

/** What an attribute may be given as; `false`, `null` and `undefined` leave it out. */
export type AttributeValue = string | number | boolean | null | undefined;

/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A child: an element, text, or nothing. */
export type Child = Node | string | number | null | undefined | false;

function isForbidden(name: string, value: AttributeValue): boolean {
  // No attribute may carry code: handlers are added with addEventListener, links are checked by their user.
  return (
    /^on/i.test(name) ||
    name === 'srcdoc' ||
    (/^(href|src)$/i.test(name) && /^\s*javascript:/i.test(String(value)))
  );
}

/** Sets or removes attributes. */
export function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (isForbidden(name, value)) {
      throw new Error(`attribute ${name} may carry code and is not set`);
    }
    if (value === false || value === null || value === undefined) {
      element.removeAttribute(name);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
}

/** Puts children at the end of a node. */
export function append(parent: Node, children: readonly Child[]): void {
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(typeof child === 'object' ? child : document.createTextNode(String(child)));
    }
  }
}

/** Makes an HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Makes an SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG_NAMESPACE, tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Replaces all children of a node. */
export function replace(parent: Node, ...children: Child[]): void {
  parent.textContent = '';
  append(parent, children);
}

/** Text that may break after underscores and points, as names of ops and layers need in narrow columns. */
export function breakable(text: string): Node[] {
  return text
    .split(/(?<=[_.])/)
    .flatMap((part, index) => [...(index > 0 ? [h('wbr')] : []), document.createTextNode(part)]);
}

/** Sets text only if it changed, so that a frame without news touches nothing. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Adds listeners that one call takes away again. */
export class Listeners {
  private readonly ends: (() => void)[] = [];

  /** Listens on an element until `release`. */
  on<K extends keyof HTMLElementEventMap>(
    target: EventTarget,
    type: K,
    handler: (event: HTMLElementEventMap[K]) => void,
    options?: AddEventListenerOptions
  ): void {
    const listener = handler as EventListener;
    target.addEventListener(type, listener, options);
    this.ends.push(() => target.removeEventListener(type, listener, options));
  }

  /** Keeps any other function to be called at the end. */
  add(end: (() => void) | void): void {
    if (end) {
      this.ends.push(end);
    }
  }

  /** Takes every listener away. */
  release(): void {
    for (const end of this.ends.splice(0)) {
      end();
    }
  }
}
