/** Styles of the view of differences. */
export const DIFF_CSS = `
.wb-diff { --wb-d-added: #0072b2; --wb-d-removed: #d55e00; --wb-d-changed: #a24b86; --wb-d-moved: #00795a; }
.wb-diff[data-theme='dark'] { --wb-d-added: #4aa3df; --wb-d-removed: #f07f3c; --wb-d-changed: #d48abd; --wb-d-moved: #26bf93; }
.wb-diff [data-status='added'] { --wb-d: var(--wb-d-added); }
.wb-diff [data-status='removed'] { --wb-d: var(--wb-d-removed); }
.wb-diff [data-status='changed'] { --wb-d: var(--wb-d-changed); }
.wb-diff [data-status='moved'] { --wb-d: var(--wb-d-moved); }
.wb-diff .wb-content { display: flex; flex-direction: column; gap: 8px; min-height: 0; flex: 1; }
.wb-d-bar { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; flex: none; }
.wb-d-counts { display: flex; flex-wrap: wrap; gap: 6px 8px; align-items: center; flex: 1 1 auto; min-width: 0; }
.wb-d-tools { display: inline-flex; flex-wrap: wrap; gap: 6px; min-width: 0; max-width: 100%; }
.wb-d-count { display: inline-flex; align-items: baseline; gap: 6px; font-size: 12px; }
.wb-d-count[data-status] { border-left: 3px solid var(--wb-d, var(--wb-line-strong)); }
.wb-d-count b { font-weight: 600; }
.wb-d-sign { font-family: var(--wb-code); font-weight: 700; display: inline-block; width: 14px; text-align: center; flex: none; }
.wb-d-notes { margin: 0; padding: 0; list-style: none; font-size: 12px; color: var(--wb-quiet); flex: none; max-height: 152px; overflow: auto; line-height: 19px; }
.wb-d-notes li { overflow-wrap: anywhere; }
.wb-d-body { display: flex; gap: 12px; min-height: 0; flex: 1 1 auto; }
.wb-d-side { width: 220px; flex: none; display: flex; flex-direction: column; gap: 4px; min-height: 0; }
.wb-d-main { flex: 1; min-width: 0; display: flex; flex-direction: column; min-height: 0; }
.wb-d-title { font-size: var(--wb-small); color: var(--wb-quiet); flex: none; min-height: 20px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-d-heads { display: grid; grid-template-columns: minmax(0, 1fr) 22px minmax(0, 1fr); flex: none; border-bottom: 1px solid var(--wb-line); }
.wb-d-heads[data-mode='joined'] { grid-template-columns: minmax(0, 1fr); }
.wb-d-scroll { position: relative; overflow: auto; min-height: 60px; max-height: 520px; flex: 1 1 auto; overscroll-behavior: contain; }
.wb-d-space { position: relative; width: 100%; }
.wb-d-item { position: absolute; left: 0; right: 0; font-size: 12px; cursor: pointer; border-radius: 3px; }
.wb-d-item[aria-selected='true'] { box-shadow: inset 0 0 0 1.5px var(--wb-accent); }
.wb-d-line { display: grid; grid-template-columns: minmax(0, 1fr) 22px minmax(0, 1fr); height: 26px; }
.wb-d-line[data-mode='joined'] { grid-template-columns: minmax(0, 1fr); }
/* What has no room beside what is called stands on a line that is not seen: a word or a type that is cut reads as another. */
.wb-d-cell { display: flex; flex-wrap: wrap; align-items: center; gap: 0 8px; padding: 0 8px 0 4px; min-width: 0; height: 26px; overflow: hidden; border-left: 3px solid transparent; }
.wb-d-cell[data-status] { border-left-color: var(--wb-d); background: color-mix(in srgb, var(--wb-d) 13%, transparent); }
.wb-d-cell.wb-d-none { background: repeating-linear-gradient(135deg, transparent 0 5px, color-mix(in srgb, var(--wb-line) 55%, transparent) 5px 6px); }
.wb-d-op { font-family: var(--wb-code); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; min-width: 0; max-width: calc(100% - 22px); line-height: 26px; }
.wb-d-cell[data-status] .wb-d-op { font-weight: 600; }
.wb-d-place { color: var(--wb-quiet); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; flex: 1 2 0; min-width: 0; font-size: var(--wb-small); line-height: 26px; }
.wb-d-item[data-kind='row']:hover .wb-d-place { color: var(--wb-ink); }
.wb-d-type { display: inline-flex; gap: 3px; align-items: center; flex: none; max-width: 75%; height: 26px; overflow: hidden; white-space: nowrap; }
.wb-d-type .wb-chip { font-size: var(--wb-small); line-height: 16px; padding: 0 4px; }
.wb-d-type code { font-family: var(--wb-code); font-size: var(--wb-small); color: var(--wb-quiet); }
.wb-d-join { position: relative; }
.wb-d-join::before { content: ''; position: absolute; left: 0; right: 0; top: 50%; border-top: 1px solid var(--wb-line); }
.wb-d-join[data-join='changed']::before { border-top: 2px solid var(--wb-d-changed); }
.wb-d-join[data-join='moved']::before { border-top: 2px dashed var(--wb-d-moved); }
.wb-d-join[data-join='replaced']::before { border-top: 1px dashed var(--wb-line-strong); }
.wb-d-join[data-join='none']::before { display: none; }
.wb-d-what { padding: 0 8px 0 26px; height: 17px; line-height: 17px; font-size: var(--wb-small); white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; border-left: 3px solid var(--wb-d); background: color-mix(in srgb, var(--wb-d) 6%, transparent); }
.wb-d-fold { display: flex; align-items: center; gap: 8px; height: 26px; padding: 0 8px 0 4px; color: var(--wb-quiet); background: var(--wb-sunk); border-radius: 3px; }
.wb-d-fold span { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-d-entry { display: flex; align-items: center; gap: 4px; height: 24px; border-left: 3px solid var(--wb-d, var(--wb-line-strong)); padding: 0 6px 0 2px; }
.wb-d-entry[data-status='replaced'] { border-left-color: var(--wb-d-added); box-shadow: inset 3px 0 0 var(--wb-d-removed); }
.wb-d-entry span:not(.wb-d-sign) { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.wb-d-entry .wb-d-op { flex: 0 1 auto; }
.wb-d-same { padding: 16px 8px; color: var(--wb-quiet); }
.wb-d-same b { color: var(--wb-ink); }
@container (max-width: 640px) {
  .wb-d-side { display: none; }
}
@container (max-width: 460px) {
  .wb-d-type { display: none; }
}
`;
