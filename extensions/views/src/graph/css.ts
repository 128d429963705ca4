/** Styles of the graph view. */
export const GRAPH_CSS = `
.wb-graph { height: 100%; min-height: 420px; }
.wb-graph > .wb-content { display: flex; flex-direction: column; flex: 1 1 auto; min-height: 0; gap: 8px; }
.wb-graph-tools { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; flex: none; }
.wb-graph-tools .wb-input { width: 150px; }
.wb-graph-tools .wb-spacer { flex: 1; }
.wb-graph-export { position: absolute; width: 1px; height: 1px; overflow: hidden; opacity: 0; pointer-events: none; }
/* An error says what was given, line by line. */
.wb-graph .wb-notice[data-testid='wb-ended'] > span { white-space: pre-line; overflow-wrap: anywhere; }
.wb-graph-values { width: 100%; height: 48px; display: block; }
.wb-graph-values rect { fill: var(--wb-accent); }
.wb-graph-ends { display: flex; justify-content: space-between; font-size: 11px; color: var(--wb-quiet); font-variant-numeric: tabular-nums; }
.wb-graph-held { margin-bottom: 4px; overflow-wrap: anywhere; }
.wb-graph-main { display: grid; grid-template-columns: minmax(0, 1fr); flex: 1 1 auto; min-height: 300px; gap: 12px; }
.wb-graph-main[data-map] { grid-template-columns: minmax(0, 1fr) 104px; }
.wb-graph-main[data-inspect] { grid-template-columns: minmax(0, 1fr) 264px; }
.wb-graph-side { display: none; flex-direction: column; gap: 8px; min-width: 0; min-height: 0; }
.wb-graph-main:is([data-map], [data-inspect]) > .wb-graph-side { display: flex; }
.wb-graph-main:not([data-map]) .wb-minimap { flex: none; height: 104px; background: var(--wb-paper); border: 1px solid var(--wb-line); border-radius: 4px; cursor: crosshair; touch-action: none; }
.wb-graph-field { position: relative; overflow: hidden; border: 1px solid var(--wb-line); border-radius: 6px; min-height: 0; cursor: grab; touch-action: none; outline-offset: -2px;
  background: var(--wb-paper); }
.wb-graph-field[data-drag] { cursor: grabbing; }
.wb-graph-field > svg { position: absolute; inset: 0; width: 100%; height: 100%; user-select: none; -webkit-user-select: none; }
/* What slides is painted beyond the window, too, and kept as it is painted. */
.wb-graph-field > svg[data-slides] { overflow: visible; will-change: transform; }
.wb-g-node, .wb-g-scope { cursor: pointer; }
.wb-g-node > rect:first-child { fill: var(--wb-paper); stroke: var(--wb-line-strong); stroke-width: 1.25; }
.wb-g-node:hover > rect:first-child, .wb-g-folded:hover > rect:first-child { stroke: var(--wb-ink); }
.wb-g-node[data-kind='input'] > rect:first-child, .wb-g-node[data-kind='output'] > rect:first-child { stroke-dasharray: none; fill: var(--wb-sunk); }
.wb-g-scope > rect:first-child { fill: color-mix(in srgb, var(--wb-sunk) 45%, transparent); stroke: var(--wb-line); }
.wb-g-folded > rect { fill: var(--wb-sunk); stroke: var(--wb-line-strong); stroke-width: 1.25; }
.wb-g-name { font-weight: 600; font-size: 12px; fill: var(--wb-ink); }
.wb-g-sub { font-size: 10px; fill: var(--wb-quiet); }
.wb-g-title { font-size: 11px; font-weight: 600; }
.wb-g-titles { pointer-events: none; }
.wb-g-titles > text { paint-order: stroke; stroke: var(--wb-paper); stroke-width: 3px; stroke-linejoin: round; }
.wb-g-lead { font-size: 10px; fill: var(--wb-ink); opacity: 0.7; }
.wb-g-dim { font-size: 10px; font-weight: 600; fill: var(--wb-ink); }
.wb-g-scope[data-kind='block'] > rect:first-child { stroke-dasharray: 4 3; }
.wb-g-scope:is([data-kind='if'], [data-kind='loop'], [data-kind='function']) > rect:first-child { stroke: var(--wb-line-strong); }
.wb-g-node[data-wrong] > rect:first-child { stroke: var(--wb-wrong) !important; stroke-width: 2.5 !important; stroke-dasharray: none !important; }
.wb-g-fold { font-size: 13px; font-weight: 600; fill: var(--wb-quiet); }
[data-selected] > rect:first-child { stroke: var(--wb-accent) !important; stroke-width: 2.5 !important; }
[data-found]:not([data-selected]) > rect:first-child { stroke: var(--wb-warn) !important; stroke-width: 2.5 !important; stroke-dasharray: 5 2; }
.wb-g-edges { fill: none; stroke: var(--wb-quiet); stroke-opacity: 0.65; stroke-width: 1.25; }
.wb-g-heads { fill: var(--wb-quiet); fill-opacity: 0.8; stroke: none; }
.wb-g-lit { fill: none; stroke: var(--wb-accent); stroke-width: 2.25; }
.wb-g-label { pointer-events: none; }
.wb-g-label > rect { fill: var(--wb-paper); }
.wb-minimap { flex: none; height: 104px; background: var(--wb-paper); border: 1px solid var(--wb-line); border-radius: 4px; cursor: crosshair; touch-action: none; }
.wb-minimap svg { width: 100%; height: 100%; display: block; }
.wb-minimap path { fill: var(--wb-quiet); stroke: var(--wb-quiet); stroke-width: 0.75; opacity: 0.5; }
.wb-minimap rect { fill: color-mix(in srgb, var(--wb-accent) 18%, transparent); stroke: var(--wb-accent); }
.wb-graph-legend { display: flex; flex-wrap: wrap; gap: 2px 12px; font-size: 11px; flex: none; color: var(--wb-quiet); }
.wb-graph-zoom { display: inline-flex; gap: 4px; }
.wb-graph-legend i, .wb-legend-dot { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin-right: 5px; }
/* Its height is the graph's, however much it says: what a click opens moves nothing below. */
.wb-inspector { contain: size; flex: 1; overflow: auto; font-size: 12px; min-width: 0; display: flex; flex-direction: column; gap: 10px; padding-right: 4px; }
.wb-inspector h3 { margin: 0; font: 600 13px var(--wb-code); overflow-wrap: anywhere; }
.wb-inspector h4 { margin: 0 0 3px; font-size: 11px; font-weight: 600; color: var(--wb-quiet); }
.wb-inspector p { margin: 0; overflow-wrap: anywhere; }
.wb-inspector .wb-pairs > :nth-child(even) { text-align: right; }
.wb-inspector code { font-family: var(--wb-code); background: var(--wb-sunk); padding: 4px 6px; border-radius: 3px; display: block; overflow-wrap: anywhere; white-space: pre-wrap; color: var(--wb-ink); }
.wb-inspector-close { float: right; }
.wb-neighbours { display: flex; flex-direction: column; gap: 2px; align-items: stretch; }
.wb-neighbours button { text-align: left; overflow: hidden; text-overflow: ellipsis; }
@container (max-width: 620px) {
  .wb-graph-main { min-height: 440px; }
  .wb-graph-main[data-map] { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) 64px; }
  .wb-graph-main[data-inspect] { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) 190px; }
  .wb-graph-side { flex-direction: row; }
  .wb-graph-main .wb-minimap { width: 84px; height: 64px; }
  .wb-graph-tools .wb-input { width: 96px; }
  .wb-minimap { flex: none; height: 104px; background: var(--wb-paper); border: 1px solid var(--wb-line); border-radius: 4px; cursor: crosshair; touch-action: none; }
  .wb-graph-tools .wb-field > span { display: none; }
  .wb-finder-found:empty { display: none; }
}
`;
