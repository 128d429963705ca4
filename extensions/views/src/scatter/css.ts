/** Styles of the scatter view. */
export const SCATTER_CSS = `
.wb-scatter { height: 100%; min-height: 440px; }
.wb-scatter > .wb-content { display: flex; flex: 1 1 auto; min-height: 0; }
.wb-projector { display: grid; grid-template-columns: minmax(0, 1fr) 232px; grid-template-rows: minmax(0, 1fr) auto; gap: 8px 12px; flex: 1; min-height: 0; min-width: 0; }
.wb-cloud { position: relative; overflow: hidden; border: 1px solid var(--wb-line); border-radius: 6px; touch-action: none; cursor: grab; outline-offset: -2px; min-height: 0; }
.wb-cloud[data-hover] { cursor: pointer; } .wb-cloud[data-drag] { cursor: grabbing; } .wb-cloud[data-box] { cursor: crosshair; }
.wb-cloud canvas { position: absolute; inset: 0; display: block; }
/* Its height is the cloud's, however many neighbours it lists: what a click opens moves nothing below. */
.wb-side { contain: size; display: flex; flex-direction: column; gap: 10px; min-height: 0; overflow: auto; font-size: 12px; padding: 2px; }
.wb-side h3 { margin: 0 0 4px; font-size: 11px; font-weight: 600; color: var(--wb-quiet); display: flex; justify-content: space-between; align-items: center; gap: 6px; }
.wb-side h3 .wb-button { font-weight: 400; padding: 0 6px; min-height: 20px; }
.wb-search-line { display: flex; gap: 6px; align-items: center; } .wb-search-line .wb-input { flex: 1; }
.wb-legend { display: flex; flex-wrap: wrap; gap: 3px; max-height: 132px; overflow: auto; }
.wb-legend button { display: inline-flex; align-items: center; gap: 5px; max-width: 100%; }
.wb-legend button span { overflow: hidden; text-overflow: ellipsis; }
.wb-legend button i { width: 9px; height: 9px; border-radius: 50%; flex: none; background: var(--wb-mark); }
.wb-legend button[aria-pressed='false'] { opacity: 0.5; text-decoration: line-through; }
.wb-legend button[aria-pressed='true'] { border-color: var(--wb-line); color: inherit; box-shadow: none; }
.wb-picked { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 8px; align-items: start; }
.wb-picked .wb-pairs > :nth-child(even) { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.wb-thumbnail { image-rendering: pixelated; border-radius: 2px; background: #000; display: block; }
.wb-near { display: flex; flex-direction: column; gap: 1px; }
.wb-near button { display: grid; grid-template-columns: 26px minmax(0, 1fr) auto; gap: 8px; align-items: center; text-align: left; border: 0; background: none; color: inherit; font: inherit; font-size: 12px; padding: 2px 4px; border-radius: 4px; cursor: pointer; }
.wb-near button:hover { background: var(--wb-sunk); }
.wb-near button > span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-near i { width: 10px; height: 10px; border-radius: 50%; background: var(--wb-mark); margin: 4px 8px; }
.wb-bar { grid-column: 1 / 3; display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center; font-size: 12px; }
.wb-bar .wb-spacer { flex: 1; }
.wb-card { display: flex; gap: 8px; align-items: center; }
.wb-card > div { min-width: 0; } .wb-card > div > * { display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-scatter .wb-notice { margin-bottom: 2px; }
@container (max-width: 620px) {
  .wb-projector { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(180px, 1fr) auto 210px; min-height: 500px; }
  .wb-bar { grid-column: 1; grid-row: 2; }
  .wb-side { grid-row: 3; }
}
`;
