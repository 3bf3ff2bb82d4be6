/** A thread of `sanitizer.ts`. */
import { parentPort } from 'node:worker_threads';
import { sanitize } from './sanitize.ts';

export interface SanitizeJob {
  html: string;
  images: ReadonlyMap<string, string>;
}

/** Null if the HTML cannot be shown. */
export type SanitizeReply = { html: string | null };

parentPort?.on('message', ({ html, images }: SanitizeJob) => {
  const reply: SanitizeReply = { html: sanitize(html, images) };
  parentPort?.postMessage(reply);
});
parentPort?.postMessage('ready');
