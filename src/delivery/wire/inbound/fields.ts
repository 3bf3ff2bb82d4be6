/** The fields of a block, by name in lower case. If a name occurs several times, the first field counts. */
export type Fields = ReadonlyMap<string, string>;

const MAX_BLOCKS = 50;
const MAX_FIELDS = 200;
const MAX_LINE = 2_000;
/** Maximum length of a folded field. */
const MAX_VALUE = 4_000;
const NAME = /^[!-9;-~]{1,100}$/;

function addLine(fields: Map<string, string>, current: string | null, line: string): string | null {
  if (line.startsWith(' ') || line.startsWith('\t')) {
    const value = current === null ? undefined : fields.get(current);
    if (current !== null && value !== undefined && value.length < MAX_VALUE)
      fields.set(current, `${value} ${line.trim()}`.slice(0, MAX_VALUE));
    return current;
  }
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(0, colon)).trimEnd().toLowerCase();
  if (!NAME.test(name) || fields.has(name) || fields.size >= MAX_FIELDS) return null;
  fields.set(name, line.slice(colon + 1).trim());
  return name;
}

/**
 * Reads blocks of fields separated by empty lines, such as the header of a message or a `message/delivery-status` part
 * (RFC 5322 §2.2, RFC 3464 §2.1). Lines that are not fields are skipped.
 * @returns at most `maxBlocks` blocks; the rest is ignored
 */
export function readFieldBlocks(text: string, maxBlocks = MAX_BLOCKS): Fields[] {
  const blocks: Fields[] = [];
  let fields = new Map<string, string>();
  let current: string | null = null;
  for (let at = 0; at < text.length && blocks.length < maxBlocks;) {
    const lineFeed = text.indexOf('\n', at);
    const end = lineFeed === -1 ? text.length : lineFeed;
    const line = text.slice(at, Math.min(end, at + MAX_LINE)).trimEnd();
    at = end + 1;
    if (line !== '') {
      current = addLine(fields, current, line);
    } else if (fields.size > 0) {
      blocks.push(fields);
      fields = new Map();
      current = null;
    }
  }
  if (fields.size > 0 && blocks.length < maxBlocks) blocks.push(fields);
  return blocks;
}
