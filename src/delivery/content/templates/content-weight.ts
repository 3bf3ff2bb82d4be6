/**
 * Estimates how long a content takes to prepare, in characters of a body. The queue row has an upper bound, in bytes,
 * so that a sender recognizes heavy messages before it reads them.
 */
interface Content {
  html: string | null;
  text: string | null;
  headers: Record<string, string>;
}

/** The maximum weight of a content that is prepared on the event loop. It takes about 20 ms at worst. */
export const MAX_WEIGHT_AT_ONCE = 64 * 1024;
/**
 * How many times longer than encoding a body it takes to convert HTML to text, or to encode headers as encoded words.
 */
const SLOW_FACTOR = 4;

function headerLength(headers: Record<string, string>): number {
  let length = 0;
  for (const name in headers) length += headers[name]?.length ?? 0;
  return length;
}

/** Number of characters of a content. */
export function lengthOf({ html, text, headers }: Content): number {
  return (html?.length ?? 0) + (text?.length ?? 0) + headerLength(headers);
}

function weightOf(content: Content): number {
  const converted = content.text === null ? (content.html?.length ?? 0) : 0;
  return lengthOf(content) + SLOW_FACTOR * (headerLength(content.headers) + converted);
}

/** Whether a content must be prepared in a thread, because it would block the event loop for too long. */
export function isHeavy(content: Content): boolean {
  return weightOf(content) > MAX_WEIGHT_AT_ONCE;
}

/** The bytes and the weight of a content, as {@link contentBytesSql} and {@link contentWeightSql} say. */
export function contentSizeOf(
  content: Pick<Content, 'html' | 'text'> & { headers: Content['headers'] | null },
): {
  bytes: number;
  weight: number;
} {
  const [html, text, headers] = [
    Buffer.byteLength(content.html ?? ''),
    Buffer.byteLength(content.text ?? ''),
    content.headers === null ? 0 : Buffer.byteLength(JSON.stringify(content.headers)),
  ];
  const bytes = html + text + headers;
  return { bytes, weight: bytes + SLOW_FACTOR * (headers + (content.text === null ? html : 0)) };
}

/** SQL: bytes of a message's content. The texts are in memory while it is accepted, so their lengths cost nothing. */
export const contentBytesSql = `coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
      + coalesce(octet_length(headers::text), 0)`;

/** SQL: the weight of a message's content. A text never has more UTF-16 units than bytes, so this is never too low. */
export const contentWeightSql = `${contentBytesSql} + ${SLOW_FACTOR} * (coalesce(octet_length(headers::text), 0)
      + case when text is null then coalesce(octet_length(html), 0) else 0 end)`;
