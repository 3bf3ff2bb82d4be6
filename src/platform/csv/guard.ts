/** Harmless after a sign: a number, or a phone number in E.164 form, up to the end of the text. */
const NUMBER = String.raw`(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`;
/** Characters that begin a formula (OWASP, "CSV Injection"). */
const OPERATOR = String.raw`(?:[=@＝＋－＠]|[+\-](?!${NUMBER}))`;
/** An item of a list. A formula needs one of these characters to call a function or to reach another file or program. */
const ITEM = String.raw`[+\-] (?![^\r\n]*[(|!])`;

/**
 * Finds formulas where a spreadsheet may see the beginning of a cell:
 * - at the beginning of the text, after any apostrophes; white space counts, too, because some readers skip it;
 * - after a delimiter of other readers, such as a semicolon. They end a cell there even within quotation marks, unless
 *   their own cell begins with one. They also drop quotation marks before an operator;
 * - after a line break, where such a reader begins a new line. A list in a note stays as it is.
 *
 * Each place is read only up to the next one, so the time is linear.
 * @param mark the text before each formula
 */
const formulas = (mark: '' | "'") =>
  new RegExp(
    [
      String.raw`^${mark}(?='*(?:${OPERATOR}|[\t\r\n]))`,
      String.raw`(?<=[;\t])${mark}(?=['"]*${OPERATOR})`,
      String.raw`(?<=[\r\n])${mark}(?=['"]*(?!${ITEM})${OPERATOR})`,
    ].join('|'),
    'g',
  );

/** Most texts do not match this, and need no further check. */
const SUSPECT = /^['=+\-@＝＋－＠]|[;\t\r\n]/;
const UNGUARDED = formulas('');
const GUARDED = formulas("'");

/**
 * Makes a text harmless in a spreadsheet: an apostrophe before each formula marks it as text. Numbers and phone numbers
 * stay as they are. {@link unguardCell} removes the apostrophes.
 */
export function guardCell(text: string): string {
  return SUSPECT.test(text) ? text.replace(UNGUARDED, "'") : text;
}

/** The inverse of {@link guardCell}. Other apostrophes stay as they are. */
export function unguardCell(cell: string): string {
  return SUSPECT.test(cell) ? cell.replace(GUARDED, '') : cell;
}
