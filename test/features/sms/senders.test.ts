// Each brand sends SMS from one valid sender, and a number belongs to one brand only.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeProvider } from '../../../src/delivery/wire/providers/removal.ts';
import { createSmsSenders } from '../../../src/delivery/terms/sms-senders.ts';
import { addSmsSender, listSmsSenders, removeSmsSender } from '../../../src/features/sms/service.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertAccount } from '../../support/queued.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const sender = { provider: null, keywords: null, helpText: null };

/** Inserts a named provider. @returns its id */
async function insertProvider(name: string, channel: 'email' | 'sms' = 'sms'): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into providers (name, kind, channel, settings_sealed, callback_token_sealed, callback_digest)
     values ($1, 'twilio', $2, 'x', 'x', sha256(convert_to($3, 'UTF8'))) returning id`,
    [name, channel, name],
  );
  return rows[0]?.id ?? 0;
}

async function newBrand(): Promise<number> {
  return (await insertAccount(api.database)).brandId;
}

describe('the SMS sender of a brand', () => {
  it('determines the sender and the provider of each SMS of the brand', async () => {
    const providerId = await insertProvider('twilio-us');
    const { rows } = await api.database.pool.query<{ id: number }>(
      'select id from brands where account_id > 0',
    );
    const brandId = rows[0]?.id ?? 0;
    await addSmsSender(api.database.pool, {
      ...sender,
      brandId,
      provider: 'twilio-us',
      from: '+14155550123',
    });
    const posted = await api.request('POST', '/v1/my/messages', {
      body: { channel: 'sms', to: '+14155552671', body: 'Hello' },
    });
    expect(posted).toMatchObject({ status: 201, body: { from: '+14155550123' } });
    const queued = await api.database.pool.query('select provider_id from send_queue where message_id = $1', [
      posted.body.id,
    ]);
    expect(queued.rows).toEqual([{ provider_id: providerId }]);
  });

  it('is looked up once a second, and no longer used when its provider is removed', async () => {
    const { pool } = api.database;
    const brandId = await newBrand();
    const providerId = await insertProvider('twilio-eu');
    let now = 0;
    let queries = 0;
    const counted = {
      query: ((...args: Parameters<typeof pool.query>) => {
        queries += 1;
        return pool.query(...args);
      }) as typeof pool.query,
    };
    const senderOf = createSmsSenders(counted, () => now);
    expect(await Promise.all([senderOf(brandId), senderOf(brandId)])).toEqual([null, null]);
    await addSmsSender(pool, { ...sender, brandId, provider: 'twilio-eu', from: 'Acme' });
    now = 999;
    expect(await senderOf(brandId)).toBeNull();
    expect(queries).toBe(1);
    now = 1_000;
    expect(await senderOf(brandId)).toEqual({ from: 'Acme', providerId });
    await pool.query('update providers set removed_at = now() where id = $1', [providerId]);
    now = 2_000;
    expect(await senderOf(brandId)).toBeNull();
  });

  it('is looked up again after a failure', async () => {
    const brandId = await newBrand();
    let failing = true;
    const db: Pick<typeof api.database.pool, 'query'> = {
      query: ((...args: Parameters<typeof api.database.pool.query>) =>
        failing ? Promise.reject(new Error('lost')) : api.database.pool.query(...args)) as never,
    };
    const senderOf = createSmsSenders(db, () => 0);
    await expect(senderOf(brandId)).rejects.toThrow('lost');
    failing = false;
    expect(await senderOf(brandId)).toBeNull();
  });

  it.each(['+14155550124', '12345', 'Acme Inc', `MG${'0a'.repeat(16)}`])('may be %s', async (from) => {
    const brandId = await newBrand();
    const row = await addSmsSender(api.database.pool, { ...sender, brandId, from });
    expect(row).toMatchObject({ sender: from, provider: null, takes_replies: from !== 'Acme Inc' });
    expect(await listSmsSenders(api.database.pool, brandId)).toEqual([row]);
    await removeSmsSender(api.database.pool, brandId);
    expect(await listSmsSenders(api.database.pool, brandId)).toEqual([]);
  });

  it.each(['', '+1', '14155550123456', 'a name that is too long', 'Ünal', '+49 151 123', 'MGxx-1234567'])(
    'cannot be "%s"',
    async (from) => {
      const brandId = await newBrand();
      await expect(addSmsSender(api.database.pool, { ...sender, brandId, from })).rejects.toMatchObject({
        code: 'validation_error',
        validationErrors: { from: expect.anything() },
      });
    },
  );

  it('cannot have a provider that is reserved for other accounts', async () => {
    const { pool } = api.database;
    const [ours, theirs] = [await insertAccount(api.database), await insertAccount(api.database)];
    const id = await insertProvider('twilio-reserved');
    await pool.query('update providers set account_ids = $2 where id = $1', [id, [theirs.accountId]]);
    const add = (brandId: number) =>
      addSmsSender(pool, { ...sender, brandId, provider: 'twilio-reserved', from: 'Reserved' });
    await expect(add(ours.brandId)).rejects.toMatchObject({ code: 'not_found' });
    expect(await add(theirs.brandId)).toMatchObject({ provider: 'twilio-reserved' });
  });

  it('is unique for each brand, and a number belongs to one brand', async () => {
    const { pool } = api.database;
    const [one, two] = [await newBrand(), await newBrand()];
    const add = (brandId: number, from: string) => addSmsSender(pool, { ...sender, brandId, from });
    await add(one, '+14155550125');
    await expect(add(one, 'Acme')).rejects.toMatchObject({ code: 'conflict' });
    await expect(add(two, '+14155550125')).rejects.toMatchObject({ code: 'conflict' });
    await removeSmsSender(pool, one);
    await add(two, '+14155550125');
    await add(one, 'Shared');
    const three = await newBrand();
    await expect(add(three, 'Shared')).resolves.toBeDefined();
  });

  it('is removed with its provider, which a removed sender does not protect', async () => {
    const { pool } = api.database;
    const brandId = await newBrand();
    const id = await insertProvider('twilio-old');
    const add = () =>
      addSmsSender(pool, { ...sender, brandId, provider: 'twilio-old', from: '+14155550126' });
    await add();
    const provider = { id, name: 'twilio-old' };
    await expect(removeProvider(pool, provider, { force: false })).rejects.toMatchObject({
      message: expect.stringContaining('1 SMS sender(s)'),
    });
    await removeSmsSender(pool, brandId);
    await add();
    expect(await removeProvider(pool, provider, { force: true })).toMatchObject({ smsSenders: 1 });
    expect(await listSmsSenders(pool, brandId)).toEqual([]);
    expect(await removeProvider(pool, provider, { force: false })).toMatchObject({ smsSenders: 0 });
  });

  it('needs an existing brand, an existing SMS provider and a short help text', async () => {
    const { pool } = api.database;
    await insertProvider('ses-mail', 'email');
    const brandId = await newBrand();
    const add = (input: object) => addSmsSender(pool, { ...sender, brandId, from: 'Acme', ...input });
    await expect(add({ brandId: 999_999 })).rejects.toMatchObject({ code: 'not_found' });
    await expect(add({ provider: 'nobody' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(add({ provider: 'ses-mail' })).rejects.toMatchObject({ code: 'not_found' });
    await expect(add({ helpText: 'x'.repeat(400) })).rejects.toMatchObject({
      validationErrors: { help_text: expect.anything() },
    });
    await expect(add({ keywords: 'x'.repeat(201) })).rejects.toMatchObject({
      validationErrors: { keywords: expect.anything() },
    });
    await expect(removeSmsSender(pool, brandId)).rejects.toMatchObject({ code: 'not_found' });
  });
});
