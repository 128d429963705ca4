/** Styles of the histogram view. */
export const HISTOGRAM_CSS = `
.wb-histogram { height: 100%; min-height: 0; }
.wb-histogram > .wb-content { display: flex; flex: 1 1 auto; min-height: 0; }
.wb-observers { display: grid; grid-template-columns: clamp(290px, 24cqw, 420px) minmax(0, 1fr); grid-template-rows: minmax(0, 1fr); gap: 16px; flex: 1; min-height: 0; min-width: 0; }
/* As tall as the detail that the first batch puts here, where there is room: in a cell nothing below moves then. */
.wb-observers > .wb-empty { box-sizing: border-box; height: 640px; max-height: 100%; justify-content: flex-start; }
.wb-observers[data-single] { grid-template-columns: minmax(0, 1fr); }
.wb-list { display: flex; flex-direction: column; gap: 6px; min-height: 0; max-height: max(100%, 300px); border-right: 1px solid var(--wb-line); padding-right: 12px; }
.wb-list-tools { display: flex; gap: 6px; align-items: center; flex: none; }
.wb-list-tools .wb-input { flex: 1; width: 60px; }
/* Its rows change places with the spaces around them: a browser that keeps a row where it was scrolls far away. */
.wb-list-rows { overflow: auto; overflow-anchor: none; flex: 1 1 0; min-height: 96px; display: flex; flex-direction: column; }
.wb-list-row { display: grid; grid-template-columns: minmax(0, 1fr) 46px 58px 26px; gap: 6px; align-items: center; box-sizing: border-box; height: 26px; margin-bottom: 1px; padding: 3px 6px; border-radius: 4px; cursor: pointer; font-size: 12px; flex: none; }
.wb-list-heads { display: grid; grid-template-columns: minmax(0, 1fr) 46px 58px 26px; gap: 6px; padding: 0 6px; font-size: 11px; flex: none; }
.wb-list-heads span:nth-child(n + 3) { text-align: right; }
.wb-list-cost { justify-self: end; width: 8px; display: flex; align-items: flex-end; height: 16px; background: var(--wb-sunk); border-radius: 2px; overflow: hidden; }
.wb-list-cost i { width: 100%; background: #d55e00; }
[data-theme='dark'] .wb-list-cost i { background: #f0a04b; }
.wb-list-row:hover { background: var(--wb-sunk); }
.wb-list-row[aria-selected='true'] { background: color-mix(in srgb, var(--wb-accent) 14%, transparent); box-shadow: inset 3px 0 0 var(--wb-accent); }
.wb-list-name { font-family: var(--wb-code); white-space: nowrap; display: flex; min-width: 0; }
.wb-list-name > * { flex: none; white-space: pre; }
/* Cut at its beginning, which it has in common with its neighbours. */
.wb-list-name > .wb-list-path { flex: 0 1 auto; min-width: 0; overflow: hidden; text-overflow: ellipsis; direction: rtl; text-align: left; }
.wb-list-row svg { display: block; fill: var(--wb-quiet); }
.wb-list-sqnr { text-align: right; white-space: nowrap; position: relative; }
.wb-list-sqnr i { position: absolute; right: 0; bottom: -2px; height: 2px; border-radius: 1px; background: var(--wb-quiet); opacity: 0.6; }
.wb-list-model { border-top: 1px solid var(--wb-line); padding-top: 6px; flex: none; }
.wb-detail { display: flex; flex-direction: column; gap: 8px; min-width: 0; overflow: auto; padding: 1px 2px; }
.wb-detail-title { display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
.wb-detail-title b { font-family: var(--wb-code); }
.wb-candidates { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
.wb-candidate i { display: inline-block; width: 8px; height: 8px; margin-right: 5px; border-radius: 2px; background: var(--wb-mark); }
.wb-candidate small { color: var(--wb-quiet); font-size: inherit; margin-left: 5px; }
/* Bold without another width: which is the best changes while data flow, and the row must not break anew. */
.wb-candidate[data-best] { -webkit-text-stroke: 0.4px currentcolor; }
.wb-candidate.wb-kept { visibility: hidden; }
.wb-detail figure { margin: 0; display: flex; flex-direction: column; gap: 2px; min-width: 0; }
.wb-detail figcaption { font-size: 11px; color: var(--wb-quiet); display: flex; gap: 0 8px; align-items: center; justify-content: space-between; flex-wrap: wrap; }
.wb-detail svg { overflow: visible; touch-action: pan-y; }
.wb-handle { cursor: ew-resize; touch-action: none; outline: none; }
.wb-handle:focus-visible .wb-grip { stroke: var(--wb-ink); stroke-width: 2.5; }
.wb-handle:focus-visible { outline: none; }
.wb-pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px; }
.wb-pair[data-single] { grid-template-columns: minmax(0, 1fr); }
.wb-controls { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; }
.wb-together { margin-left: auto; display: inline-flex; flex-wrap: wrap; gap: 6px; align-items: center; }
.wb-controls .wb-input-number { width: 82px; }
.wb-menus { display: flex; flex-wrap: wrap; gap: 6px 10px; align-items: center; }
.wb-compare { display: inline-flex; gap: 2px; align-items: center; }
.wb-compare .wb-button[aria-pressed='true'], .wb-compare .wb-button[aria-pressed='true']:hover:not(:disabled) { background: var(--wb-accent); border-color: var(--wb-accent); color: var(--wb-on-accent, #fff); font-weight: 600; }
.wb-compare-table { overflow-x: auto; }
.wb-compare-table[hidden] { display: none; }
.wb-compare-table table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; margin: 0; width: 100%; }
.wb-compare-table th, .wb-compare-table td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid var(--wb-line); font-weight: 400; }
.wb-compare-table thead th { color: var(--wb-quiet); font-size: 11px; }
.wb-compare-table tbody th { font-family: var(--wb-code); }
.wb-compare-table .wb-compare-change { text-align: right; white-space: nowrap; font-weight: 600; padding-right: 0; }
.wb-compare-table thead th:last-child { text-align: right; padding-right: 0; }
.wb-values { display: flex; flex-wrap: wrap; gap: 2px 12px; font-size: 11px; align-items: center; }
.wb-values[hidden] { display: none; }
.wb-values i { display: inline-block; width: 16px; height: 0; border-top: 2px solid var(--wb-mark); margin-right: 5px; vertical-align: middle; }
.wb-values i[data-dashed] { border-top-style: dashed; }
.wb-detail .wb-figures b { font-weight: 600; }
.wb-news { display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between; min-height: 17px; }
.wb-change { font-size: 12px; color: var(--wb-ink); font-style: italic; }
.wb-worse { color: var(--wb-warn); }
@container (max-width: 620px) {
  .wb-observers { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto minmax(0, 1fr); gap: 8px; }
  .wb-list { border-right: 0; padding-right: 0; border-bottom: 1px solid var(--wb-line); padding-bottom: 8px; }
  .wb-together { margin-left: 0; }
  .wb-observers > .wb-empty { height: auto; min-height: 0; }
  .wb-list-rows { max-height: 132px; flex: 1 1 auto; min-height: 52px; }
  .wb-pair { grid-template-columns: minmax(0, 1fr); gap: 8px; }
}
`;
