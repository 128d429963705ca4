/** The rules that choose a range, in words. */

const RULES: Readonly<Record<string, string>> = {
  'min-max': 'from the least to the greatest value seen: clips nothing',
  'moving average': 'the least and greatest value of each batch, averaged over batches',
  '99.9 %': 'leaves one value in a thousand out',
  L2: 'the least squared error, looked for at one end after the other',
  KL: 'the distribution of the codes comes nearest to that of the values',
  MSE: 'the least squared error, looked for at both ends at once',
  yours: 'set by hand'
};

/** What a rule goes by; empty for one that is not known here. */
export function ruleWords(name: string): string {
  return RULES[name] ?? '';
}
