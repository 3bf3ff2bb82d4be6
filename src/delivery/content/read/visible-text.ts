/** Texts that strangers wrote, made safe to store and to show. */

/** Replaces what cannot be seen. A reader of the text sees that something was there. */
const REPLACEMENT = '\ufffd';
/**
 * Control and format characters, among them those that reverse the direction of text, and fillers that look like spaces.
 * Joiners stay, because they are part of words in several scripts and of emoji.
 */
const INVISIBLE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const LINE_SPACE = /[\t\n\r]+/g;
/** C0 controls, except tab and line feed. */
const CONTROLS = /[\0-\x08\x0b-\x1f]/g;

/**
 * Cleans a name, subject or file name: one line without invisible characters. Each becomes U+FFFD; line breaks become
 * spaces.
 * @param maxLength in UTF-16 code units; the rest is cut
 */
export function visibleLine(text: string, maxLength: number): string {
  const cut = text.slice(0, maxLength).toWellFormed();
  return cut.replace(LINE_SPACE, ' ').replace(INVISIBLE, REPLACEMENT).trim();
}

/**
 * Cleans a body: without NUL and other control characters, lines end with LF. Half a surrogate pair becomes U+FFFD. Other
 * characters stay, visible or not.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\r\n', '\n').replaceAll('\r', '\n').replace(CONTROLS, '');
}
