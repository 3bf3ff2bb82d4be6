// The contacts API updates the contact that has the address, and changes consent only if the request says so.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';

const PATH = '/v1/my/contacts';
let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const post = (body: unknown, headers: Record<string, string> = {}) =>
  api.request('POST', PATH, { body, headers });
const patch = (id: unknown, body: unknown) => api.request('PATCH', `${PATH}/${String(id)}`, { body });
const get = (id: unknown) => api.request('GET', `${PATH}/${String(id)}`);

async function created(body: Record<string, unknown>): Promise<TestBody> {
  const response = await post(body);
  expect(response.body).toMatchObject({ id: expect.any(Number) });
  expect(response.status).toBe(201);
  return response.body;
}

const channel = (contact: TestBody, kind = 'email') =>
  (contact.channels as unknown as TestBody[]).find((each) => String(each.kind) === kind);

const errorsOf = (response: { status: number; body: TestBody }) => {
  expect(response.status).toBe(422);
  return response.body.validation_errors;
};

async function optOuts(): Promise<number> {
  const { rows } = await api.database.pool.query<{ count: number }>(
    'select count(*) from opt_outs where brand_id = $1 and ended_at is null',
    [api.brandId],
  );
  return rows[0]?.count ?? 0;
}

async function list(name: string): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    'insert into lists (account_id, brand_id, name) values ($1, $2, $3) returning id',
    [api.accountId, api.brandId, name],
  );
  return rows[0]?.id ?? 0;
}

