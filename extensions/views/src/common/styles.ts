/** The style sheet shared by all views. Chrome comes from JupyterLab's variables, with fallbacks elsewhere. */
export const COMMON_CSS = `
.wb-view, .wb-float {
  --wb-paper-0: #ffffff; --wb-paper-2: #f5f6f7; --wb-ink-0: #1c1e21; --wb-quiet-0: #5a6068; --wb-line-0: #d9dce0;
  --wb-paper: var(--jp-layout-color1, var(--wb-paper-0));
  --wb-sunk: var(--jp-layout-color2, var(--wb-paper-2));
  --wb-ink: var(--jp-ui-font-color1, var(--wb-ink-0));
  --wb-quiet: var(--jp-ui-font-color2, var(--wb-quiet-0));
  --wb-line: var(--jp-border-color2, var(--wb-line-0));
  --wb-line-strong: var(--jp-border-color1, #b9bec5);
  --wb-accent: var(--jp-brand-color1, #1976d2);
  --wb-warn: #9a4505; --wb-warn-paper: #fff4e0; --wb-wrong: #b3261e; --wb-wrong-paper: #fdecea;
  --wb-ok: #0b7a5c;
  --wb-clash: #b34f00;
  --wb-nan: #c4006b;
  --wb-font: var(--jp-ui-font-family, system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif);
  --wb-code: var(--jp-code-font-family, ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace);
  --wb-size: var(--jp-ui-font-size1, 13px);
  --wb-small: 11px;
  font: var(--wb-size)/1.4 var(--wb-font);
  color: var(--wb-ink);
  background: var(--wb-paper);
  font-variant-numeric: tabular-nums;
  box-sizing: border-box;
}
@media (prefers-color-scheme: dark) {
  body:not([data-jp-theme-light]) .wb-view, body:not([data-jp-theme-light]) .wb-float {
    --wb-paper-0: #16181b; --wb-paper-2: #202327; --wb-ink-0: #e6e8ea; --wb-quiet-0: #a3a9b1; --wb-line-0: #363b41;
    color-scheme: dark;
  }
}
.wb-view[data-theme='dark'], .wb-float[data-theme='dark'] {
  --wb-warn: #f5b041; --wb-warn-paper: #3a2a0c; --wb-wrong: #ff8a80; --wb-wrong-paper: #411a17; --wb-ok: #35c59b; --wb-nan: #ff5cab;
  --wb-clash: #ff8a3c; --wb-line-strong: var(--jp-border-color1, #565c64); --wb-accent: var(--jp-brand-color1, #64b5f6);
}
.wb-view *, .wb-float * { box-sizing: border-box; }
.wb-view { position: relative; display: flex; flex-direction: column; min-width: 0; padding: 8px 12px; gap: 8px;
  container-type: inline-size; overflow: hidden; }
.wb-finder { position: relative; display: inline-flex; align-items: center; gap: 8px; }
.wb-finder-list { position: absolute; z-index: 5; top: 100%; left: 0; margin: 2px 0 0; padding: 4px 0; width: 280px; max-height: 240px; overflow: auto; list-style: none; font-size: 12px;
  background: var(--wb-paper); border: 1px solid var(--wb-line-strong); border-radius: 4px; box-shadow: 0 4px 12px rgb(0 0 0 / 20%); }
.wb-finder-list li { padding: 2px 8px; cursor: pointer; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.wb-finder-list li:hover { background: var(--wb-sunk); }
.wb-finder-list li[aria-selected='true'] { background: color-mix(in srgb, var(--wb-accent) 18%, var(--wb-paper)); }
.wb-finder-found { font-size: 11px; color: var(--wb-quiet); min-width: 48px; }
.wb-view [hidden] { display: none !important; }
.wb-view :focus { outline: none; }
.wb-view :focus-visible, .wb-float :focus-visible { outline: 2px solid var(--wb-accent); outline-offset: 1px; border-radius: 3px; }
.wb-head { display: flex; align-items: baseline; gap: 8px; min-width: 0; flex: none; }
.wb-head-title { font-family: var(--wb-code); font-weight: 600; white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  flex: 0 1 auto; min-width: 40px; margin: 0; font-size: var(--wb-size); }
.wb-head-source { color: var(--wb-quiet); font-size: var(--wb-small); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; flex: 1 1 0; min-width: 0; text-align: left; }
button.wb-head-source { border: 0; background: none; padding: 0; font-family: inherit; cursor: pointer; text-decoration: underline dotted; }
button.wb-head-source:hover { color: var(--wb-accent); }
.wb-head-waiting { color: var(--wb-quiet); font-size: var(--wb-small); white-space: nowrap; flex: none;
  display: inline-flex; gap: 4px; align-items: baseline; }
.wb-head-waiting:empty { margin-left: -8px; }
.wb-head-status { color: var(--wb-quiet); font-size: var(--wb-small); white-space: nowrap; flex: 0 0 auto; max-width: 60%; overflow: hidden;
  text-overflow: ellipsis; display: inline-flex; gap: 4px; align-items: baseline; }
.wb-head-status > :last-child { overflow: hidden; text-overflow: ellipsis; }
.wb-head-status[data-status='live'] .wb-dot { color: var(--wb-ok); }
.wb-head-status[data-status='disconnected'] { color: var(--wb-warn); }
.wb-button { font: inherit; font-size: var(--wb-small); line-height: 1.5; color: var(--wb-ink); background: var(--wb-paper);
  border: 1px solid var(--wb-line); border-radius: 4px; padding: 2px 8px; cursor: pointer; white-space: nowrap; min-height: 24px; }
.wb-button:hover:not(:disabled) { background: var(--wb-sunk); border-color: var(--wb-line-strong); }
/* On the darker ground the colour of what is pressed would be too pale. */
.wb-button:is([aria-pressed='true'], [aria-checked='true']):hover:not(:disabled) { background: var(--wb-paper); border-color: var(--wb-accent); }
.wb-button:disabled { opacity: 0.45; cursor: default; }
.wb-button[aria-pressed='true'], .wb-button[aria-checked='true'] { border-color: var(--wb-accent); color: var(--wb-accent);
  box-shadow: inset 0 0 0 1px var(--wb-accent); }
.wb-button-plain { border-color: transparent; background: none; padding: 0 6px; }
.wb-segments { display: inline-flex; flex: none; max-width: 100%; }
.wb-segments .wb-button { min-width: 0; overflow: hidden; text-overflow: ellipsis; }
.wb-segments .wb-button { border-radius: 0; margin-left: -1px; }
.wb-segments .wb-button:first-child { border-radius: 4px 0 0 4px; margin-left: 0; }
.wb-segments .wb-button:last-child { border-radius: 0 4px 4px 0; }
.wb-segments .wb-button[aria-checked='true'] { position: relative; z-index: 1; }
.wb-field { display: inline-flex; align-items: center; gap: 6px; font-size: var(--wb-small); color: var(--wb-quiet); white-space: nowrap; }
.wb-input, .wb-select { font: inherit; font-size: var(--wb-small); color: var(--wb-ink); background: var(--wb-paper);
  border: 1px solid var(--wb-line); border-radius: 4px; padding: 2px 6px; min-height: 24px; min-width: 0; font-variant-numeric: tabular-nums; }
.wb-input:hover, .wb-select:hover { border-color: var(--wb-line-strong); }
.wb-input[aria-invalid='true'] { border-color: var(--wb-wrong); box-shadow: inset 0 0 0 1px var(--wb-wrong); }
.wb-input-number { width: 74px; text-align: right; }
.wb-range { accent-color: var(--wb-accent); min-width: 60px; height: 18px; margin: 0; cursor: pointer; }
.wb-menu-button { border: 0; background: none; color: var(--wb-quiet); cursor: pointer; font: inherit; line-height: 1; padding: 3px 6px;
  border-radius: 4px; flex: none; align-self: center; min-width: 24px; min-height: 24px; }
.wb-menu-button:hover, .wb-menu-button[aria-expanded='true'] { background: var(--wb-sunk); color: var(--wb-ink); }
.wb-float { position: fixed; z-index: 10000; border: 1px solid var(--wb-line); border-radius: 6px;
  box-shadow: 0 4px 16px rgba(0, 0, 0, 0.18); font-size: 12px; }
.wb-menu { padding: 4px; min-width: 168px; display: flex; flex-direction: column; }
.wb-menu [role='menuitem'] { font: inherit; color: inherit; text-align: left; background: none; border: 0; border-radius: 4px; padding: 4px 10px; cursor: pointer; }
.wb-menu [role='menuitem']:hover, .wb-menu [role='menuitem']:focus { background: var(--wb-sunk); }
.wb-menu [role='separator'] { border-top: 1px solid var(--wb-line); margin: 4px 6px; }
.wb-tooltip { padding: 6px 9px; pointer-events: none; max-width: 300px; overflow-wrap: anywhere; }
.wb-notice { display: flex; gap: 8px; align-items: flex-start; border-radius: 4px; padding: 6px 10px; font-size: 12px; flex: none; overflow-wrap: anywhere; }
.wb-notice > :first-child { flex: none; }
.wb-notice > :nth-child(2) { flex: 1; min-width: 0; }
.wb-notice[data-kind='wrong'] { background: var(--wb-wrong-paper); color: var(--wb-wrong); border-left: 3px solid var(--wb-wrong); }
.wb-notice[data-kind='warn'] { background: var(--wb-warn-paper); color: var(--wb-warn); border-left: 3px solid var(--wb-warn); }
.wb-notice[data-kind='done'] { background: var(--wb-sunk); color: var(--wb-ink); border-left: 3px solid var(--wb-quiet); }
.wb-empty { min-width: 0; display: flex; flex-direction: column; align-items: flex-start; justify-content: center; gap: 8px; padding: 8px 4px; color: var(--wb-quiet); flex: 1; }
.wb-empty p { margin: 0; }
.wb-code { display: flex; align-items: flex-start; gap: 8px; background: var(--wb-sunk); border-radius: 4px; padding: 6px 8px 6px 10px;
  font-family: var(--wb-code); font-size: 12px; color: var(--wb-ink); max-width: 100%; }
.wb-code-text { white-space: pre-wrap; overflow-wrap: anywhere; flex: 1; min-width: 0; padding: 2px 0; }
.wb-pairs { display: grid; grid-template-columns: fit-content(50%) minmax(0, 1fr); gap: 2px 10px; }
.wb-pairs > :nth-child(odd) { color: var(--wb-quiet); min-width: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-pairs > :nth-child(even) { overflow-wrap: anywhere; }
.wb-chip { display: inline-flex; align-items: baseline; gap: 4px; border-radius: 3px; padding: 0 6px 0 5px; font-size: 12px; line-height: 18px; white-space: nowrap;
  background: color-mix(in srgb, var(--wb-dim) 16%, transparent); border-left: 3px solid var(--wb-dim); }
.wb-chip b { font-weight: 600; }
.wb-chips { display: inline-flex; flex-wrap: wrap; gap: 4px; }
.wb-quiet { color: var(--wb-quiet); }
.wb-mono { font-family: var(--wb-code); }
.wb-figures { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; align-items: baseline; }
.wb-figure { white-space: nowrap; } .wb-figure > span { color: var(--wb-quiet); margin-right: 4px; }
.wb-loud { color: var(--wb-nan); font-weight: 600; }
.wb-readout { font-size: 12px; min-height: 17px; color: var(--wb-quiet); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-readout b { color: var(--wb-ink); font-weight: 600; }
.wb-svg { display: block; font-family: var(--wb-font); font-size: 11px; fill: var(--wb-ink); }
.wb-work { display: grid; grid-template-columns: minmax(0, 1fr) max-content; gap: 4px 12px; align-items: center; font-size: 12px; margin: -2px 0; }
.wb-work[data-idle] { visibility: hidden; }
.wb-progress { grid-column: 1 / -1; height: 4px; border-radius: 2px; background: var(--wb-sunk); overflow: hidden; }
.wb-progress > i { display: block; height: 100%; background: var(--wb-accent); }
.wb-progress[data-unknown] > i { width: 30%; opacity: 0.7; }
.wb-hidden { position: absolute !important; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@keyframes wb-sway { from { margin-left: 0; } to { margin-left: 70%; } }
@media (prefers-reduced-motion: no-preference) {
  .wb-progress[data-unknown] > i { animation: wb-sway 1.6s ease-in-out infinite alternate; }
  .wb-button, .wb-input, .wb-menu-button { transition: background-color 100ms, border-color 100ms; }
}
`;
