// A message that takes too long to compose fails at its third attempt, or stays unknown if it may have been sent.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPreparePool } from '../../../src/delivery/content/mime/prepare-pool.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { insertAccount, queueEmails } from '../../support/queued.ts';
import {
  startSmtpServer,
  startTestSender,
  testEmailChannel,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

let test: TestDatabase;
let server: TestSmtpServer;
let sender: TestSender | undefined;

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  server = await startSmtpServer();
});

afterEach(async () => {
  await sender?.stop();
  sender = undefined;
  await server.stop();
  await test.drop();
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

/** Queues a message at which its thread works until the time limit. */
async function queueStuck(earlierAttempts: number): Promise<number | undefined> {
  const [id] = await queueEmails(test.database, await insertAccount(test.database), 1);
  await query(`update messages set subject = 'stuck' where id = $1`, [id]);
  await query(`update message_contents set text = repeat('x', 100000) where message_id = $1`, [id]);
  await query('update messages set attempt_count = $2 where id = $1', [id, earlierAttempts]);
  await query('update send_queue set attempt_count = $2 where message_id = $1', [id, earlierAttempts]);
  return id;
}

/** Waits for the next outcome of the message. */
async function outcome(id: number | undefined, earlierAttempts: number) {
  const entry = new URL('../../support/stuck-thread.ts', import.meta.url);
  const channel = testEmailChannel({
    port: server.port,
    threads: createPreparePool({ entry, limitMs: 200 }),
  });
  sender = await startTestSender({ url: test.url, port: server.port, channel });
  return eventually(async () => {
    const [row] = await query<{ attempts: number; status: string; failure: unknown }>(
      'select attempt_count as attempts, status, failure from messages where id = $1',
      [id],
    );
    expect(row?.attempts).toBeGreaterThan(earlierAttempts);
    return row;
  });
}

describe('a message whose content takes longer to compose than the limit', () => {
  it.each([0, 1])('is retried after %d earlier attempts, because the machine may be busy', async (n) => {
    const id = await queueStuck(n);
    expect(await outcome(id, n)).toEqual({ attempts: n + 1, status: 'queued', failure: null });
    expect(await query('select due_at > now() as later from send_queue')).toEqual([{ later: true }]);
  });

  it('fails at its third attempt', async () => {
    const failure = {
      code: 'content_rejected',
      message: 'the content could not be composed: it takes longer than 200 ms',
    };
    expect(await outcome(await queueStuck(2), 2)).toEqual({ attempts: 3, status: 'failed', failure });
  });

  it('stays unknown if an earlier attempt may have sent it', async () => {
    const id = await queueStuck(2);
    await query(`update messages set status = 'unknown' where id = $1`, [id]);
    await query(`insert into message_events (message_id, attempt, type) values ($1, 1, 'unknown')`, [id]);
    const failure = {
      code: 'content_rejected',
      message: expect.stringMatching(/^an earlier attempt may have/),
    };
    expect(await outcome(id, 2)).toEqual({ attempts: 3, status: 'unknown', failure });
  });
});