describe('POST /contacts', () => {
  it('refuses a caller without a key', async () => {
    expect((await api.request('POST', PATH, { token: null, body: {} })).status).toBe(401);
  });

  it('creates a contact with every field, subscribed with the time of its opt-in', async () => {
    const id = await list('Everyone');
    const contact = await created({
      first_name: 'Ada',
      last_name: 'Lovelace',
      email: ' Ada@Example.TEST ',
      phone: '(415) 555-0123',
      country_code: 'us',
      source: 'shop',
      list_ids: [id],
      data: { plan: 'pro', gone: null },
    });
    expect(contact).toMatchObject({
      first_name: 'Ada',
      last_name: 'Lovelace',
      source: 'shop',
      country_code: 'US',
      data: { plan: 'pro' },
      subscribed_email: true,
      subscribed_phone: true,
      verification_status: 'unverified',
      enrichment_status: 'not_enriched',
      list_ids: [id],
      last_interacted_at: null,
    });
    expect(contact.data).toEqual({ plan: 'pro' });
    const number = Number(contact.id);
    expect(contact.channels).toMatchObject([
      {
        id: number * 2,
        contact_id: number,
        kind: 'email',
        value: 'Ada@example.test',
        subscribed: true,
        opt_out_at: null,
      },
      { id: number * 2 + 1, contact_id: number, kind: 'phone', value: '+14155550123', subscribed: true },
    ]);
    expect(channel(contact)?.opt_in_at).toEqual(expect.any(String));
    expect((await get(contact.id)).body).toEqual(contact);
  });

  it('updates the contact that has the address, whatever its case', async () => {
    const contact = await created({ email: 'case@example.test', first_name: 'Old', data: { a: 1, b: 2 } });
    const again = await post({ email: 'CASE@Example.test', first_name: 'New', data: { b: null, c: 3 } });
    expect(again.status).toBe(200);
    expect(again.body).toMatchObject({ id: contact.id, first_name: 'New' });
    expect(again.body.data).toEqual({ a: 1, c: 3 });
  });

  it('treats an internationalized domain in both spellings as one address', async () => {
    const contact = await created({ email: 'jo@bücher.test' });
    expect((await post({ email: 'jo@xn--bcher-kva.test' })).body.id).toBe(contact.id);
  });

  it('adds a second address to the contact that has the first', async () => {
    const contact = await created({ email: 'both@example.test' });
    const again = await post({ email: 'both@example.test', phone: '+14155550124' });
    expect(again.body.id).toBe(contact.id);
    expect((await post({ phone: '+14155550124' })).body.id).toBe(contact.id);
  });

  it('refuses the email of one contact with the phone of another', async () => {
    await created({ email: 'one@example.test' });
    await created({ phone: '+14155550125' });
    const response = await post({ email: 'one@example.test', phone: '+14155550125' });
    expect(response.status).toBe(409);
    expect(response.body.code).toBe('conflict');
  });

  it('replaces the phone number of the contact that has the email, however it is given', async () => {
    const { id } = await created({ email: 'moves@example.test', phone: '+14155550133' });
    await patch(id, { channels_attributes: [{ kind: 'email', subscribed: false }] });
    const moved = await post({ email: 'Moves@example.test', phone: '+14155550134' });
    expect([moved.status, moved.body.id]).toEqual([200, id]);
    expect(channel(moved.body, 'phone')).toMatchObject({ value: '+14155550134', subscribed: true });
    expect(channel(moved.body)).toMatchObject({ value: 'Moves@example.test', subscribed: false });
    const channels_attributes = [{ kind: 'phone', value: '+14155550135' }];
    const again = await post({ email: 'moves@example.test', channels_attributes });
    expect(channel(again.body, 'phone')).toMatchObject({ value: '+14155550135' });
    const other = await post({ phone: '+14155550133' });
    expect([other.status, other.body.id === id]).toEqual([201, false]);
    expect((await post({ email: 'moves@example.test', phone: '+14155550133' })).status).toBe(409);
  });

  it('leaves a new number unsubscribed if the contact was', async () => {
    const { id } = await created({ email: 'quiet@example.test', phone: '+14155550136' });
    await patch(id, { channels_attributes: [{ kind: 'phone', subscribed: false }] });
    const moved = await post({ email: 'quiet@example.test', phone: '+14155550137' });
    expect(channel(moved.body, 'phone')).toMatchObject({ value: '+14155550137', subscribed: false });
  });

  it('refuses to replace the email of the contact that has the phone number', async () => {
    const contact = await created({ email: 'pair@example.test', phone: '+14155550131' });
    const response = await post({ email: 'else@example.test', phone: '+14155550131' });
    expect([response.status, response.body.code]).toEqual([409, 'conflict']);
    expect((await get(contact.id)).body).toEqual(contact);
  });

  it('adds the contact to lists, and keeps its other lists', async () => {
    const [one, two] = [await list('One'), await list('Two')];
    await created({ email: 'lists@example.test', list_ids: [one] });
    expect((await post({ email: 'lists@example.test', list_ids: [two] })).body.list_ids).toEqual([one, two]);
  });

  it('replays the response to a repeated key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await post({ email: 'once@example.test' }, headers);
    const second = await post({ email: 'once@example.test' }, headers);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  it.each([
    ['no address', {}, 'email'],
    ['a text that is no address', { email: 'nobody' }, 'email'],
    ['an address with a name', { email: 'Ada <a@example.test>' }, 'email'],
    ['a national number without a country', { phone: '415 555 0123' }, 'phone'],
    ['a number that cannot exist', { phone: '+1415' }, 'phone'],
    ['an unknown country code', { email: 'a@example.test', country_code: 'USA' }, 'country_code'],
    ['data that is no object', { email: 'a@example.test', data: [1] }, 'data'],
    ['a list of nobody', { email: 'a@example.test', list_ids: [999_999] }, 'list_ids'],
    ['an unknown kind', { channels_attributes: [{ kind: 'fax', value: '1' }] }, 'channels_attributes.0.kind'],
    [
      'two channels of a kind',
      {
        channels_attributes: [
          { kind: 'email', value: 'a@example.test' },
          { kind: 'email', value: 'b@example.test' },
        ],
      },
      'channels_attributes.1',
    ],
    [
      'two different emails',
      { email: 'a@example.test', channels_attributes: [{ kind: 'email', value: 'b@example.test' }] },
      'channels_attributes.0',
    ],
    ['a name with a line break', { email: 'a@example.test', first_name: 'a\nb' }, 'first_name'],
    ['an unknown field', { emial: 'a@example.test' }, 'emial'],
  ])('refuses %s', async (_what, body, field) => {
    expect(Object.keys(errorsOf(await post(body)) ?? {})).toContain(field);
  });

  it('refuses a list of another brand', async () => {
    const { rows } = await api.database.pool.query<{ id: number }>(
      `insert into lists (account_id, brand_id, name) values ($1, $2, 'theirs') returning id`,
      [api.other.accountId, api.other.brandId],
    );
    const response = await post({ email: 'foreign@example.test', list_ids: [rows[0]?.id] });
    expect(errorsOf(response)).toHaveProperty('list_ids');
    expect((await api.request('GET', `${PATH}?email=foreign@example.test`)).list).toEqual([]);
  });

  it('measures data in bytes, after the patch', async () => {
    const email = 'big@example.test';
    await created({ email, data: { text: 'é'.repeat(30_000) } });
    expect(errorsOf(await post({ email, data: { more: 'é'.repeat(3_000) } }))).toHaveProperty('data');
    expect((await post({ email, data: { text: null, more: 'x'.repeat(65_000) } })).status).toBe(200);
  });

  it('limits how deep data is nested', async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) });
    expect((await post({ email: 'deep@example.test', data: nested(20) })).status).toBe(201);
    expect(errorsOf(await post({ email: 'deep@example.test', data: nested(21) }))).toHaveProperty('data');
  });
});

