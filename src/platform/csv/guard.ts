/** Spreadsheets take a cell that begins so for a formula (OWASP, "CSV Injection"). */
const FORMULA_START = /^[=+\-@\t\r]/;
/** Begins with a sign and is harmless: a number, or a phone number in E.164 form. */
const SIGNED_NUMBER = /^[+-](?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** Whether a spreadsheet might run the text, apart from apostrophes before it. */
function isFormula(text: string): boolean {
  let start = 0;
  while (text.charCodeAt(start) === 0x27) start += 1;
  const bare = start === 0 ? text : text.slice(start);
  return FORMULA_START.test(bare) && !SIGNED_NUMBER.test(bare);
}

/**
 * Makes a text harmless in a spreadsheet: an apostrophe before it marks it as text. Numbers and phone numbers stay as they
 * are. {@link unguardCell} takes the apostrophe away.
 */
export function guardCell(text: string): string {
  return isFormula(text) ? `'${text}` : text;
}

/** The inverse of {@link guardCell}. Other texts that begin with an apostrophe stay as they are. */
export function unguardCell(cell: string): string {
  return cell.startsWith("'") && isFormula(cell) ? cell.slice(1) : cell;
}
