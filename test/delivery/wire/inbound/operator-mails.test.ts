// Mail to the operator is kept until it is too old: a flood from one network displaces only mail of that network.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { keepOperatorMail, listOperatorMails } from '../../../../src/delivery/wire/inbound/operator-mails.ts';
import { deliveryUpkeep } from '../../../../src/delivery/ledger/upkeep/upkeep.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { deliver, startTestListener } from '../../../support/inbound.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(() => test.database.pool.query('truncate operator_mails'));

const keep = (network: string, subject: string) =>
  keepOperatorMail(test.database.pool, {
    ...{ mailbox: 'abuse', network },
    head: Buffer.from(`From: ann@example.net\r\nSubject: ${subject}\r\n\r\nx\r\n`),
  });
const subjects = async () => (await listOperatorMails(test.database.pool)).map(({ subject }) => subject);

/** Inserts mails of networks, as if they had arrived earlier. */
const insert = (networks: string, count: number) =>
  test.database.pool.query(
    `insert into operator_mails (mailbox, sender, subject, raw, network)
     select 'abuse', 'x', n::text, 'x', ${networks} from generate_series(1, $1::int) n`,
    [count],
  );

it('keeps the newest fifty mails of a network, and all mail of others', async () => {
  await keep('192.0.2.1', 'a complaint');
  await insert(`'203.0.113.5'`, 1_000);
  await keep('203.0.113.5', 'the last of a flood');
  const kept = await subjects();
  expect(kept).toHaveLength(51);
  expect([kept[0], kept[1], kept.at(-1)]).toEqual(['the last of a flood', '1000', 'a complaint']);
});

it('keeps five thousand in total: the network with the most loses its oldest', async () => {
  await keep('192.0.2.1', 'a complaint');
  await insert(`'198.51.100.' || n % 200`, 4_989);
  await insert(`'203.0.113.5'`, 40);
  await test.database.pool.query(
    `delete from operator_mails where network = '203.0.113.5' and subject > '37'`,
  );
  const before = await subjects();
  expect(before.length).toBeGreaterThanOrEqual(5_000);
  await keep('192.0.2.9', 'another complaint');
  const after = await subjects();
  expect(after).toHaveLength(before.length);
  expect(after[0]).toBe('another complaint');
  expect(after).toContain('a complaint');
});

it('keeps mail to return paths apart, so that it displaces only other mail to return paths', async () => {
  await keep('192.0.2.1', 'a confirmation');
  const message = { accountId: 1, messageId: 2 };
  for (let n = 1; n <= 51; n += 1)
    await keepOperatorMail(test.database.pool, {
      ...{ mailbox: 'return_path', network: '192.0.2.1', message },
      head: Buffer.from(`Subject: ${n}\r\n\r\n`),
    });
  const kept = await listOperatorMails(test.database.pool);
  expect(kept).toHaveLength(51);
  expect(kept[0]).toMatchObject({ mailbox: 'return_path', subject: '51', accountId: 1, messageId: 2 });
  expect(kept.at(-2)).toMatchObject({ subject: '2' });
  expect(kept.at(-1)).toMatchObject({ mailbox: 'abuse', subject: 'a confirmation', accountId: null });
});

it('removes mail that is older than thirty days', async () => {
  await keep('192.0.2.1', 'old');
  const task = deliveryUpkeep.tasks?.find(({ name }) => name === 'operator_mails');
  const days = (count: number) => new Date(Date.now() + count * 86_400_000);
  if (task) await runTask(test.database, task, days(29));
  expect(await subjects()).toEqual(['old']);
  if (task) await runTask(test.database, task, days(31));
  expect(await subjects()).toEqual([]);
});

it('records the network that a mail came from', async () => {
  const listener = await startTestListener(test.url);
  await deliver(listener.port, {
    to: 'abuse@mail.test',
    from: 'ann@example.net',
    data: 'Subject: Hi\r\n\r\nx\r\n',
  });
  await listener.stop();
  const { rows } = await test.database.pool.query('select network, subject from operator_mails');
  expect(rows).toEqual([{ network: '127.0.0.1', subject: 'Hi' }]);
});
