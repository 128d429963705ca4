/** The pictures of the workbench. Nothing here knows of Jupyter. */
export { mounts } from './mounts';
export type { Answer, Host, Mount, MountOptions, Place, Selection, Status, View } from './host';
export type * from './protocol';
export { PROTOCOL_VERSION, VIEW_NAMES, VIEWS } from './protocol';
