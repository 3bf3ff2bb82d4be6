/** The first lines of a CSV file, read in the browser to ask what its columns mean. The API reads the file itself. */

/** Enough for the header of any sensible file. */
const READ_BYTES = 256 * 1024;
const DELIMITERS = [',', ';', '\t', '|'] as const;

export interface CsvColumn {
  name: string;
  /** Its value in the first row. */
  example: string;
}

/** The encodings that the API takes. */
function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  try {
    // The last character may be cut; `stream` keeps it back.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Splits the first record of a text into cells. @returns the cells, and where the next record begins */
function readRecord(text: string, from: number, delimiter: string): { cells: string[]; next: number } {
  const cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let at = from;
  for (; at < text.length; at += 1) {
    const letter = text.charAt(at);
    if (isQuoted) {
      if (letter !== '"') cell += letter;
      else if (text.charAt(at + 1) === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && cell === '') isQuoted = true;
    else if (letter === delimiter) {
      cells.push(cell);
      cell = '';
    } else if (letter === '\n' || letter === '\r') break;
    else cell += letter;
  }
  cells.push(cell);
  const isPair = text.charAt(at) === '\r' && text.charAt(at + 1) === '\n';
  return { cells, next: at + (isPair ? 2 : 1) };
}

/** Returns the columns of the text of a CSV file; none if it has no header. */
export function columnsOf(text: string): CsvColumn[] {
  const start = text.search(/[^\r\n]/);
  if (start === -1) return [];
  const records = DELIMITERS.map((delimiter) => {
    const header = readRecord(text, start, delimiter);
    return { header: header.cells, row: readRecord(text, header.next, delimiter).cells };
  });
  // The delimiter that makes the most columns is the one that the file uses.
  const { header, row } = records.reduce((best, each) =>
    each.header.length > best.header.length ? each : best,
  );
  return header.map((name, index) => ({
    name: name.trim() || `column ${index + 1}`,
    example: row[index]?.trim() ?? '',
  }));
}

/** Returns the columns of a CSV file. */
export async function readColumns(file: File): Promise<CsvColumn[]> {
  const bytes = new Uint8Array(await file.slice(0, READ_BYTES).arrayBuffer());
  return columnsOf(decode(bytes));
}
