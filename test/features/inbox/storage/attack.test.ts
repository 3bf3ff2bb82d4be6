// A stranger who fills the quota of an account does not keep out the mail of others.
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { MailListener } from '../../../../src/delivery/wire/inbound/listener.ts';
import { type InboundLoop, startInboundLoop } from '../../../../src/features/inbox/arrival/loop.ts';
import { parseHeader } from '../../../../src/delivery/content/read/header-fields.ts';
import { readHeader } from '../../../../src/features/inbox/mail/header.ts';
import type { AcceptedMail, ReadMail } from '../../../../src/features/inbox/mail/mail.ts';
import { createWaker, type Waker } from '../../../../src/platform/db/wake.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { eventually } from '../../../support/eventually.ts';
import { deliver, deliverToAll, startTestListener } from '../../../support/inbound.ts';
import { arrivalDeps, readMail } from '../../../support/inbox-mails.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { startTestAcceptance, type TestAcceptance } from '../../../support/receiving.ts';

const QUOTA = 100_000;
const MAIL = 1_000;
const AT_ONCE = 25;
/** Mail of these senders passes SPF and DKIM. */
const PROVEN = 'proven.example';
const TO = 'support@acme.example';
const NO_LIMITS = { senderPerMinute: 0, networkPerMinute: 0, connectionsPerNetwork: 100 };

let test: TestDatabase;
let tenant: TestTenant;
let waker: Waker;
let acceptance: TestAcceptance;
let listener: MailListener;
let loop: InboundLoop;
let tenants = 0;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 10 });
  waker = createWaker({ url: test.url });
});
afterAll(async () => {
  await waker.close();
  await test.drop();
});
beforeEach(async () => {
  await pool().query('delete from inboxes; delete from domains');
  tenant = await createTestTenant(test.database, `Acme ${(tenants += 1)}`);
  await allowInboxes(test.database, tenant.accountId);
  await insertVerifiedDomain(test.database, tenant, 'acme.example');
  await insertInbox(test.database, tenant, TO);
  acceptance = startTestAcceptance(test.url, test.database, { quotaBytes: QUOTA });
  listener = await startTestListener(test.url, { inboxes: acceptance.inboxes, limits: NO_LIMITS });
  loop = startInboundLoop({
    ...arrivalDeps(),
    hasScanner: false,
    quotaBytes: QUOTA,
    pool: pool(),
    waker,
    reader: { read },
    store: acceptance.store,
    log: pino({ level: 'silent' }),
  });
});
afterEach(async () => {
  await listener.stop();
  await loop.stop();
  await acceptance.stop();
});

const pool = () => test.database.pool;

/** Reads the header as the mail role does, and decides about the authentication by the sender's domain. */
async function read({ rawKey, envelopeFrom }: AcceptedMail): Promise<ReadMail> {
  const blob = await acceptance.store.open(rawKey);
  if (!blob) throw new Error('the message is missing');
  const header = readHeader(await parseHeader(await buffer(blob.stream)), envelopeFrom);
  const { authentication } = readMail();
  return readMail({
    from: header.from,
    senderKey: header.senderKey,
    subject: header.subject,
    referenceIds: header.referenceIds,
    authentication: { ...authentication, aligned: header.senderKey?.endsWith(`@${PROVEN}`) ?? false },
  });
}

const messageOf = (from: string, subject: string, bytes = MAIL) => {
  const head = `From: ${from}\r\nTo: ${TO}\r\nSubject: ${subject}\r\n\r\n`;
  const line = `${'x'.repeat(76)}\r\n`;
  return `${head}${line.repeat(Math.ceil(Math.max(0, bytes - head.length) / line.length))}`;
};
const send = (from: string, subject: string, bytes = MAIL) =>
  deliver(listener.port, { to: TO, from, data: messageOf(from, subject, bytes) });

const waiting = async () =>
  (await pool().query('select 1 from inbound_mails where account_id = $1', [tenant.accountId])).rowCount;
const allRead = () => eventually(async () => expect(await waiting()).toBe(0));

/** Where the mails with a subject are: `arrived`, or the reason of their quarantine. */
async function placesOf(subject: string): Promise<(string | null)[]> {
  const { rows } = await pool().query<{ place: string | null }>(
    `select case when arrived_at is not null then 'arrived' else quarantine ->> 'reason' end as place
     from conversation_messages where account_id = $1 and subject = $2 order by id`,
    [tenant.accountId, subject],
  );
  return rows.map(({ place }) => place);
}

/** Sends one and a half times as much as the account may store. @param sender of each mail, by its number */
async function attack(sender: (n: number) => string, subject = 'Buy', to = [TO]): Promise<string[]> {
  const replies: string[] = [];
  while (replies.length < (1.5 * QUOTA) / MAIL) {
    const numbers = Array.from({ length: AT_ONCE }, (_each, index) => replies.length + index);
    const messages = numbers.map((n) => messageOf(sender(n), subject));
    replies.push(...(await Promise.all(messages.map((data) => deliverToAll(listener.port, to, data)))));
    await allRead();
  }
  return replies;
}