describe('subscriptions', () => {
  const unsubscribed = { kind: 'email', subscribed: false };

  it('leaves an unsubscribed address unsubscribed on POST and PATCH', async () => {
    const { id } = await created({ email: 'off@example.test' });
    const off = await patch(id, { channels_attributes: [unsubscribed] });
    expect(off.body.subscribed_email).toBe(false);
    expect(channel(off.body)?.opt_out_at).toEqual(expect.any(String));
    expect((await post({ email: 'off@example.test' })).body.subscribed_email).toBe(false);
    expect((await patch(id, { email: 'OFF@example.test' })).body.subscribed_email).toBe(false);
    const value = 'off@example.test';
    expect((await post({ channels_attributes: [{ kind: 'email', value }] })).body.subscribed_email).toBe(
      false,
    );
  });

  it('subscribes again only if the request says so, with a new time', async () => {
    const { id } = await created({ email: 'back@example.test' });
    await patch(id, { channels_attributes: [unsubscribed] });
    const before = await optOuts();
    const back = await patch(id, { channels_attributes: [{ kind: 'email', subscribed: true }] });
    expect(channel(back.body)).toMatchObject({
      subscribed: true,
      opt_out_at: null,
      opt_in_at: expect.any(String),
    });
    expect(await optOuts()).toBe(before - 1);
  });

  it('keeps a contact unsubscribed when its address changes, together with the new address', async () => {
    const { id } = await created({ email: 'old@example.test' });
    await patch(id, { channels_attributes: [unsubscribed] });
    const moved = await patch(id, { email: 'moved@example.test' });
    expect(channel(moved.body)).toMatchObject({ value: 'moved@example.test', subscribed: false });
    await patch(id, { email: 'third@example.test' });
    expect((await created({ email: 'moved@example.test' })).subscribed_email).toBe(false);
  });

  it('creates an address that is in the opt-out ledger unsubscribed, unless the request says otherwise', async () => {
    const { id } = await created({ email: 'kept@example.test', phone: '+14155550130' });
    await patch(id, { channels_attributes: [unsubscribed] });
    await patch(id, { channels_attributes: [{ kind: 'email', _destroy: true }] });
    expect((await created({ email: 'Kept@example.test' })).subscribed_email).toBe(false);
    const again = { kind: 'email', value: 'kept@example.test', subscribed: true };
    expect((await post({ channels_attributes: [again] })).body.subscribed_email).toBe(true);
  });

  it('records the opt-out of a contact that is created unsubscribed', async () => {
    const before = await optOuts();
    const value = 'never@example.test';
    const contact = await created({ channels_attributes: [{ kind: 'email', value, subscribed: false }] });
    expect(channel(contact)).toMatchObject({ subscribed: false, opt_in_at: null });
    expect(await optOuts()).toBe(before + 1);
  });

  it('responds to an opt-out after the intents under way are marked', async () => {
    const { id } = await created({ email: 'fence@example.test' });
    await api.database.pool.query('update accounts set recipients_changed_at = null where id = $1', [
      api.accountId,
    ]);
    await patch(id, { channels_attributes: [unsubscribed] });
    const { rows } = await api.database.pool.query<{ at: Date | null }>(
      'select recipients_changed_at as at from accounts where id = $1',
      [api.accountId],
    );
    expect(rows[0]?.at).not.toBeNull();
  });
});

