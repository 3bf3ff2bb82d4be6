/** The path of the style sheet. */
export const STYLE_PATH = '/oauth/pages.css';

/**
 * The style sheet of all pages. Text has a contrast of at least 7:1 in both themes, and the edges of fields and buttons
 * at least 3:1 (WCAG 2.2, 1.4.6 and 1.4.11).
 */
export const STYLE = `:root {
  color-scheme: light dark;
  --page: #f4f5f7;
  --card: #ffffff;
  --text: #1b1f24;
  --quiet: #474e58;
  --edge: #6b7280;
  --line: #d5d9df;
  --action: #1a478f;
  --on-action: #ffffff;
  --error: #8f1616;
  --caution: #fff6dd;
  --caution-edge: #8a6100;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b;
    --card: #1d2127;
    --text: #f0f2f5;
    --quiet: #c3c9d2;
    --edge: #8b94a1;
    --line: #3a414b;
    --action: #b5d0ff;
    --on-action: #0d1a30;
    --error: #ffb8b3;
    --caution: #332b12;
    --caution-edge: #d8a93a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 1.0625rem/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 6vh auto; padding: 2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: 0.5rem; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 1rem; }
strong, dd, label { overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1.0625rem; }
.quiet { color: var(--quiet); }
.service { margin: 0 0 0.5rem; color: var(--quiet); font-weight: bold; }
.mark { display: inline-block; padding: 0 0.5rem; border: 1px solid var(--caution-edge); border-radius: 0.25rem;
  background: var(--caution); font-size: 0.9375rem; }
.error { padding: 0.75rem 1rem; border: 2px solid var(--error); border-radius: 0.25rem; color: var(--error);
  font-weight: bold; }
.caution { padding: 1rem; border: 2px solid var(--caution-edge); border-radius: 0.25rem; background: var(--caution); }
dl { margin: 0 0 1.5rem; }
dt { color: var(--quiet); font-size: 0.9375rem; }
dd { margin: 0 0 0.75rem; }
fieldset { margin: 0 0 1.5rem; padding: 0; border: 0; min-width: 0; }
fieldset.caution { padding: 0.5rem 1rem; border: 2px solid var(--caution-edge); }
legend { padding: 0; font-weight: bold; }
fieldset fieldset { margin: 0.75rem 0 0; }
fieldset fieldset legend { color: var(--quiet); font-weight: normal; }
ul { margin: 0.5rem 0 0.75rem; padding-left: 1.25rem; }
li { margin: 0 0 0.25rem; }
label { display: block; font-weight: bold; }
.choice { display: flex; gap: 0.75rem; align-items: flex-start; padding: 0.5rem 0; font-weight: normal; }
.choice input { flex: none; width: 1.5rem; height: 1.5rem; margin: 0; accent-color: var(--action); }
.hint { display: block; color: var(--quiet); font-size: 0.9375rem; font-weight: normal; }
.field { margin: 0 0 1.25rem; }
.field input { width: 100%; min-height: 2.75rem; margin-top: 0.25rem; padding: 0.5rem 0.75rem; border: 1px solid var(--edge);
  border-radius: 0.25rem; background: var(--card); color: var(--text); font: inherit; }
button { width: 100%; min-height: 3rem; margin: 0 0 0.75rem; padding: 0.5rem 1.5rem; border: 2px solid var(--action);
  border-radius: 0.25rem; background: var(--action); color: var(--on-action); font: inherit; font-weight: bold;
  cursor: pointer; }
button[aria-disabled='true'] { opacity: 0.5; cursor: default; }
button.other { background: var(--card); color: var(--action); }
a { color: var(--action); }
a:focus-visible, button:focus-visible, input:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--action);
  outline-offset: 3px; }
@media (max-width: 40rem) {
  main { margin: 0; border: 0; border-radius: 0; padding: 1.5rem; }
}
`;
