/** Attributes with which MJML computes, such as the width of a column. It would compute with the placeholder of Liquid. */
import type { MjmlResult } from './mjml.ts';
import { noLiquid } from '../../terms/texts/no-liquid.ts';

/** What MJML reports of a value that it cannot compute with. Sizes of text are copied as they are. */
const SIZES = [
  /^(mj-[a-z-]+): Attribute (width|height) /,
  /^(mj-[a-z-]+): Attribute ([a-z-]*(?:padding|border)[a-z-]*) /,
];

const countOf = (text: string) => text.split('NaN').length;

/**
 * Finds Liquid in an attribute with which MJML has computed.
 * @param source MJML with placeholders
 * @param options.hasLiquid whether a text has a placeholder
 * @param options.lineOf finds the line that the author wrote
 * @returns the problem, with its line where MJML knows it; null if there is none
 */
export function computedLiquid(
  source: string,
  { html, warnings }: MjmlResult,
  { hasLiquid, lineOf }: { hasLiquid: (text: string) => boolean; lineOf: (line: number) => number },
): string | null {
  if (!hasLiquid(source) || countOf(html) <= countOf(source)) return null;
  const blamed = warnings.filter(({ message }) => hasLiquid(message));
  const found = SIZES.flatMap((size) =>
    blamed.flatMap(({ line, message }) => {
      const [, tag, attribute] = size.exec(message) ?? [];
      return tag === undefined
        ? []
        : [`line ${lineOf(line)}: ${attribute} of ${tag} ${noLiquid('values with which MJML computes')}`];
    }),
  );
  if (found[0] !== undefined) return found[0];
  return blamed.length > 0 ? `a size in the MJML ${noLiquid('values with which MJML computes')}` : null;
}
