/** Joins the lines of texts with `format=flowed` (RFC 3676). */

const QUOTE = /^>+/;
const SIGNATURE = '-- ';

interface FlowedLine {
  text: string;
  quoted: boolean;
  /** The paragraph continues in the next line. */
  flows: boolean;
}

function readLine(line: string, deletesSpace: boolean): FlowedLine {
  const quoted = QUOTE.test(line);
  // A space at the beginning was added so that the line does not look like a quote.
  const unstuffed = line.startsWith(' ') ? line.slice(1) : line;
  const flows = unstuffed.endsWith(' ') && unstuffed.replace(QUOTE, '').trimStart() !== SIGNATURE;
  const text = flows && (deletesSpace || quoted) ? unstuffed.slice(0, -1) : unstuffed;
  return { text, quoted, flows };
}

/**
 * Joins the lines of paragraphs. Quotes keep their lines, since people know them by the mark at the beginning of each.
 * @param text its lines end with LF
 * @param deletesSpace `delsp=yes`: the space at the end of a line is not part of the text
 */
export function joinFlowedLines(text: string, deletesSpace: boolean): string {
  const pieces: string[] = [];
  let last: FlowedLine | null = null;
  for (const line of text.split('\n')) {
    const read = readLine(line, deletesSpace);
    const joins = last !== null && last.flows && !last.quoted && !read.quoted;
    if (last !== null && !joins) pieces.push('\n');
    pieces.push(read.text);
    last = read;
  }
  return pieces.join('');
}
