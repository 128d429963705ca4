/** Searching a list by words and regular expressions. */

/** What a search found, and what is wrong with what was asked; empty where nothing is. */
export interface Search<T> {
  readonly found: readonly T[];
  readonly problem: string;
}

/**
 * Those in whose `hay` every word is found; a word is a regular expression, and a plain one finds itself. Each thing that
 * is known stands on a line of its own in it: ^ and $ are the ends of a name, and not of all that is known.
 */
export function search<T>(all: Iterable<T>, text: string, hay: (one: T) => string): Search<T> {
  const words = text.split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    return { found: [], problem: '' };
  }
  const wanted: RegExp[] = [];
  for (const word of words) {
    try {
      wanted.push(new RegExp(word, 'im'));
    } catch {
      return { found: [], problem: `${word} is no regular expression` };
    }
  }
  const found: T[] = [];
  for (const one of all) {
    const known = hay(one);
    if (wanted.every(word => word.test(known))) {
      found.push(one);
    }
  }
  return { found, problem: '' };
}
