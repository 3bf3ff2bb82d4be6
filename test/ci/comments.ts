/** Rules for comments. The linter cannot check them, because such comments switch the linter off. */

/** The linter's settings alone say which rules apply where; no comment may do so. */
const directive = /\b(?:eslint|oxlint)-(?:disable|enable)/;

/** A reader of a failed run sees the file's first line, which says what the file proves. */
const sentence = /^[/]{2} [A-Z].*[.]$/;

/** @returns what is wrong, as `path:line: message` */
export function findCommentFaults(path: string, text: string): string[] {
  if (!/[.][jt]s$/.test(path)) return [];
  const lines = text.split('\n');
  const faults = lines.flatMap((line, index) =>
    directive.test(line) ? [`${path}:${index + 1}: No comment switches a rule off: see .oxlintrc.json.`] : [],
  );
  if (path.endsWith('.test.ts') && !sentence.test(lines[0] ?? '')) {
    faults.push(`${path}:1: The first line of a test file is a comment, one sentence: what the file proves.`);
  }
  return faults;
}
