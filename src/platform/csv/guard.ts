/**
 * Where a reader may see the beginning of a cell: at that of the text, and after what other readers take for the end of a
 * cell or of a line, whatever the quotation marks say.
 */
const CELL_START = String.raw`(?<=^|[;\t\r\n])`;
/** Harmless after a sign: a number, or a phone number in E.164 form, up to the end of the text. */
const NUMBER = String.raw`(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`;
/**
 * What makes a cell a formula (OWASP, "CSV Injection"), after any apostrophes: an operator, also in full width, or white
 * space at the beginning of the text, which some readers skip. The white space comes before the look back to the
 * beginning: a look back from each of many apostrophes takes quadratic time.
 */
const FORMULA = String.raw`(?='*(?:[=@＝＋－＠]|[+\-](?!${NUMBER})|[\t\r\n](?<=^'*[\t\r\n])))`;

/** Most texts have none of it, and are looked at no further. */
const SUSPECT = /^['=+\-@＝＋－＠]|[;\t\r\n]/;
const UNGUARDED = new RegExp(CELL_START + FORMULA, 'g');
const GUARDED = new RegExp(`${CELL_START}'${FORMULA}`, 'g');

/**
 * Makes a text harmless in a spreadsheet: an apostrophe before each formula marks it as text. Numbers and phone numbers
 * stay as they are. {@link unguardCell} takes the apostrophes away.
 */
export function guardCell(text: string): string {
  return SUSPECT.test(text) ? text.replace(UNGUARDED, "'") : text;
}

/** The inverse of {@link guardCell}. Apostrophes before other texts stay as they are. */
export function unguardCell(cell: string): string {
  return SUSPECT.test(cell) ? cell.replace(GUARDED, '') : cell;
}
