/** Styles of the runs view, beside those of charts. */
export const RUNS_CSS = `
.wb-runs { height: 100%; min-height: 0; container-type: inline-size; }
.wb-runs > .wb-content { display: flex; flex-direction: column; gap: 8px; min-width: 0; min-height: 0; flex: 1; }
.wb-runs-top { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; justify-content: space-between; flex: none; }
.wb-runs-pages { min-width: 0; max-width: 100%; }
.wb-runs-pages .wb-segments { flex-wrap: wrap; row-gap: 4px; }
.wb-runs-problems { flex: none; font-size: 12px; }
.wb-runs-problems summary { cursor: pointer; color: var(--wb-warn); }
.wb-runs-problems p { margin: 4px 0 0 14px; overflow-wrap: anywhere; }
.wb-runs-body { display: flex; gap: 14px; min-height: 0; min-width: 0; flex: 1; }
.wb-runs-rail { flex: 0 0 210px; min-width: 0; min-height: 0; display: flex; flex-direction: column; gap: 6px; font-size: 12px; }
.wb-runs-rail-head { display: flex; gap: 4px; }
.wb-runs-rail-head .wb-input { flex: 1; }
.wb-runs-list { display: flex; flex-direction: column; overflow: hidden auto; min-height: 0; padding: 3px; margin: -3px; }
.wb-runs-row { display: grid; grid-template-columns: 24px minmax(0, 1fr) auto; align-items: center; border-radius: 4px; flex: none; }
.wb-runs-row[data-pointed] { background: var(--wb-sunk); }
.wb-runs-box { width: 24px; height: 24px; border: 0; background: none; padding: 0; cursor: pointer; display: grid; place-items: center; }
.wb-runs-box::before { content: ''; width: 12px; height: 12px; border-radius: 3px; border: 2px solid var(--wb-run); background: var(--wb-run); box-sizing: border-box; }
.wb-runs-row[data-away] .wb-runs-box::before { background: none; opacity: 0.55; }
.wb-runs-box:disabled { cursor: default; }
.wb-runs-name { font: inherit; color: inherit; text-align: left; border: 0; background: none; padding: 3px 4px; min-height: 24px; cursor: pointer; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; border-radius: 4px; min-width: 0; max-width: 100%; }
.wb-runs-name:hover { background: var(--wb-sunk); }
.wb-runs-name[aria-pressed='true'] { font-weight: 600; box-shadow: inset 0 0 0 1px var(--wb-accent); }
.wb-runs-row[data-away] .wb-runs-name { color: var(--wb-quiet); }
.wb-runs-value { font-variant-numeric: tabular-nums; padding: 0 4px; }
.wb-runs-main { flex: 1; min-width: 0; min-height: 0; display: flex; flex-direction: column; gap: 8px; overflow: hidden auto; padding: 3px; margin: -3px; }
.wb-runs-main > .wb-charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr)); }
.wb-runs-main .wb-train-tools { flex: none; }
.wb-runs-curve-tools, .wb-runs-step { display: inline-flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; }
.wb-runs .wb-readout { white-space: normal; overflow-wrap: anywhere; min-height: 19px; flex: none; position: sticky; top: -3px; z-index: 1; background: var(--wb-paper); }
.wb-runs-group { grid-column: 1 / -1; font-size: 12px; font-weight: 600; color: var(--wb-quiet); margin: 6px 0 0; border-bottom: 1px solid var(--wb-line); overflow-wrap: anywhere; }
.wb-runs-hyper .wb-input-number { width: 92px; }
.wb-runs-pager { display: flex; gap: 8px; align-items: center; font-size: 12px; flex: none; }
.wb-runs-papers { display: grid; gap: 12px 16px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 200px), 1fr)); align-items: start; flex: none; }
.wb-runs-papers[data-wide] { grid-template-columns: repeat(auto-fill, minmax(min(100%, 320px), 1fr)); }
.wb-runs-picture, .wb-runs-text { margin: 0; min-width: 0; display: flex; flex-direction: column; gap: 4px; font-size: 12px; }
.wb-runs-picture figcaption, .wb-runs-text figcaption { display: flex; flex-wrap: wrap; gap: 0 8px; }
.wb-runs-picture figcaption .wb-chart-legend, .wb-runs-text figcaption .wb-chart-legend { margin-left: 0; }
.wb-runs-picture b, .wb-runs-text b { overflow-wrap: anywhere; flex: 1 1 100%; }
.wb-runs-picture canvas { display: block; max-width: 100%; height: auto; border: 1px solid var(--wb-line); box-sizing: border-box; }
.wb-runs-picture p { margin: 0; overflow-wrap: anywhere; }
.wb-runs-words { white-space: pre-wrap; overflow: auto; overflow-wrap: anywhere; max-height: 260px; background: var(--wb-sunk); border-radius: 4px; padding: 8px 10px; }
.wb-runs-hyper { display: flex; flex-direction: column; gap: 8px; min-width: 0; flex: none; }
.wb-runs-wide { overflow: auto hidden; min-width: 0; }
.wb-runs-parallel [data-row][data-kept='true'] { cursor: pointer; }
.wb-runs-parallel [data-row][data-kept='false'] { pointer-events: none; }
.wb-runs-axis { cursor: ns-resize; touch-action: none; user-select: none; -webkit-user-select: none; }
.wb-runs-table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; }
.wb-runs-table th, .wb-runs-table td { padding: 1px 8px; text-align: left; border-bottom: 1px solid var(--wb-line); white-space: nowrap; max-width: 240px; overflow: hidden; text-overflow: ellipsis; font-weight: 400; }
.wb-runs-table td[data-numbers] { text-align: right; }
.wb-runs-table thead .wb-button { font-weight: 600; max-width: 220px; overflow: hidden; text-overflow: ellipsis; }
.wb-runs-table thead [data-kind='metric'] .wb-button { color: var(--wb-accent); }
.wb-runs-table tbody tr { cursor: pointer; }
.wb-runs-table tbody tr:hover { background: var(--wb-sunk); }
.wb-runs-table tbody tr[data-picked] { background: var(--wb-sunk); }
.wb-runs-table .wb-runs-name i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 6px; }
@container (max-width: 620px) {
  .wb-runs-body { flex-direction: column; }
  .wb-runs-rail { flex: none; }
  .wb-runs-list { max-height: 104px; }
}
`;
