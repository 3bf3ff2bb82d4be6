/** Why no provider of an account can take a letter, in words. */
import { type AppError, invalid } from '../../../errors.ts';
import type { NewLetter } from './new-letter.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The facts of a provider that cannot take a letter, as the function reports them. */
export interface Unable {
  /** Null: the provider of the setting. */
  name: string | null;
  kind: string;
  max_bytes: number | null;
  takes_mime: boolean;
}

/** @param round what to do with a part of a unit */
const sizeText = (bytes: number, round: (size: number) => number): string =>
  round(bytes / KIB) < KIB ? `${round(bytes / KIB)} KB` : `${round(bytes / MIB)} MB`;

const TOO_LARGE = {
  attachments: 'are too large',
  html: 'is too large',
  body: 'is too large',
  headers: 'are too large',
  to: 'has too many addresses',
} as const;

/** The field that makes a letter large: its files, or else what takes most of it. */
function largestField(letter: NewLetter): keyof typeof TOO_LARGE {
  const { files, html, text, headers, wireBytes, opaque } = letter;
  if (opaque) return 'body';
  if (files.length > 0) return 'attachments';
  const sizes = {
    html: Buffer.byteLength(html ?? ''),
    body: Buffer.byteLength(text ?? ''),
    headers: headers === null ? 0 : Buffer.byteLength(JSON.stringify(headers)),
  };
  const others = wireBytes - sizes.html - sizes.body - sizes.headers;
  const fields = ['html', 'body', 'headers'] as const;
  const largest = fields.reduce((one, other) => (sizes[other] > sizes[one] ? other : one));
  return others > sizes[largest] ? 'to' : largest;
}

/** Why the provider of a letter cannot take it. @param count of its copies */
export function unableError(
  { name, kind, max_bytes: maxBytes, takes_mime: takesMime }: Unable,
  letter: NewLetter,
  count: number,
): AppError {
  const provider = name === null || name === kind ? `provider ${kind}` : `provider ${name} (${kind})`;
  if (maxBytes !== null && letter.wireBytes > maxBytes) {
    const size = `the message has about ${sizeText(letter.wireBytes, Math.ceil)} when it is sent`;
    const most = `${provider} takes at most ${sizeText(maxBytes, Math.floor)}`;
    const field = largestField(letter);
    return invalid({ [field]: [`${TOO_LARGE[field]}: ${size}, and ${most}`] });
  }
  if (letter.opaque && !takesMime) {
    return invalid({ body: [`must be sent as it is: ${provider} takes no signed or encrypted mail`] });
  }
  if (count > 1)
    return invalid({ to: [`has several recipients: ${provider} cannot send one letter to several`] });
  const reason = letter.addresses.length > 0 ? 'shows other recipients' : 'names no recipient';
  return invalid({ to: [`${reason}: ${provider} sends to everyone whom a message names, and only to them`] });
}
