import { guardCell } from './guard.ts';

/** Also what separates cells for readers that expect another delimiter. */
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/;

function quoted(cell: string): string {
  return NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * Writes one record of a CSV file (RFC 4180) with its line end. Cells that a spreadsheet would run are guarded.
 * @param cells null and the empty text are both written as an empty cell
 */
export function csvRecord(cells: readonly (string | null)[]): string {
  // A line with nothing in it is no record for most readers.
  if (cells.length === 1 && (cells[0] ?? '') === '') return '""\r\n';
  return `${cells.map((cell) => (cell === null ? '' : quoted(guardCell(cell)))).join(',')}\r\n`;
}
