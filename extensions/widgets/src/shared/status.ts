/**
 * How the link stands.
 * `absent`: the kernel has not imported the workbench. `connecting`: it is being asked. `open`: it works.
 * `restarted`, `dead`, `lost` (no connection), `refused` (another version, or the comms belong to others).
 */
export type LinkStatus = 'absent' | 'connecting' | 'open' | 'restarted' | 'dead' | 'lost' | 'refused';

/** In two words, for the line above a view. */
export const BRIEF: Readonly<Record<LinkStatus, string>> = {
  absent: 'not connected',
  connecting: 'connecting',
  open: 'connected',
  restarted: 'kernel restarted',
  dead: 'kernel died',
  lost: 'connection lost',
  refused: 'not connected'
};

/** In a person's words; why it was refused says the kernel, or what was tried. */
export const IN_WORDS: Readonly<Record<Exclude<LinkStatus, 'refused'>, string>> = {
  absent: 'this kernel has not imported workbench',
  connecting: 'connecting to the kernel',
  open: 'connected',
  restarted: 'the kernel restarted',
  dead: 'the kernel has died',
  lost: 'the connection to the kernel is lost'
};