describe('PATCH /contacts/{id}', () => {
  it('accepts a contact as the API returned it', async () => {
    const contact = await created({ email: 'echo@example.test', data: { a: { b: [1] } } });
    const response = await patch(contact.id, { ...contact, first_name: 'Echo' });
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ ...contact, first_name: 'Echo', updated_at: response.body.updated_at });
  });

  it('accepts channels as channels_attributes', async () => {
    const contact = await created({ email: 'echo2@example.test', phone: '+14155550140' });
    const response = await patch(contact.id, { channels_attributes: contact.channels });
    expect(response.body).toEqual({ ...contact, updated_at: response.body.updated_at });
  });

  it('replaces the lists', async () => {
    const [one, two] = [await list('A'), await list('B')];
    const { id } = await created({ email: 'relist@example.test', list_ids: [one] });
    expect((await patch(id, { list_ids: [two] })).body.list_ids).toEqual([two]);
    expect((await patch(id, { first_name: 'x' })).body.list_ids).toEqual([two]);
    expect((await patch(id, { list_ids: [] })).body.list_ids).toEqual([]);
  });

  it('changes a channel by its id, and resets what was known about the address', async () => {
    const { id } = await created({ email: 'before@example.test' });
    await api.database.pool.query('update contacts set email_verified = true where id = $1', [id]);
    expect((await get(id)).body.verification_status).toBe('verified');
    const item = { id: Number(id) * 2, value: 'after@example.test' };
    const { body } = await patch(id, { channels_attributes: [item] });
    expect(body.verification_status).toBe('unverified');
    expect(channel(body)).toMatchObject({ value: 'after@example.test', verified: false });
  });

  it('keeps whether the client has enriched the contact', async () => {
    const { id, ...made } = await created({ email: 'rich@example.test', enrichment_status: 'enriched' });
    expect(made.enrichment_status).toBe('enriched');
    expect((await patch(id, { first_name: 'Rich' })).body.enrichment_status).toBe('enriched');
    expect((await patch(id, { enrichment_status: 'not_enriched' })).body.enrichment_status).toBe(
      'not_enriched',
    );
    expect(errorsOf(await patch(id, { enrichment_status: 'rich' }))).toHaveProperty('enrichment_status');
  });

  it('keeps data of a channel, which is patched by key', async () => {
    const item = { kind: 'email', value: 'data@example.test', data: { seat: 'A1', gone: null } };
    const contact = await created({ channels_attributes: [item] });
    expect(channel(contact)).toMatchObject({ value: 'data@example.test', data: { seat: 'A1' } });
    const { id } = contact;
    const change = async (data: unknown) =>
      (await patch(id, { channels_attributes: [{ kind: 'email', data }] })).body;
    expect(channel(await change({ row: 2 }))?.data).toEqual({ seat: 'A1', row: 2 });
    expect(channel(await change({ seat: null }))?.data).toEqual({ row: 2 });
    await post({ email: 'data@example.test', phone: '+14155550145', first_name: 'New' });
    await patch(id, { email: 'data-2@example.test' });
    const { body: shown } = await get(id);
    expect(channel(shown)).toMatchObject({ value: 'data-2@example.test', data: { row: 2 } });
    expect(channel(shown, 'phone')?.data).toEqual({});
    const again = await patch(id, { channels_attributes: shown.channels });
    expect(channel(again.body)?.data).toEqual({ row: 2 });
    const large = await patch(id, {
      channels_attributes: [{ kind: 'phone', data: { a: 'x'.repeat(4_096) } }],
    });
    expect(errorsOf(large)).toEqual({
      'channels_attributes.0.data': ['must have at most 4096 bytes as JSON'],
    });
  });

  it('removes a channel, but not the last one', async () => {
    const { id } = await created({ email: 'two@example.test', phone: '+14155550141' });
    const gone = await patch(id, { channels_attributes: [{ kind: 'phone', _destroy: true }] });
    expect(gone.body).toMatchObject({ subscribed_phone: false, channels: [{ kind: 'email' }] });
    const last = await patch(id, { channels_attributes: [{ id: Number(id) * 2, _destroy: true }] });
    expect(errorsOf(last)).toHaveProperty('channels_attributes');
  });

  it('uses the stored country for a national number', async () => {
    const { id } = await created({ email: 'nat@example.test', country_code: 'DE' });
    const { body } = await patch(id, { phone: '030 123456' });
    expect(channel(body, 'phone')).toMatchObject({ value: '+4930123456' });
  });

  it('refuses the address of another contact', async () => {
    await created({ email: 'taken@example.test' });
    const { id } = await created({ email: 'wants@example.test' });
    expect((await patch(id, { email: 'Taken@example.test' })).status).toBe(409);
  });

  it.each([
    ['a channel of another contact', [{ id: 1, subscribed: false }], 'channels_attributes.0.id'],
    ['a channel without kind and id', [{ subscribed: false }], 'channels_attributes.0.kind'],
    ['a channel that the contact has not', [{ kind: 'phone', subscribed: false }], 'channels_attributes'],
  ])('refuses %s', async (_what, items, field) => {
    const { id } = await created({ email: `bad-${Math.random()}@example.test` });
    expect(Object.keys(errorsOf(await patch(id, { channels_attributes: items })) ?? {})).toContain(field);
  });

  it('hides contacts of another brand', async () => {
    const { id } = await created({ email: 'hidden@example.test' });
    const token = api.other.apiKey;
    expect((await api.request('GET', `${PATH}/${String(id)}`, { token })).status).toBe(404);
    expect((await api.request('PATCH', `${PATH}/${String(id)}`, { token, body: {} })).status).toBe(404);
  });
});

