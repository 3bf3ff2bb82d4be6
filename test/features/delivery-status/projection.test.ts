// The delivery status predicts the outcome of the next message, and reserves nothing.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Limits,
  limits,
  type LimitSettings,
  limitSettings,
} from '../../../src/delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { addWalletEntry } from '../../../src/delivery/ledger/money/wallet.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../src/delivery/ledger/ownership/claims.ts';
import { allocateMessageIds, writeMessages } from '../../../src/delivery/ledger/accept/write-messages.ts';
import { createApiKey } from '../../../src/features/api-keys/service.ts';
import { readDeliveryStatus } from '../../../src/features/delivery-status/service.ts';
import { AppError } from '../../../src/errors.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../support/queued.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 88;
const MILLICENTS = 1_000;
const actor = { kind: 'api_key', id: 1, test: false } as const;

let api: TestApi;
/** A read-only connection: PostgreSQL refuses its writes and row locks. */
let reader: Database;
let settings: LimitSettings;
let seq = 0;

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  api.database.pool.query<Row>(text, values).then(({ rows }) => rows);

beforeAll(async () => {
  api = await startTestApi();
  const url = new URL(String(api.config.DATABASE_URL));
  url.searchParams.set('options', '-c default_transaction_read_only=on');
  reader = openDatabase({ url: url.href, poolMax: 2 });
  await expect(reader.pool.query('select 1 from accounts for update')).rejects.toThrow(/read-only/);
  settings = limitSettings(api.config);
  await insertSender(api.database, OWNER);
  // Beyond the allowance, emails of paid accounts cost a cent, and those of free accounts nothing.
  await query(`insert into prices (tier, kind, millicents) values ('paid', 'email', ${MILLICENTS})`);
});
afterAll(async () => {
  await reader.close();
  await api.close();
});

/** An account, described by what limits it. */
const situation = fc.record({
  tier: fc.constantFrom('free', 'paid'),
  comped: fc.boolean(),
  paused: fc.constantFrom(false, false, false, true),
  allowance: fc.constantFrom(null, null, 0, 1, 2),
  sandboxCap: fc.constantFrom(null, null, 0, 1),
  domain: fc.constantFrom('none', 'verified', 'verified', 'lost'),
  isSender: fc.constantFrom(true, true, false),
  warmUp: fc.constantFrom(null, null, 0, 1),
  pace: fc.constantFrom(null, null, 1, 2),
  monthlyEmails: fc.constantFrom(null, 0, 1),
  capCents: fc.constantFrom(null, null, 0, 1, 2),
  creditCents: fc.constantFrom(0, 1, 2, 100),
});

type Situation = typeof situation extends fc.Arbitrary<infer Given> ? Given : never;

type Kind = 'transactional' | 'marketing';
const kind = fc.constantFrom<Kind>('transactional', 'marketing');

/** The first limit decides, although a paying account's money is checked before the message is written. */
const beyondSandboxAndMoney: Situation = {
  tier: 'paid',
  comped: false,
  paused: false,
  allowance: null,
  sandboxCap: 1,
  domain: 'none',
  isSender: true,
  warmUp: null,
  pace: null,
  monthlyEmails: 1,
  capCents: null,
  creditCents: 0,
};

/** What a random run may miss. */
const examples: [Situation, Kind[]][] = [
  [beyondSandboxAndMoney, ['transactional', 'transactional']],
  // Both refuse the message that costs something, and the one after it.
  [{ ...beyondSandboxAndMoney, monthlyEmails: 0 }, ['marketing', 'transactional', 'transactional']],
];

interface Subject extends QueuedAccount {
  key: string;
  domainId: number | null;
  sender: string | null;
}

