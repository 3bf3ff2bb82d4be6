// What the API accepts while a limit applies, it refuses with the limit's error, or it waits or ends as the limit says.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { LimitName } from '../../src/delivery/ledger/limits/authority.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { createApiKey } from '../../src/features/api-keys/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { limitSituations, NO_PRICE } from '../support/limit-situations.ts';
import { type Fate, fatesOf } from '../support/obstacles.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';
import { startTestSender } from '../support/sending.ts';
import { acceptingChannels } from '../support/ways-out.ts';

const entrances = [
  'send',
  'send a letter',
  'send a text',
  'resend',
  'test a template',
  'send with a test key',
] as const;

type Entrance = (typeof entrances)[number];

/** An error of the API, or what becomes of the accepted message. */
type Answer = Fate | `refused: ${ErrorCode}`;

/** What happens at the entrances to real messages; texts may differ. */
interface Row {
  email: Answer;
  text?: Answer;
  /** A test of a template, by email. */
  test?: Answer;
}

/** Limits that are there before the message is accepted. Null: the limit applies only to a message that waits already. */
const rows: Record<LimitName | 'nothing' | 'no_price', Row | null> = {
  nothing: { email: 'leaves' },
  gone: null,
  expired: null,
  spend_cap_end: null,
  wallet_end: null,
  domain_deleted: null,
  domain_unverified: null,
  warm_up: null,
  pacing: null,
  content_missing: null,
  account_paused: { email: 'held: account_paused' },
  allowance: { email: 'held: allowance' },
  sandbox_cap: { email: 'refused: sandbox_limit_reached', text: 'leaves' },
  // Texts cost this tier nothing, and tests of templates by email never cost anything.
  spend_cap: { email: 'refused: spend_cap_reached', text: 'leaves', test: 'leaves' },
  wallet: { email: 'refused: insufficient_funds', text: 'leaves', test: 'leaves' },
  suppressed: { email: 'failed: suppressed' },
  no_price: { email: 'leaves', text: 'refused: validation_error' },
};

const EMAIL = 'ada@example.com';
const PHONE = '+4915123456789';

const AT_ONCE = 3;

let api: TestApi;
const answers = new Map<string, string>();

const query = (text: string, ...values: unknown[]) => api.database.pool.query(text, values);

async function apply(name: keyof typeof rows, { accountId }: QueuedAccount): Promise<void> {
  if (name === 'suppressed') {
    await query(
      `insert into suppressions (account_id, address_key, reason) select $1, a, 'manual' from unnest($2::text[]) a`,
      ...[accountId, [EMAIL, PHONE]],
    );
  } else if (name === 'no_price') {
    await query(NO_PRICE, accountId);
  } else if (name !== 'nothing') await query(limitSituations[name], accountId);
}

/** Calls the API for a new account. @returns the status, and the new message or the error */
async function enter(entrance: Entrance, name: keyof typeof rows) {
  const account = await insertAccount(api.database);
  await query('update accounts set test_email_recipients = $2 where id = $1', account.accountId, [EMAIL]);
  const { key } = await createApiKey(api.database.pool, {
    ...{ accountId: account.accountId, test: entrance === 'send with a test key' },
  });
  const post = (path: string, body?: object) =>
    api.request('POST', `/v1/my/${path}`, { token: key, ...(body ? { body } : {}) });
  const email = { channel: 'email', to: EMAIL, subject: 'Hi', html: '<p>Hi</p>' };
  const first = entrance === 'resend' ? await post('messages', email) : null;
  await apply(name, account);
  switch (entrance) {
    case 'send':
    case 'send with a test key':
      return post('messages', email);
    case 'send a letter':
      return post('messages', { ...email, cc: ['bob@example.com'] });
    case 'send a text':
      return post('messages', { channel: 'sms', to: PHONE, body: 'Hi' });
    case 'resend':
      return post(`messages/${String(first?.body.id)}/resend`);
    case 'test a template':
      return post('templates/send_test', { subject: 'Hi', body: '<p>Hi</p>', to: [EMAIL] });
  }
}

function answerOf(entrance: Entrance, { email, text = email, test = email }: Row): Answer {
  if (entrance === 'send with a test key') return 'delivered';
  if (entrance === 'test a template') return test;
  return entrance === 'send a text' ? text : email;
}

const names = Object.keys(rows) as (keyof typeof rows)[];

const cases = names.flatMap((name) => {
  const row = rows[name];
  if (row === null) return [];
  return entrances.map((entrance) => ({ name, entrance, expected: answerOf(entrance, row) }));
});

const nameOf = ({ name, entrance }: (typeof cases)[number]) => `${name}, ${entrance}`;

/** Calls the API in each case. @returns the accepted messages by the names of their cases */
async function enterAll(): Promise<Map<string, number>> {
  const accepted = new Map<string, number>();
  const left = cases.values();
  const work = async () => {
    for (const each of left) {
      const { status, body } = await enter(each.entrance, each.name);
      const [test] = (body.messages ?? []) as unknown as { id: number }[];
      if (status >= 400) answers.set(nameOf(each), `refused: ${String(body.code)}`);
      else accepted.set(nameOf(each), Number(test?.id ?? body.id));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return accepted;
}

beforeAll(async () => {
  // All emails have their price.
  api = await startTestApi({ env: { MONTHLY_EMAILS_FREE: '0', MONTHLY_EMAILS_PAID: '0' } });
  const accepted = await enterAll();
  const waiting = [...accepted.values()].map((messageId) => ({ messageId }));
  const left: number[] = [];
  const sender = await startTestSender({
    ...{ url: api.config.DATABASE_URL ?? '', port: 0 },
    channels: acceptingChannels((id) => left.push(id)),
  });
  try {
    await eventually(async () => {
      const fates = await fatesOf(
        ...[api.database, waiting],
        ({ messageId }) => left.filter((id) => id === messageId).length,
      );
      for (const [n, name] of [...accepted.keys()].entries()) answers.set(name, fates[n] ?? '');
      expect(fates).not.toContainEqual(expect.stringMatching(/waits|claimed/));
    });
  } finally {
    await sender.stop();
  }
});
afterAll(() => api.close());

it.each(names.filter((name) => rows[name]))(
  'what is accepted is refused, waits, ends or leaves: %s',
  (name) => {
    const of = cases.filter((each) => each.name === name);
    expect(Object.fromEntries(of.map((each) => [each.entrance, answers.get(nameOf(each))]))).toEqual(
      Object.fromEntries(of.map(({ entrance, expected }) => [entrance, expected])),
    );
  },
);
