// A request that says that a contact is unsubscribed unsubscribes it, in whichever field; copies never subscribe.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { lockConsent } from '../../../src/features/contacts/service.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';

const PATH = '/v1/my/contacts';
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const post = (body: unknown) => api.request('POST', PATH, { body });
const patch = (id: unknown, body: unknown) => api.request('PATCH', `${PATH}/${String(id)}`, { body });

async function created(body: Record<string, unknown>): Promise<TestBody> {
  const response = await post(body);
  expect(response.body).toMatchObject({ id: expect.any(Number) });
  return response.body;
}

const channels = (contact: TestBody) => contact.channels as unknown as TestBody[];
const resubscribe = (id: unknown, kind = 'email') =>
  patch(id, { channels_attributes: [{ kind, subscribed: true }] });

async function countOptOuts(): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'select count(*) from opt_outs where brand_id = $1 and ended_at is null',
    [api.brandId],
  );
  return rows[0]?.count ?? 0;
}

describe('a new contact', () => {
  const email = 'new@no.test';
  const phone = '+14155550101';
  const cases: [string, Record<string, unknown>, string][] = [
    ['subscribed_email', { email: 'a@no.test', subscribed_email: false }, 'subscribed_email'],
    ['subscribed_phone', { phone: '+14155550102', subscribed_phone: false }, 'subscribed_phone'],
    [
      'one of two',
      { email: 'b@no.test', phone: '+14155550103', subscribed_phone: false },
      'subscribed_phone',
    ],
    ['channels by kind', { email, channels: [{ kind: 'email', subscribed: false }] }, 'subscribed_email'],
    [
      'channels with the address',
      { phone, channels: [{ kind: 'phone', value: phone, subscribed: false, sent_count: 3 }] },
      'subscribed_phone',
    ],
    [
      'channels_attributes beside it',
      {
        channels_attributes: [{ kind: 'email', value: 'c@no.test', data: { a: 1 } }],
        subscribed_email: false,
      },
      'subscribed_email',
    ],
  ];
  it.each(cases)('is unsubscribed by %s, and the ledger has it', async (_name, body, field) => {
    const before = await countOptOuts();
    const contact = await created(body);
    expect(contact[field]).toBe(false);
    expect(await countOptOuts()).toBe(before + 1);
  });

  it('keeps the subscription of its other channel', async () => {
    const contact = await created({ email: 'd@no.test', phone: '+14155550104', subscribed_email: false });
    expect(contact).toMatchObject({ subscribed_email: false, subscribed_phone: true });
  });
});

describe('a known contact', () => {
  const forms: [string, (contact: TestBody) => Record<string, unknown>][] = [
    ['subscribed_email', () => ({ subscribed_email: false })],
    ['channels by kind', () => ({ channels: [{ kind: 'email', subscribed: false }] })],
    ['channels by id', (contact) => ({ channels: [{ id: channels(contact)[0]?.id, subscribed: false }] })],
    [
      'a copy with the flag changed',
      (contact) => ({ ...contact, first_name: 'Ada', subscribed_email: false }),
    ],
    [
      'a copy with its channel changed',
      (contact) => ({
        ...contact,
        channels: channels(contact).map((each) => ({ ...each, subscribed: false })),
      }),
    ],
  ];
  it.each(forms)('is unsubscribed in a PATCH by %s', async (name, bodyOf) => {
    const contact = await created({ email: `${name.replaceAll(' ', '.')}@patch.no.test` });
    const before = await countOptOuts();
    const response = await patch(contact.id, bodyOf(contact));
    expect(response.status).toBe(200);
    expect(response.body.subscribed_email).toBe(false);
    expect(channels(response.body)[0]).toMatchObject({ subscribed: false, opt_out_at: expect.any(String) });
    expect(await countOptOuts()).toBe(before + 1);
  });

  it('is unsubscribed in a POST by its address', async () => {
    const { id } = await created({ email: 'known@no.test', phone: '+14155550110' });
    const response = await post({ phone: '+14155550110', subscribed_email: false });
    expect(response.body).toMatchObject({ id, subscribed_email: false, subscribed_phone: true });
  });

  it('stays unsubscribed with a new address', async () => {
    const { id } = await created({ email: 'moving@no.test' });
    const { body } = await patch(id, { email: 'moved@no.test', subscribed_email: false });
    expect(body.subscribed_email).toBe(false);
    expect((await created({ email: 'moved@no.test' })).subscribed_email).toBe(false);
  });

  it('responds after the intents under way are marked', async () => {
    const { id } = await created({ email: 'fence@no.test' });
    const reset = 'update accounts set recipients_changed_at = null where id = $1';
    await api.database.pool.query(reset, [api.accountId]);
    await patch(id, { subscribed_email: false });
    const { rows } = await api.database.pool.query<{ at: Date | null }>(
      'select recipients_changed_at as at from accounts where id = $1',
      [api.accountId],
    );
    expect(rows[0]?.at).not.toBeNull();
  });
});

