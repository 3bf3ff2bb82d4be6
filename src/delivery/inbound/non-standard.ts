import type { Refusal } from '../facts/bounces.ts';
import { refusalIn } from './delivery-status.ts';
import type { Fields } from './fields.ts';

/** Reads bounces that are not multipart/report: text for people, in a form that the sending program never varies. */
interface NonStandardFormat {
  isFrom(text: string, header: Fields): boolean;
  /** @returns the server's reply, or null if the text does not report a failure */
  reason(text: string): string | null;
}

const MAX_LINES = 1_000;
const MAX_REASON = 2_000;

function linesOf(text: string): string[] {
  return text.split('\n', MAX_LINES).map((line) => line.trimEnd());
}

/** The lines from `from` to the next empty line, joined. */
function paragraph(lines: readonly string[], from: number): string {
  const end = lines.indexOf('', from);
  return lines
    .slice(from, end === -1 ? undefined : end)
    .map((line) => line.trim())
    .join(' ')
    .slice(0, MAX_REASON);
}

/** @returns the paragraph after the first line that `starts`, or null */
function paragraphAfter(text: string, starts: (line: string) => boolean): string | null {
  const lines = linesOf(text);
  const at = lines.findIndex(starts);
  if (at === -1) return null;
  const first = lines.findIndex((line, index) => index > at && line !== '');
  return first === -1 ? null : paragraph(lines, first);
}

/** qmail: https://cr.yp.to/proto/qsbmf.txt. Each recipient has a paragraph that begins with `<address>:`. */
const qmail: NonStandardFormat = {
  isFrom: (text) => text.trimStart().startsWith('Hi. This is the '),
  reason(text) {
    const lines = linesOf(text);
    const at = lines.findIndex((line) => line.startsWith('<') && line.endsWith(':'));
    return at === -1 ? null : paragraph(lines, at + 1);
  },
};

/** Exim before 4.90: `bounce_message_file` in its specification. A warning about a delay does not have this header. */
const exim: NonStandardFormat = {
  isFrom: (_text, header) => header.has('x-failed-recipients'),
  reason: (text) =>
    paragraphAfter(text, (line) => /following address(?:\(?es\)?)? failed:$/.test(line.trim()))?.replace(
      /^\S+@\S+ /,
      '',
    ) ?? null,
};

/** Exchange before 2007: `<server #5.1.1>` or `<server #5.1.1 smtp;550 5.1.1 …>` ends each recipient's paragraph. */
const exchange: NonStandardFormat = {
  isFrom: (text) =>
    text.trimStart().startsWith('Your message did not reach some or all of the intended recipients.'),
  reason: (text) =>
    paragraphAfter(text, (line) => line.trim() === 'The following recipient(s) could not be reached:'),
};

/** Sendmail before 8.8, and programs that imitate it. */
const sendmail: NonStandardFormat = {
  isFrom: (text) =>
    /^ *-{3,10} The following addresses had permanent (?:fatal|delivery) errors -{3,10}$/m.test(text),
  reason(text) {
    const reply = paragraphAfter(text, (line) =>
      /^ *-{3,10} Transcript of session follows -{3,10}$/.test(line),
    );
    return (
      reply ?? paragraphAfter(text, (line) => /had permanent (?:fatal|delivery) errors -{3,10}$/.test(line))
    );
  },
};

const formats = [qmail, exim, exchange, sendmail];

/** Enhanced codes that old servers write into their texts. */
const WRITTEN_CODE = /#([45]\.\d{1,3}\.\d{1,3})/;

/**
 * Reads a bounce in one of the common forms that predate RFC 3464.
 * @param text the beginning of the message's text
 * @returns null if it is not such a bounce
 */
export function readNonStandardBounce(text: string, header: Fields): Refusal | null {
  const normal = text.replaceAll('\r\n', '\n');
  const format = formats.find((each) => each.isFrom(normal, header));
  const reason = format?.reason(normal) ?? null;
  if (reason === null || reason === '') return null;
  const refusal = refusalIn(reason, WRITTEN_CODE.exec(reason)?.[1] ?? null);
  return { ...refusal, text: refusal.code === null ? reason : refusal.text };
}
