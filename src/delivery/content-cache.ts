import { type EmailContent, type PreparedContent, prepareContent } from '../mime/message.ts';
import { createRecent } from './recent.ts';

/** A content costs its bytes, and twice the characters of its key. */
const MOST = { entries: 256, size: 4 * 1024 * 1024 };

/** Its length before each text: no two contents have one key. */
function part(text: string | null): string {
  return text === null ? '-' : `${text.length}:${text}`;
}

function keyOf({ from, replyTo, subject, html, text, headers, feedbackId }: EmailContent): string {
  const addresses = `${part(from.name)}${part(from.address)}${part(replyTo?.name ?? null)}${part(replyTo?.address ?? null)}`;
  const further = Object.entries(headers).map(([name, value]) => part(name) + part(value));
  return `${addresses}${part(feedbackId ?? null)}${further.join('')};${part(subject)}${part(html)}${part(text)}`;
}

/** Prepares content, and remembers the latest: many messages differ in nothing but their recipient. */
export function createContentCache(): (content: EmailContent) => PreparedContent {
  const recent = createRecent<PreparedContent>(MOST, (key, made) => 2 * key.length + made.remainder.length);
  return (content) => recent.get(keyOf(content), () => prepareContent(content));
}
