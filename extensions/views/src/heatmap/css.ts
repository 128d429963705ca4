/** Styles of the heatmap view. */
export const HEATMAP_CSS = `
.wb-heatmap > .wb-content { min-width: 0; }
.wb-heat-page { display: flex; flex-direction: column; gap: 10px; min-width: 0; }
.wb-heat-top { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: flex-start; justify-content: space-between; }
.wb-heat-target { font-size: 12px; } .wb-heat-target b { font-weight: 600; }
.wb-heat-target [data-wrong] { color: var(--wb-wrong); }
.wb-heat-mark { font-weight: 600; }
.wb-heat-scores { display: flex; flex-direction: column; font-size: 12px; margin: 0; min-width: 0; max-width: 100%; }
.wb-heat-score { display: grid; grid-template-columns: minmax(24px, 120px) minmax(60px, 150px) 58px; gap: 8px; align-items: center; text-align: left; padding: 2px 4px;
  font: inherit; color: inherit; background: none; border: 0; border-radius: 3px; min-height: 24px; min-width: 0; }
div.wb-heat-score { min-height: 20px; }
button.wb-heat-score { cursor: pointer; }
button.wb-heat-score:hover { background: var(--wb-sunk); }
.wb-heat-score > :first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-heat-probability { text-align: right; white-space: nowrap; }
.wb-heat-score[data-target] { font-weight: 600; }
.wb-heat-bar { display: block; height: 8px; border-radius: 2px; background: var(--wb-sunk); overflow: hidden; }
.wb-heat-bar i { display: block; height: 100%; background: var(--wb-quiet); }
.wb-heat-bar i[data-target] { background: var(--wb-accent); }
.wb-heat-parts { display: flex; flex-direction: column; gap: 12px; min-width: 0; }
.wb-heat-part-name { font-size: 12px; font-weight: 600; margin: 0; }
.wb-heat-pair > .wb-heat-part-name { flex: 1 0 100%; contain: inline-size; }
.wb-heat-page[data-waits] .wb-heat-scale { visibility: hidden; }
.wb-heat-texts, .wb-heat-lines { display: flex; flex-direction: column; gap: 10px; min-width: 0; }
:is(.wb-heat-texts, .wb-heat-lines) figure { margin: 0; display: flex; flex-direction: column; gap: 4px; min-width: 0; }
:is(.wb-heat-texts, .wb-heat-lines) figcaption { font-size: 11px; color: var(--wb-quiet); display: flex; justify-content: space-between; gap: 8px; }
.wb-heat-lines canvas { display: block; border: 1px solid var(--wb-line); cursor: crosshair; border-radius: 2px; }
.wb-heat-text { font-size: 15px; line-height: 1.9; cursor: default; overflow-wrap: anywhere; max-width: 72ch; max-height: 440px; overflow-y: auto; padding: 3px; }
.wb-heat-token { display: inline-block; padding: 0 4px; margin: 1px; border-radius: 3px; line-height: 1.6; min-width: 8px; }
.wb-heat-token[data-cursor] { outline: 2px solid var(--wb-ink); }
.wb-heat-pair { display: flex; flex-wrap: wrap; gap: 16px; align-items: flex-start; }
.wb-heat-pair figure { margin: 0; display: flex; flex-direction: column; gap: 4px; }
.wb-heat-pair figcaption { font-size: 11px; color: var(--wb-quiet); min-height: 20px; align-items: flex-end; display: flex; justify-content: space-between; gap: 8px; }
.wb-heat-pair canvas { display: block; border: 1px solid var(--wb-line); cursor: crosshair; touch-action: pan-y; image-rendering: pixelated; border-radius: 2px; }
.wb-heat-with-scale { display: flex; gap: 8px; min-height: 64px; }
.wb-heat-with-scale > .wb-heat-parts { flex: 0 1 auto; }
.wb-heat-scale { max-height: 330px; display: flex; gap: 4px; font-size: 10px; color: var(--wb-quiet); }
.wb-heat-scale > i { width: 8px; border-radius: 2px; border: 1px solid var(--wb-line); }
.wb-heat-scale > span { display: flex; flex-direction: column; justify-content: space-between; line-height: 1; }
.wb-heat-controls { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; }
.wb-heat-controls output { min-width: 38px; text-align: right; color: var(--wb-ink); }
.wb-heat-controls .wb-range { width: 90px; }
.wb-heat-asks { display: flex; flex-direction: column; gap: 6px; font-size: 12px; }
.wb-heat-ask { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; }
.wb-heat-ask .wb-field { min-width: 0; max-width: 100%; }
.wb-heat-ask .wb-select { max-width: 220px; text-overflow: ellipsis; }
.wb-heat-made { color: var(--wb-quiet); overflow-wrap: anywhere; }
.wb-heat-number { width: 84px; text-align: right; }
.wb-heat-page[data-alone] > .wb-work { display: none; }
.wb-heat-verdict { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; font-size: 12px; padding: 4px 0; border-top: 1px solid var(--wb-line); }
.wb-heat-verdict[data-over] { background: var(--wb-warn-paper); color: var(--wb-warn); border-top: 0; border-left: 3px solid var(--wb-warn); padding: 4px 8px; border-radius: 3px; }
.wb-heat-verdict[data-over] .wb-figure > span { color: inherit; }
.wb-heat-stepper { display: inline-flex; align-items: center; gap: 4px; font-size: 12px; }
.wb-heat-stepper .wb-input { width: 58px; text-align: right; }
.wb-heat-strip { display: flex; flex-direction: column; gap: 6px; border-top: 1px solid var(--wb-line); padding-top: 8px; }
.wb-heat-stepper { flex-wrap: wrap; }
.wb-heat-samples { display: flex; flex-wrap: wrap; gap: 4px; max-height: 132px; overflow: auto; padding: 2px; }
.wb-heat-sample { position: relative; padding: 1px; border: 2px solid transparent; border-radius: 4px; background: none; cursor: pointer; line-height: 0; min-width: 28px; min-height: 28px; display: flex; align-items: center; justify-content: center; font: inherit; color: inherit; }
.wb-heat-sample > span:first-child { line-height: 24px; font-size: 11px; padding: 0 3px; }
.wb-heat-sample canvas { width: 32px; height: auto; image-rendering: pixelated; border-radius: 2px; }
.wb-heat-sample:hover { background: var(--wb-sunk); }
.wb-heat-sample[aria-pressed='true'] { border-color: var(--wb-accent); }
.wb-heat-sample[data-averaged] { border: 2px dashed var(--wb-accent); }
.wb-heat-sample[data-wrong] { background: var(--wb-wrong-paper); }
.wb-heat-cross { position: absolute; top: -3px; right: -3px; font-size: 9px; line-height: 12px; width: 12px; height: 12px; border-radius: 6px; text-align: center; background: var(--wb-wrong); color: var(--wb-paper); }
.wb-board-top { display: flex; justify-content: space-between; gap: 8px 16px; align-items: center; flex-wrap: wrap; }
.wb-board-words { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; }
.wb-board-words > :last-child { color: var(--wb-quiet); }
.wb-board-scroll { overflow-x: auto; min-width: 0; container-type: inline-size; }
table.wb-board { border-collapse: collapse; font-size: 12px; width: 100%; margin: 0; border: 0; table-layout: auto; }
table.wb-board :is(th, td) { padding: 4px 8px; border: 0; border-bottom: 1px solid var(--wb-line); text-align: right; vertical-align: middle; font-weight: normal; background: none; white-space: nowrap; max-width: none; }
table.wb-board thead th { color: var(--wb-quiet); font-size: 11px; }
table.wb-board :is(thead th:first-child, tbody th, td:nth-child(2), thead th:nth-child(2)) { text-align: left; }
table.wb-board :is(thead th:first-child, tbody th) { position: sticky; left: 0; z-index: 1; background: var(--wb-paper); }
table.wb-board tbody tr:hover { background: var(--wb-sunk); }
table.wb-board tbody tr { background: none; }
.wb-board canvas { display: block; border-radius: 2px; cursor: pointer; border: 1px solid var(--wb-line); }
.wb-board-name { font-size: 12px; font-weight: 600; padding: 0 2px; }
.wb-board-made { font-size: 11px; color: var(--wb-quiet); padding-left: 2px; max-width: 220px; white-space: normal; overflow-wrap: anywhere; }
.wb-board-standing { font-size: 11px; color: var(--wb-quiet); padding-left: 2px; }
.wb-board-standing[data-standing='refused'] { color: var(--wb-wrong); }
.wb-board-standing[data-standing='running'] { color: var(--wb-accent); }
table.wb-board td.wb-board-trouble { text-align: left; white-space: normal; overflow-wrap: anywhere; color: var(--wb-wrong); }
.wb-board-trouble > div { max-width: max(140px, calc(100cqi - 200px)); }
.wb-board-figure[data-best] { font-weight: 600; }
.wb-board-star { color: var(--wb-ok); } .wb-board-warn { color: var(--wb-warn); }
.wb-board-note { margin: 0; font-size: 11px; }
`;
