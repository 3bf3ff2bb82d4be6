/** A thread of the prepare pool that never finishes the subject `stuck`, and fails on the subject `crash`. */
import { parentPort } from 'node:worker_threads';
import type { EmailContent } from '../../src/delivery/content/mime/message.ts';

parentPort?.on('message', ({ subject }: EmailContent) => {
  while (subject === 'stuck') Math.random();
  if (subject === 'crash') process.exit(3);
  parentPort?.postMessage({
    smtpUtf8: false,
    opening: subject,
    remainder: new Uint8Array(1),
    signed: { headerNames: [], canonicalHeaders: '', body: { hash: '' } },
    tracked: null,
  });
});
parentPort?.postMessage('ready');