async function addDomain({ accountId, brandId }: QueuedAccount, given: Situation) {
  if (given.domain === 'none') return null;
  const [row] = await query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, status, lost_at, return_path_host, tracking_host)
     values ($1, $2, $3, $4, $5, 'r', 't') returning id`,
    [
      ...[accountId, brandId, `d${accountId}.test`],
      ...(given.domain === 'lost' ? ['failed', new Date()] : ['verified', null]),
    ],
  );
  const id = row?.id ?? 0;
  if (given.warmUp !== null) {
    await query('insert into warm_ups (domain_id, account_id, daily_limit) values ($1, $2, $3)', [
      ...[id, accountId, given.warmUp],
    ]);
  }
  if (given.pace !== null) {
    // The minute must not end while the test runs.
    await query(
      `insert into domain_paces (domain_id, account_id, per_minute, minute, used)
       values ($1, $2, $3, now() + interval '1 hour', 1)`,
      [id, accountId, given.pace],
    );
  }
  return id;
}

async function build(given: Situation): Promise<Subject> {
  const account = await insertAccount(api.database);
  const { accountId } = account;
  const domainId = await addDomain(account, given);
  const isSender = given.isSender && domainId !== null;
  await query(
    `update accounts set tier = $2, comped = $3, sending_paused_at = case when $4 then now() end, allowance_per_day = $5,
       sandbox_monthly_cap = $6, email_from_email = $7, monthly_email_allowance = $8, spend_cap_monthly_cents = $9
     where id = $1`,
    [
      ...[accountId, given.tier, given.comped, given.paused, given.allowance, given.sandboxCap],
      ...[isSender ? `news@d${accountId}.test` : null, given.monthlyEmails, given.capCents],
    ],
  );
  if (given.creditCents > 0) {
    const millicents = given.creditCents * MILLICENTS;
    await addWalletEntry(api.database.pool, { accountId, kind: 'credit', millicents, cause: 'test' });
  }
  const { key } = await createApiKey(api.database.pool, { accountId });
  const sends = isSender && given.domain === 'verified';
  return {
    ...account,
    key,
    domainId: sends ? domainId : null,
    sender: sends ? `news@d${accountId}.test` : null,
  };
}

const claim = ({ accountId }: Subject, given: number): Promise<Claim[]> =>
  claimBacklog(
    api.database.pool,
    { channel: 'email', class: given, accountId, owner: OWNER, quantum: 50 },
    settings,
  );

interface Outcome {
  outcome: 'send' | 'hold' | 'refuse';
  /** For a hold: the limit. For a refusal: the error code. */
  why: string | null;
  isEndKnown: boolean;
}

async function claimed(id: number, claims: readonly Claim[]): Promise<Outcome> {
  if (claims.some(({ messageId }) => messageId === id)) {
    return { outcome: 'send', why: null, isEndKnown: false };
  }
  const [row] = await query<{ hold: { reason: string; until: string | null } | null }>(
    'select hold from messages where id = $1',
    [id],
  );
  return {
    outcome: 'hold',
    why: row?.hold?.reason ?? null,
    isEndKnown: typeof row?.hold?.until === 'string',
  };
}

const refused = (code: string): Outcome => ({ outcome: 'refuse', why: code, isEndKnown: false });

/** Posts an email without a sender, and claims it. */
async function sendTransactional(subject: Subject): Promise<Outcome> {
  const { status, body } = await api.request('POST', '/v1/my/messages', {
    token: subject.key,
    body: { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hi' },
  });
  if (status !== 201) return refused(String(body.code));
  const claims = await claim(subject, messageClasses.transactional);
  const result = await claimed(Number(body.id), claims);
  if (claims.length > 0) {
    const intent = { owner: OWNER, seq: ++seq, provider: 'smtp', keyring: testKeyring, claims };
    const batch = await intendMessages(api.database.pool, intent);
    expect(batch.map(({ verdict }) => verdict)).toEqual(claims.map(() => 'send'));
  }
  return result;
}

/** Writes an email as a step of a flow does, and claims it. */
async function sendMarketing(subject: Subject): Promise<Outcome> {
  const { pool } = api.database;
  const [id = 0] = await allocateMessageIds(pool, 1);
  const { accountId: account_id, brandId: brand_id, domainId: domain_id, sender } = subject;
  const message = { id, account_id, brand_id, channel: 'email', status: 'queued', test: false } as const;
  const addresses = { to_address: 'ada@example.com', to_key: 'ada@example.com', from_address: sender };
  const source = { class: messageClasses.flow, flow_id: 1 };
  try {
    await writeMessages(pool, [{ ...message, ...addresses, domain_id, subject: 'Hi', text: 'Hi' }], {
      source,
      limits: settings,
    });
  } catch (error) {
    if (error instanceof AppError) return refused(error.code);
    throw error;
  }
  return claimed(id, await claim(subject, messageClasses.flow));
}

const statusOf = async ({ key }: Subject) =>
  (await api.request('GET', '/v1/my/delivery/status', { token: key })).body;

const readOnly = ({ accountId, brandId }: Subject) =>
  readDeliveryStatus(reader.pool, { accountId, brandId, actor, role: 'admin' }, settings, 'mail.test');

/** The error code, or the name of the limit that has this reason in the status. */
function codesOf(reason: string | null): (string | null)[] {
  const limit = (limits as Limits).find(({ status }) => status?.reason === reason);
  return reason === null ? [null] : [limit?.name ?? null, (limit?.accept ?? limit?.refusal)?.code ?? null];
}

async function checkCanSend({ key }: Subject, next: TestBody | undefined): Promise<void> {
  const { body } = await api.request('GET', '/v1/my/account', { token: key });
  const { outcome, reason } = (next ?? {}) as unknown as { outcome: string; reason: string | null };
  const mayNot = ['account_paused', 'spend_cap_reached', 'insufficient_funds'];
  if (outcome === 'send') expect(body.can_send).toBe(true);
  if (mayNot.includes(String(reason))) expect(body.can_send).toBe(false);
}

it('predicts the outcome of the next message, whatever limits the account, and reserves nothing', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(situation, fc.array(kind, { minLength: 3, maxLength: 4 }), async (given, kinds) => {
      const subject = await build(given);
      for (const each of kinds) {
        const status = await statusOf(subject);
        expect((await readOnly(subject)).next).toMatchObject({
          transactional: { outcome: status.next?.transactional?.outcome },
          marketing: { outcome: status.next?.marketing?.outcome },
        });
        const expected = status.next?.[each] as unknown as {
          outcome: string;
          reason: string;
          until: unknown;
        };
        await checkCanSend(subject, status.next?.transactional);
        const really = each === 'marketing' ? await sendMarketing(subject) : await sendTransactional(subject);
        expect(expected.outcome).toBe(really.outcome);
        expect(codesOf(expected.reason)).toContain(really.why);
        expect(expected.until !== null).toBe(really.isEndKnown);
        if (really.outcome !== 'send') expect(status.state).not.toBe('open');
        if (really.outcome === 'send') expect(status.state).not.toBe('blocked');
        seen.add(`${each} ${really.outcome} ${expected.reason}`);
      }
    }),
    { numRuns: 25, seed: 25, examples },
  );
  expect([...seen].some((each) => each.includes('send'))).toBe(true);
  expect([...seen].some((each) => each.includes('hold'))).toBe(true);
  expect([...seen].some((each) => each.includes('refuse'))).toBe(true);
}, 120_000);
