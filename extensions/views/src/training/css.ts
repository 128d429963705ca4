/** Styles of the training view. */
export const TRAINING_CSS = `
.wb-training { height: 100%; min-height: 0; }
.wb-training > .wb-content { display: flex; flex-direction: column; gap: 8px; min-width: 0; min-height: 0; flex: 1; }
.wb-train-top { display: flex; flex-direction: column; gap: 6px; flex: none; }
.wb-train-line { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: center; min-height: 26px; }
.wb-train-state { display: inline-flex; gap: 6px; align-items: center; font-weight: 600; border-radius: 10px; padding: 1px 10px 1px 8px;
  background: var(--wb-sunk); white-space: nowrap; }
.wb-train-state > :first-child { font-size: 10px; }
.wb-train-state[data-state='running'] { color: var(--wb-ok); }
.wb-train-state[data-state='paused'], .wb-train-state[data-state='stopped'] { color: var(--wb-warn); }
.wb-train-state[data-state='failed'] { color: var(--wb-wrong); }
.wb-train-place { font-size: 12px; display: inline-flex; flex-wrap: wrap; gap: 0 6px; flex: 1 1 auto; }
.wb-train-place > :not(:last-child)::after { content: '·'; margin-left: 6px; color: var(--wb-quiet); }
.wb-train-buttons { display: inline-flex; gap: 6px; margin-left: auto; }
.wb-train-buttons .wb-button { min-width: 76px; }
.wb-train-buttons .wb-button[aria-busy] { opacity: 0.6; }
.wb-train-bar { height: 4px; border-radius: 2px; background: var(--wb-sunk); overflow: hidden; }
.wb-train-bar > i { display: block; height: 100%; background: var(--wb-accent); }
.wb-train-bar[data-state='paused'] > i, .wb-train-bar[data-state='stopped'] > i { background: var(--wb-warn); }
.wb-train-bar[data-state='failed'] > i { background: var(--wb-wrong); }
.wb-train-bar[data-state='finished'] > i { background: var(--wb-ok); }
.wb-train-end { display: flex; flex-direction: column; gap: 6px; font-size: 12px; flex: none; }
.wb-train-end p { margin: 0; }
.wb-train-end .wb-notice span { white-space: pre-wrap; }
.wb-train-end .wb-notice > div { flex: 1; min-width: 0; display: flex; flex-direction: column; gap: 2px; }
.wb-train-scroll { display: flex; flex-direction: column; gap: 10px; min-height: 0; flex: 1 1 auto; overflow: hidden auto;
  padding: 3px; margin: -3px; }
.wb-train-tools { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; flex: none; }
.wb-train-tools .wb-range { width: 90px; }
.wb-train-tools .wb-input-number { width: 58px; }
.wb-train-steps .wb-input-number { width: 62px; appearance: textfield; }
.wb-train-steps .wb-input-number::-webkit-inner-spin-button { appearance: none; margin: 0; }
.wb-train-keys { font-size: var(--wb-small); color: var(--wb-quiet); display: inline-flex; flex-wrap: wrap; gap: 0 12px; }
.wb-train-keys i { font-style: normal; }
.wb-train-keys [data-key='spike'] i { color: var(--wb-spike); }
.wb-train-keys [data-key='missing'] i { color: var(--wb-nan); }
.wb-train-runs { display: inline-flex; flex-wrap: wrap; gap: 4px 6px; align-items: center; font-size: var(--wb-small); color: var(--wb-quiet);
  flex: 1 1 100%; min-width: 0; }
.wb-train-runs .wb-button { display: inline-flex; gap: 6px; align-items: center; max-width: 240px; box-shadow: none; border-color: var(--wb-line); color: var(--wb-ink); }
.wb-train-runs .wb-button span { overflow: hidden; text-overflow: ellipsis; }
.wb-train-runs .wb-button i { width: 10px; height: 10px; border-radius: 2px; flex: none; }
.wb-train-runs .wb-button:disabled { opacity: 1; }
.wb-train-runs .wb-button[aria-pressed='false'] { color: var(--wb-quiet); text-decoration: line-through; }
.wb-train-runs .wb-button[aria-pressed='false'] i { opacity: 0.25; }
.wb-training .wb-readout { white-space: normal; overflow-wrap: anywhere; height: 19px; flex: none; position: sticky; top: 0; z-index: 1;
  background: var(--wb-paper); }
@container (max-width: 760px) { .wb-training .wb-readout { height: 36px; } }
@container (max-width: 620px) { .wb-train-place { order: 3; flex-basis: 100%; } }
@container (max-width: 340px) { .wb-training .wb-readout { height: 53px; } }
.wb-charts { display: grid; gap: 6px 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr)); flex: none; }
.wb-charts[data-size='small'] { grid-template-columns: repeat(auto-fit, minmax(min(100%, 204px), 1fr)); }
.wb-chart { margin: 0; min-width: 0; display: flex; flex-direction: column; }
.wb-chart figcaption { display: flex; flex-wrap: wrap; gap: 0 14px; align-items: baseline; font-size: 12px; padding: 0 10px 2px 0; }
.wb-chart figcaption b { font-weight: 600; overflow-wrap: anywhere; }
.wb-chart-legend { display: inline-flex; flex-wrap: wrap; gap: 0 12px; margin-left: auto; color: var(--wb-quiet); }
.wb-chart-legend i { display: inline-block; width: 12px; height: 3px; border-radius: 2px; vertical-align: middle; margin-right: 5px; background: currentcolor; }
.wb-chart-legend i[data-part='validation'] { width: 7px; height: 7px; border-radius: 50%; }
.wb-chart-brush { fill: var(--wb-accent); fill-opacity: 0.14; stroke: var(--wb-accent); stroke-opacity: 0.6; }
.wb-chart-run { display: inline-flex; flex-wrap: wrap; gap: 0 6px; }
.wb-chart-run > span { overflow-wrap: anywhere; }
.wb-chart-value { color: var(--wb-ink); font-weight: 600; }
.wb-chart svg { touch-action: pan-y; cursor: crosshair; max-width: 100%; user-select: none; -webkit-user-select: none; }
.wb-train-layers { display: flex; flex-direction: column; gap: 6px; flex: none; min-width: 0; }
.wb-train-layers > div:first-child { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; font-size: 12px; }
.wb-train-layers b { font-weight: 600; }
.wb-strip { display: flex; flex-direction: column; gap: 4px; min-width: 0; }
.wb-strip canvas { display: block; cursor: crosshair; touch-action: pan-y; }
.wb-strip-foot { display: flex; flex-wrap: wrap; gap: 2px 16px; justify-content: space-between; font-size: var(--wb-small); padding-right: 10px; }
.wb-strip-scale { display: inline-flex; gap: 6px; align-items: center; color: var(--wb-quiet); margin-left: auto; }
.wb-strip-scale > i { width: 110px; height: 8px; border-radius: 2px; border: 1px solid var(--wb-line); }
.wb-strip > code { font-family: var(--wb-code); font-size: var(--wb-small); overflow-wrap: anywhere; background: none; padding: 0; }
@media (prefers-reduced-motion: no-preference) {
  .wb-train-bar > i { transition: width 150ms linear; }
}
`;