/** The brand has answered this sender in a conversation. */
async function answer(sender: string): Promise<void> {
  expect(await send(sender, 'A question')).toBe('250 2.0.0');
  await allRead();
  await pool().query(
    `insert into conversation_messages (account_id, brand_id, inbox_id, conversation_id, direction, from_address,
       to_addresses, recipient, arrived_at)
     select account_id, brand_id, inbox_id, conversation_id, 'outbound', $3, array[$2], $2, now()
     from conversation_messages where account_id = $1 and sender_key = $2`,
    [tenant.accountId, sender, TO],
  );
}

describe('a stranger who sends more than the quota', () => {
  it('without authentication does not keep out genuine mail, and loses their own oldest mail first', async () => {
    await answer('known@unproven.example');
    const replies = await attack((n) => `x${n}@stranger.example`);
    expect(new Set(replies)).toEqual(new Set(['250']));
    expect(await send('known@unproven.example', 'Known, not proven')).toBe('250 2.0.0');
    expect(await send(`ann@${PROVEN}`, 'Proven, not known')).toBe('250 2.0.0');
    await allRead();
    expect(await placesOf('Known, not proven')).toEqual(['arrived']);
    expect(await placesOf('Proven, not known')).toEqual(['arrived']);
    const attacks = await placesOf('Buy');
    const arrived = attacks.filter((place) => place === 'arrived').length;
    // A fifth of the quota, of which the mail of the known sender is a part.
    expect(arrived).toBeLessThanOrEqual(QUOTA / 5 / MAIL);
    expect(attacks.slice(arrived)).toEqual(attacks.slice(arrived).map(() => 'storage'));
    expect(attacks.length).toBeLessThan(replies.length);
    const { rows } = await pool().query<{ evicted: number; of_inboxes: number; bytes: number }>(
      `select s.evicted_count as evicted, s.bytes,
         (select sum(evicted_count) from inboxes i where i.account_id = s.account_id)::int as of_inboxes
       from inbox_storage s where account_id = $1`,
      [tenant.accountId],
    );
    const evicted = replies.length - attacks.length;
    expect(rows[0]).toMatchObject({ evicted, of_inboxes: evicted });
    expect(rows[0]?.bytes).toBeLessThanOrEqual(QUOTA);
  });

  it('with authentication does not keep out those whom the brand has answered', async () => {
    await answer('known@unproven.example');
    await answer(`known@${PROVEN}`);
    // While many mails wait to be read, some have to be sent again.
    const replies = await attack((n) => `x${n}@${PROVEN}`);
    expect(replies.filter((reply) => reply === '250').length).toBeGreaterThan((0.9 * QUOTA) / MAIL);
    expect(await send('known@unproven.example', 'Known, not proven')).toBe('250 2.0.0');
    expect(await send(`known@${PROVEN}`, 'Known and proven')).toBe('250 2.0.0');
    expect(await send(`new@${PROVEN}`, 'Proven, not known')).toBe('250 2.0.0');
    await allRead();
    expect(await placesOf('Known, not proven')).toEqual(['arrived']);
    expect(await placesOf('Known and proven')).toEqual(['arrived']);
    expect(await placesOf('Proven, not known')).toEqual(['storage']);
  });

  it('who forges known senders fills no more than two fifths', async () => {
    await answer('known@unproven.example');
    const replies = await attack(() => 'known@unproven.example', 'Forged');
    expect(new Set(replies)).toEqual(new Set(['250']));
    expect(await send(`ann@${PROVEN}`, 'Proven, not known')).toBe('250 2.0.0');
    await allRead();
    expect(await placesOf('Proven, not known')).toEqual(['arrived']);
    const arrived = (await placesOf('Forged')).filter((place) => place === 'arrived').length;
    expect(arrived * MAIL).toBeLessThanOrEqual((2 * QUOTA) / 5 + MAIL);
  });

  it('to two brands, of which one has blocked them, fills no more than a fifth', async () => {
    const { rows } = await pool().query<{ id: number }>(
      'insert into brands (account_id) values ($1) returning id',
      [tenant.accountId],
    );
    const second = { ...tenant, brandId: rows[0]?.id ?? 0 };
    await insertVerifiedDomain(test.database, second, 'two.example');
    await insertInbox(test.database, second, 'support@two.example');
    await pool().query(
      `insert into inbox_blocks (account_id, brand_id, domain) values ($1, $2, 'stranger.example')`,
      [tenant.accountId, tenant.brandId],
    );
    await attack(() => 'x@stranger.example', 'Buy', [TO, 'support@two.example']);
    expect(await send(`ann@${PROVEN}`, 'Proven, not known')).toBe('250 2.0.0');
    await allRead();
    expect(await placesOf('Proven, not known')).toEqual(['arrived']);
    const arrived = (await placesOf('Buy')).filter((place) => place === 'arrived').length;
    expect(arrived * MAIL).toBeLessThanOrEqual(QUOTA / 5 + AT_ONCE * MAIL);
  });
});
