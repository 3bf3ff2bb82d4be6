/** Returns the addresses that a user pasted: one a line, or between commas or semicolons. */
export const addressLines = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.trim())
    .filter(Boolean);