describe('verification_status', () => {
  it('is suppressed while an address of the contact has an active suppression', async () => {
    const contact = await created({ email: 'Bounced@example.test' });
    const body = { email: 'bounced@example.test' };
    const suppression = await api.request('POST', '/v1/my/suppressions', { body });
    expect((await get(contact.id)).body.verification_status).toBe('suppressed');
    await api.request('DELETE', `/v1/my/suppressions/${String(suppression.body.id)}`);
    expect((await get(contact.id)).body.verification_status).toBe('unverified');
  });
});

describe('many at once', () => {
  it('creates one contact for fifty requests with the same address', async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        post({ email: 'crowd@example.test', data: { [`k${index}`]: index } }),
      ),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(49);
    const { body } = await get(responses[0]?.body.id);
    expect(Object.keys(body.data ?? {})).toHaveLength(50);
  });

  it('never fails for requests with crossing addresses', async () => {
    const emails = Array.from({ length: 5 }, (_, index) => `cross-${index}@example.test`);
    const phones = Array.from({ length: 5 }, (_, index) => `+1415555020${index}`);
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        post({ email: emails[index % 5], phone: phones[Math.floor(index / 5) % 5] }),
      ),
    );
    for (const { status } of responses) expect([200, 201, 409]).toContain(status);
    for (const email of emails) {
      expect((await api.request('GET', `${PATH}?email=${email}`)).list.length).toBeLessThanOrEqual(1);
    }
  });

  it('never fails when contacts swap their addresses', async () => {
    const one = await created({ email: 'swap-1@example.test' });
    const two = await created({ email: 'swap-2@example.test' });
    const addresses = ['swap-1@example.test', 'swap-2@example.test', 'swap-3@example.test'];
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        patch(index % 2 ? one.id : two.id, { email: addresses[index % 3] }),
      ),
    );
    for (const { status } of responses) expect([200, 409]).toContain(status);
  });
});
