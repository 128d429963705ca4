/** The button of a value: a press hides its points or shows them, a double press shows them alone. */
import { hiddenOf, toggled, withHidden, type Arrangement } from './arrangement';
import type { Category } from './columns';
import type { Asks } from './scene';

/** An arrangement that shows one value of a column alone, or all of them where it was alone already. */
export function alone(now: Arrangement, column: Category, value: string): Arrangement {
  const others = column.values.filter(one => one !== value);
  const hidden = hiddenOf(now, column.name);
  const was = hidden.length === others.length && !hidden.includes(value);
  return withHidden(now, column.name, was ? [] : others);
}

/** Lets an element hide and show a value: by a press, alone by a double press or Shift and Enter, each one step back. */
export function hides(
  element: HTMLElement,
  column: Category,
  value: string,
  now: () => Arrangement | undefined,
  asks: Pick<Asks, 'arrange'>
): void {
  let presses = 0;
  const take = ({ hidden }: Arrangement): void =>
    asks.arrange({ hidden }, `value ${column.name} ${value} ${presses}`);
  element.addEventListener('click', event => {
    const before = now();
    if (before && event.detail <= 2) {
      const turned = toggled(before, column.name, value);
      // The second press of two begins by taking back what the first has done, and both are one step.
      const second = event.detail === 2;
      presses += second ? 0 : 1;
      take(second ? alone(turned, column, value) : turned);
    }
  });
  element.addEventListener('keydown', event => {
    const before = now();
    if (before && event.key === 'Enter' && event.shiftKey) {
      presses += 1;
      take(alone(before, column, value));
      event.preventDefault();
      event.stopPropagation();
    }
  });
}
