/** Compiles a body in MJML to HTML. Nothing that its author wrote is dropped without a word. */
import { CompileError } from './compile-error.ts';
import { computedLiquid } from './computed-attributes.ts';
import type { Problem } from './content.ts';
import { mjmlToHtml } from './mjml.ts';
import type { MjmlFault } from './mjml-kind.ts';
import { mjmlParts } from './mjml-parts.ts';
import { readMjml } from './mjml-source.ts';
import type { HiddenText, Placeholder, Placeholders } from './placeholders.ts';

/** Maximum number of faults that are reported at once. */
const MAX_FAULTS = 50;

const problemsOf = (faults: readonly MjmlFault[], hidden: HiddenText): Problem[] =>
  faults.slice(0, MAX_FAULTS).map(({ at, message }) => {
    const { line, column } = hidden.positionOf(at);
    return { field: 'body', code: 'mjml_error', message: `line ${line}, column ${column}: ${message}` };
  });

function refuse(faults: readonly MjmlFault[], hidden: HiddenText): void {
  if (faults.length > 0) throw new CompileError(...problemsOf(faults, hidden));
}

/** @returns a complete document, and what MJML reports although it accepts the body */
export async function fromMjml(
  body: string,
  placeholders: Placeholders,
): Promise<{ html: string; warnings: Problem[] }> {
  const hidden = placeholders.hideWithPlaces(body);
  const read = readMjml(hidden.text, placeholders);
  refuse(read.faults, hidden);
  let source = read.mjml;
  let result = await mjmlToHtml(source);
  const hasLiquid = (text: string) => placeholders.find(text).length > 0;
  const computed = computedLiquid(source, result, { hasLiquid, lineOf: (line) => hidden.lineOf(line) });
  if (computed !== null) throw new CompileError({ field: 'body', code: 'lost_liquid', message: computed });
  const lost = placeholders.lost(source, result.html);
  if (lost.length > 0) {
    refuseLost(inTags(lost, source), hidden);
    // MJML drops tags of Liquid between elements, unless they are in `<mj-raw>`.
    const indexes = new Set(lost.map(({ index }) => index));
    source = placeholders.show(source, ({ token, index }) => {
      const word = placeholders.add(token);
      return indexes.has(index) && !token.isOutput ? `<mj-raw>${word}</mj-raw>` : word;
    });
    result = await mjmlToHtml(source);
    refuseLost(placeholders.lost(source, result.html), hidden);
  }
  refuse(read.lostTexts(result.html), hidden);
  const warnings = result.warnings
    .filter(({ message }) => !hasLiquid(message))
    .map(({ line, message }): Problem => {
      return { field: 'body', code: 'mjml_error', message: `line ${hidden.lineOf(line)}: ${message}` };
    });
  warnings.push(...problemsOf(read.warnings, hidden));
  return { html: read.lead + read.withoutMarks(result.html) + read.trail, warnings };
}

/** Those between the brackets of a tag, where no element can keep them. */
function inTags(lost: readonly Placeholder[], source: string): Placeholder[] {
  const tags = mjmlParts(source).filter(({ kind }) => kind === 'open');
  let next = 0;
  return lost.filter(({ start }) => {
    while ((tags[next]?.end ?? Infinity) <= start) next += 1;
    return (tags[next]?.start ?? Infinity) < start;
  });
}

function refuseLost(lost: readonly Placeholder[], hidden: HiddenText): void {
  if (lost.length > 0)
    throw new CompileError(...lost.slice(0, MAX_FAULTS).map(({ token }) => lostLiquid(token, hidden)));
}

function lostLiquid({ source, at = 0 }: { source: string; at?: number }, hidden: HiddenText): Problem {
  const { line, column } = hidden.positionInSource(at);
  const message = `line ${line}, column ${column}: MJML has no place for ${source.slice(0, 100)} where it stands`;
  return { field: 'body', code: 'lost_liquid', message };
}
