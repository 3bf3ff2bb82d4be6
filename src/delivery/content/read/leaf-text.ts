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
  return {
    text: inLines(decodeText(body, header.charset, { html: header.type === 'text/html', cut }), leaf),
    cut,
  };
}

/** What a text without a label, or with this one, is in: ASCII is a part of UTF-8, which many programs forget to name. */
const ASCII = /^(?:us-ascii|ascii|ansi_x3\.4-1968)?$/;

function strictDecoder(label: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(ASCII.test(label) ? 'utf-8' : label, { fatal: true });
  } catch {
    return null;
  }
}

/**
 * Decodes a text if it is what its header says. Its lines end with LF.
 * @returns null if its character set is unknown, or not that of its bytes
 */
export function exactTextOf(bytes: Buffer, leaf: Leaf): string | null {
  const { start, end, header } = leaf;
  const decoder = strictDecoder(header.charset ?? '');
  try {
    return decoder && inLines(decoder.decode(decodeTextBody(bytes.subarray(start, end), header)), leaf);
  } catch {
    return null;
  }
}

function inLines(decoded: string, { header }: Leaf): string {
  const lines = withLineFeeds(decoded);
  const text = header.flowed === 'no' ? lines : joinFlowedLines(lines, header.flowed === 'delsp');
  // The line break at the end of a text may be part of the delimiter after it.
  const open = header.encoding !== 'base64' && text !== '' && !text.endsWith('\n');
  return open ? `${text}\n` : text;
}

/** Lines that end with LF. Some servers write several CRs before it. The time is linear, however many CRs there are. */
function withLineFeeds(text: string): string {
  return text.includes('\r\r')
    ? text.replace(/\r+(\n?)/g, (all, feed: string) => feed || all)
    : text.replaceAll('\r\n', '\n');
}
