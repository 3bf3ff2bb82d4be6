// A mail is refused for good only for its own faults, not because the machine is slow.
import { afterEach, expect, it } from '@jest/globals';
import type { SpooledMail } from '../../../src/delivery/wire/submission/port.ts';
import { createSubmissionReader, type SubmissionReader } from '../../../src/features/submission/read-jobs.ts';

let reader: SubmissionReader;
afterEach(() => reader.close());

it('asks to try again if reading takes too long, because it waits for the storage, too', async () => {
  const silent = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', () => {});
    parentPort.postMessage('ready');`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(silent)}`);
  reader = createSubmissionReader({
    ...{ home: '/nowhere', blocked: new Set<string>(), maxFileBytes: 1 },
    ...{ entry, limitMs: 100 },
  });
  const bytes = Buffer.from('From: a@b.test\r\n\r\nHi\r\n');
  const mail = { bytes, blobKey: null, size: bytes.length } as SpooledMail;
  await expect(reader.read(1, mail)).rejects.toMatchObject({ code: 'unavailable' });
});
