/** A name in quotation marks may have commas: `"Hopper, Grace" <grace@example.com>`. */
const ADDRESS = /(?:"(?:\\.|[^"\\\n])*"|[^\n,;])+/g;

/** Returns the addresses that a user typed or pasted: one a line, or between commas or semicolons. */
export const addressLines = (text: string): string[] =>
  (text.match(ADDRESS) ?? []).map((line) => line.trim()).filter(Boolean);
