/** The style of every page; light or dark by the browser's preference. */
export const style = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f5f2, #16161a);
  --card: light-dark(#ffffff, #1f1f25);
  --line: light-dark(#e4e1da, #33333c);
  --ink: light-dark(#1d1c1a, #ecebe8);
  --soft: light-dark(#66625a, #a3a09a);
  --accent: light-dark(#8a4b08, #f0b35b);
  --accent-ground: light-dark(#fbeedb, #3a2c17);
  --danger: light-dark(#a3261b, #ff9d92);
  font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: .5rem; background: var(--card); padding: .25rem .75rem; z-index: 1; }
.bar { background: var(--card); border-bottom: 1px solid var(--line); }
.bar > div, main { max-width: 68rem; margin: 0 auto; padding: .75rem 1.25rem; }
.bar > div { display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; align-items: center; }
.brand { display: flex; gap: .55rem; align-items: center; font-weight: 650; font-size: 1.05rem; color: inherit; text-decoration: none; }
.brand svg { width: 1.5rem; height: 1.5rem; color: var(--accent); }
.search { display: flex; flex: 1 1 20rem; min-width: 0; gap: .5rem; }
.search input { flex: 1; min-width: 8rem; }
input, select, button, .button {
  font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 8px;
  padding: .35rem .7rem; text-decoration: none; display: inline-block;
}
button, .button { cursor: pointer; background: var(--card); }
button:hover, .button:hover { border-color: var(--accent); }
.danger { color: var(--danger); }
details.clear { position: relative; }
details.clear summary { list-style: none; cursor: pointer; color: var(--soft); padding: .35rem .2rem; }
details.clear summary::-webkit-details-marker { display: none; }
details.clear form {
  position: absolute; right: 0; top: 2.4rem; z-index: 1; width: 16rem; padding: 1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; box-shadow: 0 8px 30px rgb(0 0 0 / .18);
}
details.clear p { margin: 0 0 .75rem; }
main { padding-top: 1.25rem; padding-bottom: 3rem; }
.count { color: var(--soft); margin: 0 0 .75rem; }
.list, .facts, .panel, .empty { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.list { list-style: none; margin: 0; padding: 0; overflow: hidden; }
.list li + li { border-top: 1px solid var(--line); }
.list a {
  display: grid; grid-template-columns: 4.2rem minmax(8rem, 15rem) 1fr auto auto; gap: .25rem 1rem; align-items: center;
  padding: .65rem 1rem; color: inherit; text-decoration: none;
}
.list a:hover { background: var(--accent-ground); }
.list span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.list .what { font-weight: 600; }
.list .body { font-weight: 400; }
.kind { justify-self: start; font-size: .75rem; letter-spacing: .03em; padding: 0 .5rem; border-radius: 99px; border: 1px solid var(--line); color: var(--soft); }
.kind.sms { background: var(--accent-ground); color: var(--accent); border-color: transparent; }
time, .size { color: var(--soft); font-variant-numeric: tabular-nums; white-space: nowrap; }
.pages { display: flex; gap: 1rem; align-items: center; justify-content: center; margin-top: 1rem; color: var(--soft); }
.empty { padding: 2.5rem; text-align: center; color: var(--soft); }
.empty h2 { color: var(--ink); margin: 0 0 .5rem; font-size: 1.15rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .35rem 0 1rem; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; padding: .9rem 1.1rem; margin: 0 0 1rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.tabs { display: flex; flex-wrap: wrap; gap: .25rem; margin-bottom: .6rem; align-items: center; }
.tabs a { padding: .3rem .8rem; border-radius: 99px; color: var(--soft); text-decoration: none; }
.tabs a:hover { color: var(--ink); }
.tabs a[aria-current] { background: var(--accent-ground); color: var(--accent); font-weight: 600; }
.tabs .end { margin-left: auto; }
.panel { overflow: hidden; }
.panel pre { margin: 0; padding: 1rem 1.1rem; overflow-x: auto; font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
iframe { display: block; width: 100%; height: 65vh; min-height: 24rem; border: 0; background: #fff; color-scheme: light; }
.phone iframe { width: 390px; max-width: 100%; margin: 0 auto; border-inline: 1px solid var(--line); }
.note { color: var(--soft); font-size: .87rem; margin: .5rem 0 0; }
.bubble { max-width: 26rem; margin: 1.25rem; padding: .8rem 1.1rem; border-radius: 18px 18px 18px 5px; background: var(--accent-ground); white-space: pre-wrap; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .4rem 1.1rem; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
tr:first-child > * { border-top: 0; }
th { font-weight: 600; width: 14rem; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
.alone { max-width: 32rem; margin: 12vh auto; padding: 2rem; }
.alone form { display: flex; gap: .5rem; margin-top: 1rem; }
.alone input { flex: 1; min-width: 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 46rem) {
  .list a { grid-template-columns: auto 1fr auto auto; }
  .list .what { grid-column: 1 / -1; grid-row: 2; }
  .facts { grid-template-columns: 1fr; }
  .facts dd { margin-bottom: .4rem; }
  th { width: auto; }
  .search input { min-width: 5rem; }
  details.clear form { right: auto; left: 0; }
}
`;
