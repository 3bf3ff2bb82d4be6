// A message that is canceled or moved while senders work either leaves or not, never both, and its money is right.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { moveScheduled } from '../../../../src/delivery/ledger/cancel/move.ts';
import { acceptMessages, allocateMessageIds } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { AppError } from '../../../../src/errors.ts';
import { cancelMessage, type Recall } from '../../../../src/features/messages/cancel.ts';
import { checkMoney } from '../../../../src/features/wallet/check.ts';
import type { Tenant } from '../../../../src/platform/auth/tenant.ts';
import { inPreparedTransaction, inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { insertPayer, setPrice, wrongMonths } from '../../../support/money.ts';
import { type QueuedAccount, wakeSenders } from '../../../support/queued.ts';
import { inMinutes } from '../../../support/scheduled.ts';
import {
  startSmtpServer,
  startTestSender,
  TEST_LIMITS,
  type TestSender,
  type TestSmtpServer,
} from '../../../support/sending.ts';

/** With CRASH_FULL, as many as the product promises never to send and cancel at once. */
const MESSAGES = process.env['CRASH_FULL'] === undefined ? 400 : 10_000;
const WORKERS = 12;
const PRICE = 100;
/** How long the provider takes for a message, and a request comes after its message, at most. */
const PROVIDER_MS = 8;
const REQUEST_MS = 40;

let test: TestDatabase;
let server: TestSmtpServer;
let senders: TestSender[];
let of: QueuedAccount;

const query = async <Row extends object>(text: string, ...values: unknown[]) =>
  (await test.database.pool.query<Row>(text, values)).rows;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: WORKERS + 2 });
  server = await startSmtpServer({
    onRcptTo: (_address, _session, done) => void setTimeout(done, Math.random() * PROVIDER_MS),
  });
  await setPrice(test.database, PRICE);
  of = await insertPayer(test.database, { funds: 1_000_000_000, free: Math.floor(MESSAGES / 2) });
  // Intents take some time now and then, so that requests fall into them.
  await query(
    `create function slow_intent() returns trigger language plpgsql as $$
     begin if random() < 0.2 then perform pg_sleep(0.02); end if; return new; end $$`,
  );
  await query(
    'create trigger slow_intent before insert on handovers for each row execute function slow_intent()',
  );
  const target = { url: test.url, port: server.port, connections: 4 };
  senders = [await startTestSender(target), await startTestSender(target)];
}, 60_000);
afterAll(async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  await server.stop();
  await test.drop();
});

/** Accepts a paid message. Those with an attempt before are claimed by a general claim, and wait for their intent. */
async function accept(dueInMs: number): Promise<number> {
  const { pool } = test.database;
  const [id = 0] = await allocateMessageIds(pool, 1);
  const address = `m${id}@example.com`;
  await inTransaction(pool, async (trx) => {
    const message = {
      ...{
        id,
        account_id: of.accountId,
        brand_id: of.brandId,
        channel: 'email' as const,
        status: 'queued' as const,
      },
      ...{
        test: false,
        to_address: address,
        to_key: address,
        from_address: 'x@mail.test',
        subject: 'Hi',
        text: 'Hi',
      },
    };
    const source = { class: messageClasses.transactional } as const;
    const limits = { ...TEST_LIMITS, sandbox_monthly_cap: 1_000_000 };
    await acceptMessages(trx, [message], { source, limits, money: 'reserve' });
    const at = `clock_timestamp() + make_interval(secs => ${dueInMs / 1000})`;
    if (dueInMs > 0) await trx.query(`update messages set scheduled_at = ${at} where id = $1`, [id]);
    await trx.query(
      `update send_queue set due_at = ${at}, queued_at = ${at}, attempt_count = case when random() < 0.7 then 1 else 0 end
       where message_id = $1`,
      [id],
    );
  });
  await wakeSenders(test.database);
  return id;
}

let recalls = 0;

/** @returns whether it is canceled */
async function cancel(id: number): Promise<boolean> {
  const { pool } = test.database;
  const tenant = { ...of, actor: { kind: 'user', id: 1 } } as unknown as Tenant;
  const recall: Recall = { needed: false };
  try {
    const deps = { pool, plusAddresses: false };
    await inPreparedTransaction(pool, (trx) =>
      cancelMessage(trx, deps, tenant, { isAssistant: false }, { id, only: false, recall }),
    );
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_transition') return false;
    throw error;
  } finally {
    if (recall.needed) recalls += 1;
  }
}

const move = async (id: number): Promise<boolean> => {
  const moved = await inTransaction(test.database.pool, (trx) =>
    moveScheduled(trx, of.accountId, [id], inMinutes(600), []),
  );
  return moved[0]?.outcome === 'moved';
};

/** Makes requests while messages are sent. @returns the messages by whether the request succeeded */
async function race(
  dueInMs: number,
  request: (id: number) => Promise<boolean>,
): Promise<Map<number, boolean>> {
  const succeeded = new Map<number, boolean>();
  let left = MESSAGES;
  const work = async () => {
    while (left-- > 0) {
      const id = await accept(dueInMs);
      await pause(Math.random() * REQUEST_MS);
      succeeded.set(id, await request(id));
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return succeeded;
}

/** Waits until all that may leave has left. @returns how often each message arrived */
async function arrivals(): Promise<Map<number, number>> {
  await eventually(async () => {
    const [row] = await query<{ open: number }>(
      'select count(*)::int as open from send_queue where due_at < now() + interval $$1 hour$$',
    );
    expect(row).toEqual({ open: 0 });
  });
  const counts = new Map<number, number>();
  for (const { to } of server.received) {
    const id = Number(/^m(\d+)@/.exec(to)?.[1]);
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

async function checkAccounts() {
  expect(await wrongMonths(test.database, PRICE)).toEqual([]);
  const atFour = new Date();
  atFour.setUTCHours(4);
  await runTask(test.database, checkMoney, atFour);
  expect(await query('select * from money_mismatches')).toEqual([]);
}

it('leaves or is canceled', async () => {
  const canceled = await race(0, cancel);
  const arrived = await arrivals();
  const wrong = [...canceled].filter(([id, isCanceled]) => (arrived.get(id) ?? 0) !== (isCanceled ? 0 : 1));
  expect(wrong).toEqual([]);
  const ids = [...canceled].flatMap(([id, isCanceled]) => (isCanceled ? [id] : []));
  expect(await query('select id from messages where id = any($1) and status <> $2', ids, 'canceled')).toEqual(
    [],
  );
  // The race took place, and claims were recalled.
  expect(ids.length).toBeGreaterThan(MESSAGES / 20);
  expect(MESSAGES - ids.length).toBeGreaterThan(MESSAGES / 20);
  expect(recalls).toBeGreaterThan(0);
  await checkAccounts();
}, 600_000);

it('leaves or is moved', async () => {
  const moved = await race(REQUEST_MS / 2, move);
  const arrived = await arrivals();
  const wrong = [...moved].filter(([id, isMoved]) => (arrived.get(id) ?? 0) !== (isMoved ? 0 : 1));
  expect(wrong).toEqual([]);
  const ids = [...moved].flatMap(([id, isMoved]) => (isMoved ? [id] : []));
  expect(ids.length).toBeGreaterThan(MESSAGES / 20);
  expect(MESSAGES - ids.length).toBeGreaterThan(MESSAGES / 20);
  for (const id of ids) expect(await cancel(id)).toBe(true);
  await checkAccounts();
}, 600_000);
