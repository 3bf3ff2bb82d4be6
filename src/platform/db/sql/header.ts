/** What the comment at the top of a `.sql` file says. `docs/statements.md` describes its form. */
export interface SqlHeader {
  /** What it does: the sentences before the first empty line. */
  does: string;
  /** The lines below, by their labels: `sent by`, `locks`, `$1 bigint[]`, or the name of a parameter. */
  labelled: ReadonlyMap<string, string>;
  /** Lines that are neither, and labels that are there twice. */
  others: readonly string[];
}

const COMMENT = /^(?:--[^\n]*(?:\n|$))*/;
const LABELLED = /^([$\w][^:]*): (.+)$/;

/** The lines of the comment. A line that is indented continues the one before it. */
function linesOf(source: string): string[] {
  const lines: string[] = [];
  const comment = COMMENT.exec(source)?.[0] ?? '';
  for (const line of comment.trimEnd().split('\n')) {
    const text = line.replace(/^-- ?/, '');
    if (/^\s+\S/.test(text) && lines.length > 0) lines.push(`${lines.pop()} ${text.trim()}`);
    else lines.push(text.trim());
  }
  return lines;
}

/** The function changes or locks rows of partitioned tables: see `plans.ts`. */
export const PARTITIONS = 'partitions';

export function readHeader(source: string): SqlHeader {
  const lines = linesOf(source);
  const end = lines.indexOf('');
  const does = (end === -1 ? lines : lines.slice(0, end)).join(' ');
  const labelled = new Map<string, string>();
  const others: string[] = [];
  for (const line of end === -1 ? [] : lines.slice(end).filter(Boolean)) {
    const [, label = '', text = ''] = LABELLED.exec(line) ?? [];
    if (label === '' || labelled.has(label)) others.push(line);
    else labelled.set(label, text);
  }
  return { does, labelled, others };
}
