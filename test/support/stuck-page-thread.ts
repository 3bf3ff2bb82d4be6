/**
 * A page thread that works forever on a robots.txt or stylesheet with the text `stuck`, and finds nothing in any other.
 */
import { parentPort } from 'node:worker_threads';
import type { ThreadJob } from '../../src/features/brands/scrape/page/jobs.ts';

parentPort?.on('message', (job: ThreadJob) => {
  const bytes = job.name === 'robots' ? job.text : job.name === 'imports' ? job.sheet.bytes : null;
  while (bytes && Buffer.from(bytes).toString() === 'stuck') Math.random();
  parentPort?.postMessage({ value: [] });
});
parentPort?.postMessage('ready');
