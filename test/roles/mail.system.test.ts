// The mail role loses and doubles no accepted report if it is killed, and logs no addresses or contents.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { returnPathAddress } from '../../src/delivery/terms/addresses/return-path.ts';
import { connectSmtp } from '../../src/delivery/wire/smtp/client.ts';
import { claimPort } from '../../src/local/machine/ports.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { createTestTenant, type TestTenant } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { deliver } from '../support/inbound.ts';
import { type Program, runProgram } from '../support/programs.ts';
import { queueEmails } from '../support/queued.ts';
import { deliveryStatus } from '../support/reports.ts';

const SECRET = 'a secret of the tests that is long enough';
const PREVIOUS = 'an earlier secret of the tests that is long';
const MESSAGES = 300;
const CONNECTIONS = 4;

let test: TestDatabase;
let tenant: TestTenant;
let ids: number[];
let port: number;
let program: Program;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
  ids = await queueEmails(test.database, tenant, MESSAGES);
  await test.database.pool.query('delete from send_queue');
  await test.database.pool.query(
    `update messages set status = 'sent', sent_at = now(), sent_attempt = 1, provider = 'smtp'`,
  );
}, 60_000);
afterAll(() => test.drop());
afterEach(() => void program.child.kill('SIGKILL'));

async function start(): Promise<void> {
  port ??= await claimPort(0, 'MAIL_PORT');
  program = runProgram('src/main.ts', ['start', 'mail'], {
    DATABASE_URL: test.url,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    APP_SECRET: SECRET,
    APP_SECRET_PREVIOUS: PREVIOUS,
    EMAIL_PROVIDER_URL: 'capture:',
    MAIL_DOMAIN: 'mail.test',
    MAIL_PORT: String(port),
    LOG_FORMAT: 'json',
  });
  await program.ready();
}

function reportOf(messageId: number, secret = SECRET): { to: string; data: string } {
  const { key } = createKeyring(secret).subkey('return-path');
  const { accountId } = tenant;
  const returnPath = returnPathAddress(key, { accountId, messageId }, 'mail.test');
  const mail = { returnPath, to: `u${messageId}@example.com`, messageId: 'x@mail.test' };
  return { to: returnPath, data: deliveryStatus(mail) };
}

/** Mails reports over one connection until it breaks. @param accepted gets the ids of those that were accepted */
async function mailReports(left: number[], accepted: Set<number>, onAccepted: () => void): Promise<void> {
  const connection = await connectSmtp({ host: '127.0.0.1', port, security: 'none', clientName: 'mx.test' });
  for (let id = left.shift(); id !== undefined; id = left.shift()) {
    const { to, data } = reportOf(id);
    const outcome = await connection.send({
      from: '',
      to,
      smtpUtf8: false,
      eightBit: false,
      data: Buffer.from(data),
    });
    if (outcome.kind !== 'accepted') return;
    accepted.add(id);
    onAccepted();
  }
  await connection.quit();
}

const bouncedIds = async () => {
  const { rows } = await test.database.pool.query<{ id: number }>(
    `select id from messages where status = 'bounced' order by id`,
  );
  return rows.map(({ id }) => id);
};

describe('the mail role', () => {
  it('has committed every report that it accepted when it is killed, and loses and doubles none', async () => {
    await start();
    const accepted = new Set<number>();
    const left = [...ids];
    const kill = () => accepted.size >= MESSAGES / 4 && program.child.kill('SIGKILL');
    await Promise.all(Array.from({ length: CONNECTIONS }, () => mailReports(left, accepted, kill)));
    await program.ended;
    expect(accepted.size).toBeGreaterThanOrEqual(MESSAGES / 4);
    expect(accepted.size).toBeLessThan(MESSAGES);
    expect(await bouncedIds()).toEqual(expect.arrayContaining([...accepted]));

    // A server mails again what was not accepted, and what it does not know to be.
    await start();
    const again = [...ids];
    await Promise.all(
      Array.from({ length: CONNECTIONS }, () => mailReports(again, accepted, () => undefined)),
    );
    expect(await bouncedIds()).toEqual(ids);
    const { rows } = await test.database.pool.query(
      `select (select count(*) from message_events where type = 'bounced') as events,
         (select count(*) from suppressions) as suppressions`,
    );
    expect(rows).toEqual([{ events: MESSAGES, suppressions: MESSAGES }]);
  }, 120_000);

  it('takes reports about messages of an earlier secret, and none of an unknown one', async () => {
    await start();
    const [id = 0] = ids;
    expect(await deliver(port, reportOf(id, PREVIOUS))).toBe('250 2.0.0');
    expect(await deliver(port, reportOf(id, 'a secret that is not one of ours, though long'))).toBe(
      '550 5.1.1',
    );
  }, 120_000);

  it('logs neither addresses nor contents', async () => {
    await start();
    const [id = 0] = ids;
    await deliver(port, reportOf(id));
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain(`"message_ids":[${id}]`);
    expect(program.output()).not.toMatch(/example\.com|User unknown|b-\w+-\w+-/);
  }, 120_000);
});
