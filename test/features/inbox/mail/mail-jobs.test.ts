// A job that fails says whether the mail is to blame, so that no mail is tried for ever and none is given up too early.
import { afterEach, describe, expect, it } from '@jest/globals';
import { SlowMailError } from '../../../../src/features/inbox/mail/mail.ts';
import {
  createMailJobs,
  type MailJobs,
  UnreadableMailError,
} from '../../../../src/features/inbox/mail/mail-jobs.ts';
import { stages } from '../../../../src/features/inbox/mail/jobs.ts';

const mail = {
  accountId: 1,
  rawKey: 'inbox/1/a',
  size: 1_000,
  envelopeFrom: '',
  recipient: 'support@acme.example',
  ip: null,
  helo: null,
};

let jobs: MailJobs;
afterEach(() => jobs.close());

/** Runs a job in a thread that reaches the stage, and then fails or replies nothing. */
async function fail(stage: number, reply: object | null): Promise<unknown> {
  const then = reply === null ? '' : `parentPort.postMessage(${JSON.stringify(reply)});`;
  const code = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ stage }) => { stage[0] = ${stage}; ${then} });
    parentPort.postMessage('ready');`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  jobs = createMailJobs({ home: '/nowhere', threads: 1, limitMs: 200, entry });
  return jobs.run('contents', mail).catch((error: unknown) => error);
}

describe('a failure', () => {
  it('while the mail is parsed makes it unreadable', async () => {
    expect(await fail(stages.parsing, { failed: 'bad name' })).toEqual(
      new UnreadableMailError('the mail cannot be read: bad name'),
    );
    expect(await fail(stages.parsing, null)).toBeInstanceOf(UnreadableMailError);
  });

  it('of the storage says nothing about the mail', async () => {
    for (const stage of [stages.loading, stages.storing]) {
      const error = await fail(stage, { failed: 'EIO' });
      expect(error).toEqual(new Error('EIO'));
      expect(error).not.toBeInstanceOf(UnreadableMailError);
    }
    expect(await fail(stages.loading, null)).not.toBeInstanceOf(SlowMailError);
  });

  it('to store the attachments in time may be due to either', async () => {
    expect(await fail(stages.storing, null)).toBeInstanceOf(SlowMailError);
  });
});

it('gives the threads to the accounts in turn', async () => {
  const code = `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ mail }) => setTimeout(() => parentPort.postMessage({ accountId: mail.accountId }), 20));
    parentPort.postMessage('ready');`;
  const entry = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  jobs = createMailJobs({ home: '/nowhere', threads: 1, entry });
  const finished: number[] = [];
  const run = (accountId: number) =>
    jobs.run('contents', { ...mail, accountId }).then(() => finished.push(accountId));
  await Promise.all([1, 1, 1, 1, 1, 2].map(run));
  expect(finished.indexOf(2)).toBeLessThan(3);
});
