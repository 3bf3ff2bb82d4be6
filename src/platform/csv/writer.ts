import { guardCell } from './guard.ts';

/** Includes the characters that separate cells for readers that expect another delimiter. */
const NEEDS_QUOTES = /[",;\t\r\n]|^\s|\s$/;

function quoted(cell: string): string {
  return NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * Writes one record of a CSV file (RFC 4180) with its line end. Guards cells that a spreadsheet would run as formulas.
 * @param cells null and the empty text are both written as an empty cell
 */
export function csvRecord(cells: readonly (string | null)[]): string {
  // Most readers ignore an empty line, so quote the only cell.
  if (cells.length === 1 && (cells[0] ?? '') === '') return '""\r\n';
  return `${cells.map((cell) => (cell === null ? '' : quoted(guardCell(cell)))).join(',')}\r\n`;
}
