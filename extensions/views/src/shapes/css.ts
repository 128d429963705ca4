/** Styles of the shapes view. */
export const SHAPES_CSS = `
.wb-shapes .wb-content { display: flex; flex-direction: column; gap: 8px; min-width: 0; }
.wb-tensor-line { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 8px; }
.wb-tensor-line .wb-spacer { flex: 1; }
.wb-tensor-dtype { font-family: var(--wb-code); font-weight: 600; }
.wb-tensor-facts { color: var(--wb-quiet); font-size: 12px; }
.wb-tensor-hist { display: inline-flex; align-items: center; gap: 6px; font-size: 12px; }
.wb-tensor-hist svg { display: block; }
.wb-tensor-hist path { fill: var(--wb-quiet); }
.wb-stats { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 16px; }
.wb-nan-button { color: var(--wb-nan); border-color: var(--wb-nan); font-weight: 600; }
.wb-frame { display: grid; grid-template-columns: auto auto auto; grid-template-rows: auto auto; width: max-content; max-width: 100%; }
.wb-frame-column { grid-column: 2; grid-row: 1; margin-bottom: 4px; display: flex; align-items: center; gap: 6px; font-size: 10px; color: var(--wb-quiet); }
.wb-frame-row { grid-column: 1; grid-row: 2; margin-right: 6px; display: flex; align-items: center; gap: 6px; font-size: 10px; color: var(--wb-quiet); writing-mode: vertical-rl; }
.wb-frame-column i, .wb-frame-row i { flex: 1; background: var(--wb-dim); opacity: 0.55; min-width: 2px; min-height: 2px; }
.wb-frame-column i { height: 2px; } .wb-frame-row i { width: 2px; }
.wb-frame-row .wb-chip { border-left: 0; border-top: 3px solid var(--wb-dim); padding: 5px 0 6px; width: 18px; justify-content: center; }
.wb-frame-row.wb-frame-flat { writing-mode: horizontal-tb; flex-direction: column; align-items: flex-end; justify-content: space-between; gap: 0; line-height: 1.1; }
.wb-frame-row.wb-frame-flat .wb-chip { width: auto; border-top: 0; border-left: 3px solid var(--wb-dim); padding: 0 6px 0 5px; }
.wb-frame-row.wb-frame-flat i { display: none; }
.wb-frame-canvas { grid-column: 2; grid-row: 2; position: relative; line-height: 0; min-width: 0; }
.wb-frame-canvas canvas { cursor: crosshair; touch-action: pan-y; image-rendering: pixelated; }
.wb-scale { grid-column: 3; grid-row: 2; margin-left: 8px; align-self: start; display: flex; align-items: stretch; gap: 4px; font-size: 10px; color: var(--wb-quiet); }
.wb-scale-bar { width: 8px; border-radius: 2px; border: 1px solid var(--wb-line); }
.wb-scale-ends { display: flex; flex-direction: column; justify-content: space-between; text-align: left; line-height: 1; }
.wb-sliders { display: flex; flex-direction: column; gap: 2px; max-width: 460px; }
.wb-slider { display: grid; grid-template-columns: minmax(64px, max-content) 1fr 62px 52px; align-items: center; gap: 8px; font-size: 12px; }
.wb-slider .wb-input { width: 62px; text-align: right; }
.wb-scalar { font-size: 28px; font-weight: 300; font-variant-numeric: tabular-nums; }
.wb-line-plot { cursor: crosshair; touch-action: pan-y; }
.wb-flow { overflow: auto; outline-offset: -2px; }
.wb-flow-row { display: grid; grid-template-columns: 128px minmax(0, 1fr) minmax(60px, 150px); gap: 8px; padding: 6px 4px; border-top: 1px solid var(--wb-line);
  content-visibility: auto; contain-intrinsic-size: auto 96px; cursor: default; align-items: center; }
.wb-flow-row:first-child { border-top: 0; }
.wb-flow-row:hover { background: color-mix(in srgb, var(--wb-sunk) 60%, transparent); }
.wb-flow-row[aria-selected='true'] { background: color-mix(in srgb, var(--wb-accent) 12%, transparent); box-shadow: inset 3px 0 0 var(--wb-accent); }
.wb-flow-op { font-family: var(--wb-code); font-weight: 600; overflow-wrap: anywhere; padding-left: 4px; }
.wb-flow-op small { display: block; font-weight: 400; color: var(--wb-quiet); font-size: 11px; }
.wb-flow-source { font-size: 11px; color: var(--wb-quiet); text-align: right; overflow-wrap: anywhere; font-family: var(--wb-code); }
.wb-flow-link { cursor: pointer; text-decoration: underline dotted; }
.wb-flow-link:hover { color: var(--wb-accent); }
.wb-flow-row svg { width: 100%; overflow: visible; }
@container (max-width: 560px) {
  .wb-flow-row { grid-template-columns: minmax(0, 1fr) auto; gap: 2px 8px; }
  .wb-flow-op small { display: inline; margin-left: 6px; }
  .wb-flow-row svg { grid-column: 1 / 3; grid-row: 2; }
}
.wb-clash { display: flex; flex-direction: column; gap: 10px; }
.wb-clash-message { display: flex; gap: 8px; align-items: flex-start; }
.wb-clash-message b { font-family: var(--wb-code); color: var(--wb-clash); white-space: nowrap; }
.wb-clash-message p { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.wb-clash-picture { overflow-x: auto; padding: 2px; }
.wb-clash-picture[data-wide] { border-inline: 1px dashed var(--wb-line-strong); }
.wb-clash-more { font-size: 12px; }
.wb-clash-fix { display: flex; flex-direction: column; gap: 4px; }
`;
