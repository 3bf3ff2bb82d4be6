// A sender that cannot read the files of letters leaves them to others and says so, and sends all other mail.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { queueLetter } from '../../support/letters.ts';
import { insertAccount, queueEmails, wakeSenders } from '../../support/queued.ts';
import { startTestSender } from '../../support/sending.ts';
import { acceptingChannels } from '../../support/ways-out.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());

it('leaves letters alone until it can read their files', async () => {
  const { database } = test;
  const account = await insertAccount(database);
  const letters = {
    filesBytes: 1_000_000,
    reason: 'no folder' as string | null,
    problem: () => letters.reason,
  };
  const left: number[] = [];
  const channels = acceptingChannels((id) => left.push(id));
  const running = await startTestSender({ url: test.url, port: 0, channels, letters });
  try {
    const [letter = 0] = await queueLetter(database, account, { files: [10] });
    for (let n = 0; n < 3; n += 1) {
      const [other = 0] = await queueEmails(database, account, 1);
      await eventually(() => expect(left).toContain(other));
    }
    expect(left).not.toContain(letter);
    const { rows } = await database.pool.query('select owner from send_queue where message_id = $1', [
      letter,
    ]);
    expect(rows).toEqual([{ owner: null }]);
    const problem = { state: 'open', reason: 'no folder', retryAt: null };
    expect(running.sender.report().providers).toMatchObject({ letters: problem });
    letters.reason = null;
    await wakeSenders(database);
    await eventually(() => expect(left).toContain(letter));
    expect(running.sender.report().providers).not.toHaveProperty('letters');
  } finally {
    await running.stop();
  }
});
