/** Styles of the scatter view. */
export const SCATTER_CSS = `
.wb-scatter { height: 100%; min-height: 520px; }
.wb-scatter > .wb-content { display: flex; flex: 1 1 auto; min-height: 0; }
.wb-projector { display: grid; grid-template-columns: minmax(0, 1fr) 264px; grid-template-rows: minmax(0, 1fr) auto; gap: 8px 12px; flex: 1; min-height: 0; min-width: 0; }
.wb-projector[data-rail] { grid-template-columns: 224px minmax(0, 1fr) 264px; }
.wb-projector:not([data-rail]) > .wb-rail { display: none; }
.wb-cloud { position: relative; overflow: hidden; border: 1px solid var(--wb-line); border-radius: 6px; touch-action: none; cursor: grab; outline-offset: -2px; min-height: 0; }
.wb-cloud[data-hover] { cursor: pointer; } .wb-cloud[data-drag] { cursor: grabbing; } .wb-cloud[data-box] { cursor: crosshair; }
.wb-tools { grid-area: 1 / 1; align-self: start; justify-self: start; display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; margin: 6px; z-index: 1; font-size: 11px; max-width: calc(100% - 12px); pointer-events: none; }
.wb-tools > * { pointer-events: auto; background: var(--wb-paper, transparent); border-radius: 4px; }
.wb-projector[data-rail] > :is(.wb-cloud, .wb-tools) { grid-area: 1 / 2; }
.wb-cloud { grid-area: 1 / 1; }
.wb-cloud canvas { position: absolute; inset: 0; display: block; }
/* Their height is the cloud's, however much they list: what a click opens moves nothing below. */
.wb-side, .wb-rail { contain: size; display: flex; flex-direction: column; gap: 8px; min-height: 0; overflow: auto; font-size: 12px; padding: 2px; }
.wb-rail { gap: 12px; border-right: 1px solid var(--wb-line); padding-right: 10px; }
.wb-part { display: flex; flex-direction: column; gap: 6px; flex: none; min-width: 0; }
.wb-rail > .wb-part + .wb-part { border-top: 1px solid var(--wb-line); padding-top: 10px; }
.wb-panel { display: flex; flex-direction: column; gap: 6px; flex: 1 1 auto; min-height: 160px; min-width: 0; }
.wb-side h3, .wb-rail h3, .wb-side h4, .wb-rail h4 { margin: 0; font-size: 11px; font-weight: 600; color: var(--wb-quiet); display: flex; justify-content: space-between; align-items: center; gap: 6px; min-height: 20px; }
.wb-side h3 .wb-button { font-weight: 400; }
.wb-histogram-part h3 > span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.wb-histogram-part h3 .wb-quiet { font-weight: 400; white-space: nowrap; }
.wb-line { display: flex; gap: 6px; align-items: center; min-width: 0; }
.wb-line > .wb-input:not(.wb-input-number), .wb-line > .wb-select { flex: 1; }
.wb-line:not(:has(> :not([hidden]))) { display: none; }
.wb-wrap { flex-wrap: wrap; }
.wb-spacer { flex: 1; }
.wb-note { margin: 0; }
.wb-problem { color: var(--wb-wrong); background: var(--wb-wrong-paper); border-radius: 4px; padding: 4px 8px; overflow-wrap: anywhere; }
.wb-said { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-height: 17px; }
.wb-named-by { display: flex; flex-direction: column; gap: 4px; }
.wb-scatter .wb-field { min-width: 0; } .wb-named-by .wb-field > span { width: 56px; } .wb-scatter .wb-field > .wb-select { flex: 1; min-width: 0; }
.wb-legend { display: flex; flex-wrap: wrap; gap: 3px; max-height: 120px; overflow: auto; }
.wb-legend button { display: inline-flex; align-items: center; gap: 5px; max-width: 100%; }
.wb-legend button span { overflow: hidden; text-overflow: ellipsis; }
.wb-legend button em { font-style: normal; color: var(--wb-quiet); }
.wb-legend button svg { width: 12px; height: 12px; margin: -1px; flex: none; fill: var(--wb-mark); fill-rule: evenodd; stroke: var(--wb-mark); stroke-width: 0.5; }
.wb-legend button[aria-pressed='false'] { border-style: dashed; color: var(--wb-quiet); text-decoration: line-through; }
.wb-legend button[aria-pressed='false'] svg { fill: none; stroke-width: 1.5; }
.wb-legend button[aria-pressed='true'] { border-color: var(--wb-line); color: inherit; box-shadow: none; }
.wb-brush-strip { position: relative; height: 44px; cursor: crosshair; touch-action: none; margin: 0 6px; }
.wb-brush-strip:has(> .wb-gradient) { height: 16px; }
.wb-gradient { position: absolute; inset: 0; border-radius: 3px; }
.wb-bars { position: absolute; inset: 0; width: 100%; height: 100%; display: block; }
.wb-brush-window { position: absolute; top: 0; bottom: 0; border: solid var(--wb-accent); border-width: 0 1px; pointer-events: none; }
.wb-brush-strip:has(> .wb-gradient) .wb-brush-window { box-shadow: 0 0 0 1px var(--wb-ink); border: 0; border-radius: 2px; }
.wb-brush-handle { position: absolute; top: 0; bottom: 0; width: 12px; margin-left: -6px; cursor: ew-resize; }
.wb-brush-handle::after { content: ''; position: absolute; left: 4px; top: 20%; bottom: 20%; width: 4px; border-radius: 2px; background: var(--wb-ink); box-shadow: 0 0 0 1px var(--wb-paper); }
.wb-brush-fields { margin-top: 3px; }
.wb-bar-all { fill: var(--wb-line); background: var(--wb-line); } .wb-bar-shown { fill: var(--wb-quiet); background: var(--wb-quiet); }
.wb-bar-selected { fill: var(--wb-accent); }
.wb-histograms { display: flex; flex-direction: column; gap: 10px; }
.wb-histogram-part { min-width: 0; }
.wb-value-rows { display: flex; flex-direction: column; gap: 1px; }
.wb-value-row { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 5fr) auto; gap: 8px; align-items: center; border: 0; background: none; color: inherit; font: inherit; font-size: 12px; padding: 2px 4px; min-height: 24px; border-radius: 4px; cursor: pointer; text-align: left; }
.wb-value-row:hover { background: var(--wb-sunk); }
.wb-value-row > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-value-row > i { position: relative; height: 10px; } .wb-value-row > i > u { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 2px; }
.wb-value-row > em { font-style: normal; color: var(--wb-quiet); min-width: 44px; text-align: right; }
.wb-value-row[aria-pressed='false'] > span { text-decoration: line-through; color: var(--wb-quiet); }
.wb-thumbnail { image-rendering: pixelated; border-radius: 2px; background: #000; display: block; }
.wb-near { display: flex; flex-direction: column; gap: 1px; }
.wb-near button { position: relative; display: grid; grid-template-columns: 24px minmax(0, 1fr) auto; gap: 8px; align-items: center; text-align: left; border: 0; background: none; color: inherit; font: inherit; font-size: 12px; padding: 2px 4px 4px; min-height: 24px; border-radius: 4px; cursor: pointer; }
.wb-near button:hover, .wb-row:hover { background: var(--wb-sunk); }
.wb-near button > span:first-of-type { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-near button > i { width: 10px; height: 10px; border-radius: 50%; background: var(--wb-accent); margin: 0 7px; }
.wb-near button > u { position: absolute; left: 36px; bottom: 1px; height: 2px; max-width: calc(100% - 40px); border-radius: 1px; background: var(--wb-line-strong); }
.wb-near button[data-lost] > span:first-of-type::after { content: ' − lost'; color: var(--wb-warn); }
.wb-rows { position: relative; overflow: auto; flex: 1; min-height: 120px; } .wb-rows-body { position: relative; }
.wb-row { position: absolute; left: 0; right: 0; height: 30px; display: flex; gap: 8px; align-items: center; border: 0; background: none; color: inherit; font: inherit; font-size: 12px; padding: 2px 4px; border-radius: 4px; cursor: pointer; text-align: left; white-space: nowrap; overflow: hidden; }
.wb-row > b { font-weight: 600; flex: none; max-width: 55%; overflow: hidden; text-overflow: ellipsis; } .wb-row > span { overflow: hidden; text-overflow: ellipsis; min-width: 0; }
.wb-settings { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 4px 8px; align-items: center; }
.wb-setting { display: contents; } .wb-setting > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-setting > .wb-input, .wb-setting > .wb-select { width: 92px; } .wb-setting > input[type='checkbox'] { justify-self: end; width: 18px; height: 18px; }
.wb-axes { display: flex; flex-direction: column; gap: 4px; } .wb-axes .wb-line > span { width: 44px; flex: none; } .wb-axes .wb-input { flex: 1; width: 40px; }
.wb-player { display: flex; flex-direction: column; gap: 4px; } .wb-player .wb-range { flex: 1; }
.wb-changes { display: flex; flex-direction: column; gap: 4px; }
.wb-moved { display: flex; flex-wrap: wrap; gap: 3px; } .wb-moved h4 { flex-basis: 100%; }
.wb-moved .wb-button { max-width: 100%; overflow: hidden; text-overflow: ellipsis; }
.wb-bookmarks { display: flex; flex-direction: column; gap: 3px; } .wb-bookmark { flex: 1; text-align: left; overflow: hidden; text-overflow: ellipsis; }
.wb-rail.wb-alone > .wb-part:first-child { display: none; }
.wb-bar { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; font-size: 12px; }
.wb-card { display: flex; gap: 8px; align-items: center; }
.wb-card > div { min-width: 0; } .wb-card > div > * { display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-scatter .wb-notice { margin-bottom: 2px; }
@container (max-width: 760px) {
  .wb-projector, .wb-projector[data-rail] { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(220px, 1fr) auto 300px; min-height: 620px; }
  .wb-projector[data-rail] { grid-template-rows: minmax(220px, 1fr) auto 300px 300px; min-height: 930px; }
  .wb-projector[data-rail] > :is(.wb-cloud, .wb-tools) { grid-area: 1 / 1; } .wb-bar { grid-row: 2; } .wb-side { grid-row: 3; grid-column: 1; }
  .wb-rail { grid-row: 4; grid-column: 1; border: 0; padding: 2px; }
}
`;
