/** The fields in the header of a mail. */
import { isUtf8 } from 'node:buffer';
import PostalMime from 'postal-mime';
import type { Header } from 'postal-mime';
import { joinWords } from './encoded-words.ts';
import { headerOf } from './lines.ts';

/**
 * The lines of a header in UTF-8 (RFC 6532). Older programs write the character set of their users. A mark at the beginning
 * of a line stays, or the line would become a field that it is not for other programs.
 */
function inUtf8(header: Buffer): Buffer {
  if (isUtf8(header)) return header;
  const decoder = new TextDecoder('windows-1252');
  const lines = header.toString('latin1').split('\n');
  const decoded = lines.map((text) => {
    const line = Buffer.from(text, 'latin1');
    return isUtf8(line) ? line.toString() : decoder.decode(line);
  });
  return Buffer.from(decoded.join('\n'));
}

/** Ids are compared, not read. */
const ID_FIELDS: ReadonlySet<string> = new Set(['message-id', 'in-reply-to', 'references']);

/** Parses the header alone. Encoded words are in UTF-8, and none of them contains a part of a character. */
export async function parseHeader(bytes: Buffer): Promise<Header[]> {
  const parsed = await PostalMime.parse(inUtf8(headerOf(bytes)));
  return parsed.headers.map((field) =>
    field.value.includes('=?') && !ID_FIELDS.has(field.key)
      ? { ...field, value: joinWords(field.value) }
      : field,
  );
}