it('does not say that it has unsubscribed a contact whom another request subscribes meanwhile', async () => {
  const { id } = await created({ email: 'race@no.test', subscribed_email: false });
  const { pool } = api.database;
  const client = await pool.connect();
  let response;
  try {
    await client.query('begin');
    await lockConsent(client, api.brandId, 'alone');
    await client.query('update contacts set email_subscribed = true where id = $1', [id]);
    const waiting = patch(id, { subscribed_email: false });
    await eventually(async () => expect(await countWaiting(pool, `locktype = 'advisory'`)).toBe(1));
    await client.query('commit');
    response = await waiting;
  } finally {
    client.release();
  }
  expect([response.status, response.body.message]).toEqual([409, expect.stringContaining('try again')]);
  expect((await patch(id, { subscribed_email: false })).body.subscribed_email).toBe(false);
});

describe('a copy', () => {
  it('that was read before an opt-out never subscribes again', async () => {
    const stale = await created({ email: 'stale@no.test', phone: '+14155550120' });
    await patch(stale.id, { subscribed_email: false, subscribed_phone: false });
    for (const body of [
      { ...stale, first_name: 'Stale' },
      { subscribed_email: true, subscribed_phone: true },
    ]) {
      const response = await patch(stale.id, body);
      expect(response.status).toBe(200);
      expect(response.body).toMatchObject({ subscribed_email: false, subscribed_phone: false });
    }
    const again = await post({ email: 'stale@no.test', subscribed_email: true });
    expect(again.body.subscribed_email).toBe(false);
  });

  it('of an unsubscribed contact changes nothing but what was edited', async () => {
    const { id } = await created({ email: 'off@no.test' });
    const { body: off } = await patch(id, { subscribed_email: false });
    const { body } = await patch(id, { ...off, last_name: 'Off' });
    expect(body).toEqual({ ...off, last_name: 'Off', updated_at: body.updated_at });
  });

  it('of an unsubscribed contact takes channels_attributes that subscribe', async () => {
    const { id } = await created({ email: 'back@no.test' });
    const { body: off } = await patch(id, { subscribed_email: false });
    const attributes = [{ kind: 'email', subscribed: true }];
    expect((await patch(id, { ...off, channels_attributes: attributes })).body.subscribed_email).toBe(true);
  });

  it('may lack a channel that the contact has not', async () => {
    const contact = await created({ email: 'one@no.test' });
    const { status, body } = await patch(contact.id, { ...contact, first_name: 'One' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ first_name: 'One', subscribed_email: true });
  });
});

describe('contradictions and what cannot be changed there', () => {
  const value = 'edge@no.test';
  let contact: TestBody;
  beforeAll(async () => {
    contact = await created({ email: value, phone: '+14155550130' });
  });

  const [email, phone] = [
    { kind: 'email', value },
    { kind: 'phone', value: '+14155550130' },
  ];
  const cases: [string, Record<string, unknown>, string][] = [
    [
      'subscribing and unsubscribing in one request',
      { subscribed_email: false, channels_attributes: [{ kind: 'email', subscribed: true }] },
      'subscribed_email',
    ],
    ['a text for a flag', { subscribed_email: 'no' }, 'subscribed_email'],
    [
      'a text for a channel’s flag',
      { channels: [{ ...email, subscribed: '0' }, phone] },
      'channels.0.subscribed',
    ],
    ['another address', { channels: [{ ...email, value: 'other@no.test' }, phone] }, 'channels.0.value'],
    ['a text that is no address', { channels: [email, { ...phone, value: '12' }] }, 'channels.1.value'],
    ['other data', { channels: [{ ...email, data: { a: 2 } }, phone] }, 'channels.0.data'],
    ['fewer channels', { channels: [email] }, 'channels'],
    ['a channel of another contact', { channels: [{ id: 1, subscribed: false }] }, 'channels.0.id'],
    ['a channel without a kind', { channels: [{ subscribed: false }] }, 'channels.0.kind'],
  ];
  it.each(cases)('refuses %s', async (_name, body, field) => {
    const response = await patch(contact.id, body);
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toHaveProperty([field]);
    const { body: after } = await api.request('GET', `${PATH}/${String(contact.id)}`);
    expect(after).toEqual(contact);
  });

  it('names channels_attributes', async () => {
    const { body } = await patch(contact.id, { channels: [{ ...email, value: 'other@no.test' }, phone] });
    expect(JSON.stringify(body.validation_errors)).toContain('channels_attributes');
  });

  it('refuses a new contact whose only address is in a copy', async () => {
    const response = await post({ first_name: 'Copy', channels: [{ kind: 'email', value: 'copy@no.test' }] });
    expect(response.status).toBe(422);
    expect(JSON.stringify(response.body.validation_errors)).toContain('channels_attributes');
  });

  it('subscribes again when asked to', async () => {
    const { id } = await created({ email: 'again@no.test', subscribed_email: false });
    expect((await resubscribe(id)).body.subscribed_email).toBe(true);
  });
});
