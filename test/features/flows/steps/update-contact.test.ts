// An update_contact step patches the data of the contact, within the limits of the API.
import { describe, expect, it } from '@jest/globals';
import { insertAccount } from '../../../support/queued.ts';
import { useActingStage } from './acting.ts';

const stage = useActingStage();

describe('a step that updates the contact', () => {
  const update = (data: Record<string, unknown>, run = stage.run()) =>
    stage.act({ type: 'update_contact', id: 4, data }, run);
  async function dataOfContact() {
    const { rows } = await stage.pool.query<{ data: unknown }>('select data from contacts where id = $1', [
      stage.contactId,
    ]);
    return rows[0]?.data;
  }

  it('patches its data: null removes a key', async () => {
    await update({ stage: 'trial', plan: 'pro' });
    expect(await update({ stage: 'active', plan: null })).toEqual({ outcome: 'done' });
    expect(await dataOfContact()).toEqual({ stage: 'active' });
  });

  it('is refused if the contact would have too much data', async () => {
    for (const key of ['a', 'b', 'c']) await update({ [key]: 'x'.repeat(20_000) });
    const result = await update({ d: 'x'.repeat(20_000) });
    expect(result).toMatchObject({ outcome: 'refused', detail: { reason: 'invalid_data' } });
    expect(Object.keys((await dataOfContact()) as object)).toEqual(['a', 'b', 'c']);
  });

  it('is skipped for a deleted contact, and in a test run', async () => {
    const skipped = (reason: string) => ({ outcome: 'skipped', detail: { reason } });
    expect(await update({ a: 1 }, stage.run({ test: true }))).toEqual(skipped('test'));
    expect(await dataOfContact()).toEqual({});
    const other = await insertAccount(stage.db.database);
    const foreign = await update({ a: 1 }, stage.run({ brand_id: other.brandId }));
    expect(foreign).toEqual(skipped('contact_deleted'));
    expect(await dataOfContact()).toEqual({});
  });
});
