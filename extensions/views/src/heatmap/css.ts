/** Styles of the heatmap view. */
export const HEATMAP_CSS = `
.wb-heatmap > .wb-content { display: flex; flex-direction: column; gap: 10px; min-width: 0; }
.wb-heat-top { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: flex-start; justify-content: space-between; }
.wb-heat-target { font-size: 12px; } .wb-heat-target b { font-weight: 600; }
.wb-heat-scores { display: grid; grid-template-columns: max-content minmax(60px, 150px) max-content; gap: 2px 8px; align-items: center; font-size: 12px; margin: 0; }
.wb-heat-scores > span:nth-child(3n + 1) { max-width: 150px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-heat-probability { text-align: right; }
.wb-heat-scores [data-target] { font-weight: 600; }
.wb-heat-bar { display: block; height: 8px; border-radius: 2px; background: var(--wb-sunk); overflow: hidden; }
.wb-heat-bar i { display: block; height: 100%; background: var(--wb-quiet); }
.wb-heat-bar i[data-target] { background: var(--wb-accent); }
.wb-heat-pair { display: flex; flex-wrap: wrap; gap: 16px; align-items: flex-start; }
.wb-heat-pair figure { margin: 0; display: flex; flex-direction: column; gap: 4px; }
.wb-heat-pair figcaption { font-size: 11px; color: var(--wb-quiet); min-height: 20px; align-items: flex-end; display: flex; justify-content: space-between; gap: 8px; }
.wb-heat-pair canvas { display: block; border: 1px solid var(--wb-line); cursor: crosshair; touch-action: pan-y; image-rendering: pixelated; border-radius: 2px; }
.wb-heat-with-scale { display: flex; gap: 8px; }
.wb-heat-scale { display: flex; gap: 4px; font-size: 10px; color: var(--wb-quiet); }
.wb-heat-scale > i { width: 8px; border-radius: 2px; border: 1px solid var(--wb-line); }
.wb-heat-scale > span { display: flex; flex-direction: column; justify-content: space-between; line-height: 1; }
.wb-heat-controls { display: flex; flex-wrap: wrap; gap: 6px 14px; align-items: center; }
.wb-heat-controls output { min-width: 38px; text-align: right; color: var(--wb-ink); }
.wb-heat-controls .wb-range { width: 90px; }
.wb-heat-settings { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; align-items: baseline; }
.wb-heat-settings b { font-weight: 600; }
.wb-heat-verdict { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; font-size: 12px; padding: 4px 0; border-top: 1px solid var(--wb-line); }
.wb-heat-verdict[data-over] { background: var(--wb-warn-paper); color: var(--wb-warn); border-top: 0; border-left: 3px solid var(--wb-warn); padding: 4px 8px; border-radius: 3px; }
.wb-heat-verdict[data-over] .wb-figure > span { color: inherit; }
.wb-heat-stepper { display: inline-flex; align-items: center; gap: 4px; font-size: 12px; }
.wb-heat-stepper .wb-input { width: 58px; text-align: right; }
.wb-heat-strip { display: flex; gap: 8px; align-items: center; flex-wrap: wrap; justify-content: space-between; }
`;
