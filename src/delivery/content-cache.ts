import { type EmailContent, type PreparedContent, prepareContent } from '../mime/message.ts';

const MOST_ENTRIES = 256;
const MOST_CHARACTERS = 64 * 1024;

/** Prepares content, and remembers the latest: many messages differ in nothing but their recipient. */
export function createContentCache(): (content: EmailContent) => PreparedContent {
  const prepared = new Map<string, PreparedContent>();
  return (content) => {
    const size = (content.html?.length ?? 0) + (content.text?.length ?? 0);
    if (size > MOST_CHARACTERS) return prepareContent(content);
    const key = JSON.stringify(content);
    const found = prepared.get(key);
    if (found) return found;
    const made = prepareContent(content);
    const oldest = prepared.keys().next();
    if (prepared.size >= MOST_ENTRIES && !oldest.done) prepared.delete(oldest.value);
    prepared.set(key, made);
    return made;
  };
}
