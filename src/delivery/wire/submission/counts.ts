import { LRUCache } from 'lru-cache';
import type { FigureSource } from '../../../platform/http/operators.ts';

/** What a process has answered since it started, for `/metrics`. */
export interface SubmissionCounts {
  /** Counts a reply to a login or a mail. @param responseCode such as 250 */
  replied(to: 'login' | 'mail', responseCode: number): void;
  /** Counts a mail that was refused because of its line breaks, which old programs write. */
  badLines(keyId: number): void;
  sources: FigureSource[];
}

/** Keys whose mails had bad line breaks; the least recent ones are left out. */
const MAX_KEYS = 1_000;

export function createSubmissionCounts(): SubmissionCounts {
  const replies = new Map<string, { labels: { to: string; reply: string }; value: number }>();
  const keys = new LRUCache<number, number>({ max: MAX_KEYS });
  return {
    replied(to, responseCode) {
      const labels = { to, reply: String(responseCode) };
      const name = `${to} ${responseCode}`;
      replies.set(name, { labels, value: (replies.get(name)?.value ?? 0) + 1 });
    },
    badLines: (keyId) => void keys.set(keyId, (keys.get(keyId) ?? 0) + 1),
    sources: [
      {
        name: 'carillon_submission_replies',
        help: 'Replies to logins and mails since the process started, by their codes',
        labels: ['to', 'reply'],
        read: () => [...replies.values()],
      },
      {
        name: 'carillon_submission_bad_lines',
        help: 'Mails refused since the process started because of a line break that is not CRLF, or a NUL, by API key',
        labels: ['key'],
        read: () => [...keys.entries()].map(([key, value]) => ({ labels: { key: String(key) }, value })),
      },
    ],
  };
}
