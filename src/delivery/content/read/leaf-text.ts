/** Decodes the texts of a mail. */
import { decodeText } from './charset.ts';
import { joinFlowedLines } from './flowed.ts';
import type { Leaf } from './structure.ts';
import { decodeTextBody } from './transfer-encoding.ts';

export interface DecodedText {
  text: string;
  cut: boolean;
}

/**
 * Decodes a text. Its lines end with LF.
 * @param maxBytes of its body, encoded; the rest is cut
 */
export function textOf(bytes: Buffer, leaf: Leaf, maxBytes: number): DecodedText {
  const { start, end, header } = leaf;
  const cut = end - start > maxBytes;
  const body = decodeTextBody(bytes.subarray(start, cut ? start + maxBytes : end), header);
  const decoded = withLineFeeds(decodeText(body, header.charset, { html: header.type === 'text/html', cut }));
  const text = header.flowed === 'no' ? decoded : joinFlowedLines(decoded, header.flowed === 'delsp');
  // The line break at the end of a text may be part of the delimiter after it.
  const open = header.encoding !== 'base64' && text !== '' && !text.endsWith('\n');
  return { text: open ? `${text}\n` : text, cut };
}

/** Lines that end with LF. Some servers write several CRs before it. The time is linear, however many CRs there are. */
function withLineFeeds(text: string): string {
  return text.includes('\r\r')
    ? text.replace(/\r+(\n?)/g, (all, feed: string) => feed || all)
    : text.replaceAll('\r\n', '\n');
}
