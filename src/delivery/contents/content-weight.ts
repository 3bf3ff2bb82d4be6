/**
 * How long a content takes to prepare, in characters of a body. The queue row has an upper bound, in bytes, so that a
 * sender knows heavy messages before it reads them.
 */
interface Content {
  html: string | null;
  text: string | null;
  headers: Record<string, string>;
}

/** The heaviest content that the event loop prepares. It takes about 20 ms at worst. */
export const MAX_WEIGHT_AT_ONCE = 64 * 1024;
/** How much longer it takes to convert HTML to text, or to encode headers in words, than to encode a body. */
const SLOW_FACTOR = 4;

function headerLength(headers: Record<string, string>): number {
  let length = 0;
  for (const name in headers) length += headers[name]?.length ?? 0;
  return length;
}

/** Characters of a content. */
export function lengthOf({ html, text, headers }: Content): number {
  return (html?.length ?? 0) + (text?.length ?? 0) + headerLength(headers);
}

function weightOf(content: Content): number {
  const converted = content.text === null ? (content.html?.length ?? 0) : 0;
  return lengthOf(content) + SLOW_FACTOR * (headerLength(content.headers) + converted);
}

/** Whether a thread has to prepare a content, because it would hold the event loop for too long. */
export function isHeavy(content: Content): boolean {
  return weightOf(content) > MAX_WEIGHT_AT_ONCE;
}

/** SQL: bytes of a message's content. The texts are in memory while it is accepted, so their lengths cost nothing. */
export const contentBytesSql = `coalesce(octet_length(html), 0) + coalesce(octet_length(text), 0)
      + coalesce(octet_length(headers::text), 0)`;

/** SQL: the weight of a message's content. A text never has more UTF-16 units than bytes, so it is never too small. */
export const contentWeightSql = `${contentBytesSql} + ${SLOW_FACTOR} * (coalesce(octet_length(headers::text), 0)
      + case when text is null then coalesce(octet_length(html), 0) else 0 end)`;
