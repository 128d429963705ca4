/** What stands on a node or a folded scope, and how much room that takes. */
import type { GraphTensor } from '../protocol';
import { bytes, seconds, si } from '../common/numbers';
import { middleOut, textWidth } from '../common/text';
import { totals, type Item, type Scope } from './tree';
import { ROW, valueText, type ValueText } from './valuetext';

/** What a person wants to see on nodes and edges. */
export interface Look {
  /** Parameters and constants, inside the nodes that use them. */
  readonly parameters: boolean;
  /** Sizes as they are in any run, and not as they were in the trace. */
  readonly symbols: boolean;
}

/** A line below the name: quiet text, or a parameter. */
export interface Line {
  readonly text: string;
  readonly value: ValueText | null;
  readonly y: number;
}

/** The words on an item, placed. */
export interface Face {
  readonly name: readonly string[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

/** The widest a node gets: in a view of 400 pixels it can be read. */
const WIDEST = 308;
/** Parameters beyond these are counted only. */
const MOST_HELD = 12;
const LINE = 13;

/** A text in lines of at most `most` pixels, broken behind points, lines and spaces; nothing of it is lost up to `rows` lines. */
export function wrapped(text: string, most: number, size: number, rows = 3): string[] {
  const pieces = text.match(/[^\s._/:-]*[\s._/:-]*/g)!.filter(Boolean);
  const lines: string[] = [];
  let line = '';
  for (const piece of pieces) {
    if (line !== '' && textWidth(line + piece, size) > most) {
      lines.push(line);
      line = '';
    }
    line += piece;
  }
  lines.push(line);
  const fit = Math.max(4, Math.floor(most / (0.62 * size)));
  if (lines.length > rows) {
    return wrapped(middleOut(text, Math.floor(fit * rows * 0.8)), most, size, rows + 1);
  }
  return lines.map(one => (textWidth(one, size) > most ? middleOut(one, fit) : one));
}

/** What a folded scope says of itself. */
export function scopeFacts(scope: Scope): string[] {
  const { ops, parameters, flops, memory, time } = totals(scope);
  const each = scope.repeats > 1 ? `${scope.repeats} alike · ` : '';
  const first = [
    `${each}${si(ops)} op${ops === 1 ? '' : 's'}`,
    parameters > 0 ? `${si(parameters)} parameters` : ''
  ];
  const second = [
    flops > 0 ? si(flops, 'flop') : '',
    memory > 0 ? bytes(memory) : '',
    time === null ? '' : seconds(time)
  ];
  return [first, second].map(facts => facts.filter(Boolean).join(' · ')).filter(Boolean);
}

function held(tensor: GraphTensor, prefix: string): ValueText {
  // Inside the box of its module the way to it goes without saying.
  const name = tensor.name.startsWith(prefix) ? tensor.name.slice(prefix.length) : tensor.name;
  const text = valueText({ ...tensor, sizes: [] }, false, WIDEST - 24, [name, tensor.dtype]);
  if (tensor.quantization === '') {
    return text;
  }
  const row = text.height / ROW;
  const width = textWidth(tensor.quantization, 10) + 6;
  const part = { text: tensor.quantization, x: 0, row, width, dim: null };
  return { parts: [...text.parts, part], width: Math.max(text.width, width), height: text.height + ROW };
}

function nodeFace(item: Extract<Item, { kind: 'node' }>, look: Look): Face {
  const { node } = item;
  const name = wrapped(item.lines[0], WIDEST - 28, 12);
  const lines: Line[] = [];
  let y = 4 + 15 * name.length;
  let width = Math.max(...name.map(line => textWidth(line, 12)));
  const say = (text: string): void => {
    for (const part of wrapped(text, WIDEST - 28, 10)) {
      lines.push({ text: part, value: null, y: y + 10 });
      width = Math.max(width, textWidth(part, 10));
      y += LINE;
    }
  };
  if (item.lines[1]) {
    say(item.lines[1]);
  }
  if (node.quantization) {
    say(node.quantization);
  }
  if (node.wrong) {
    say('✕ fails here');
  }
  if (look.parameters && node.held.length > 0) {
    y += 4;
    const prefix = node.scope.length > 0 ? `${node.scope.join('.')}.` : '';
    for (const tensor of node.held.slice(0, MOST_HELD)) {
      const value = held(tensor, prefix);
      lines.push({ text: '', value, y });
      width = Math.max(width, value.width);
      y += value.height + 1;
    }
    if (node.held.length > MOST_HELD) {
      say(`and ${node.held.length - MOST_HELD} more`);
    }
  }
  return { name, lines, width: Math.max(70, width + 28), height: y + (lines.length > 0 ? 5 : 9) };
}

function scopeFace(scope: Scope): Face {
  const name = wrapped(scope.name, 220, 12);
  const facts = scopeFacts(scope);
  const first = 6 + 15 * name.length;
  const lines = facts.map((text, index) => ({ text, value: null, y: first + 10 + index * LINE }));
  const widest = Math.max(
    ...name.map(line => textWidth(line, 12) + (scope.repeats > 1 ? 44 : 0)),
    ...facts.map(text => textWidth(text, 10))
  );
  return { name, lines, width: Math.max(120, widest + 44), height: first + LINE * facts.length + 7 };
}

/** What stands on a node or a folded scope. */
export function faceOf(item: Item, look: Look): Face {
  return item.kind === 'node' ? nodeFace(item, look) : scopeFace(item.scope);
}
