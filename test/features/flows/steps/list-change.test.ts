// Steps that add the contact to a list or remove it report whether that changed anything.
import { describe, expect, it } from '@jest/globals';
import { insertList } from '../../../support/campaign-runs.ts';
import { insertAccount } from '../../../support/queued.ts';
import { useActingStage } from './acting.ts';

const stage = useActingStage();

describe('a step that changes a list', () => {
  const change = (type: 'add_to_list' | 'remove_from_list', listId: number, run = stage.run()) =>
    stage.act({ type, id: 4, list_id: listId }, run);
  async function listsOfContact() {
    const { rows } = await stage.pool.query<{ list_id: number }>(
      'select list_id from list_members where contact_id = $1',
      [stage.contactId],
    );
    return rows.map((row) => row.list_id);
  }
  const done = (changed: boolean) => ({ outcome: 'done', detail: { changed } });

  it('adds and removes the contact, and reports whether that changed anything', async () => {
    const listId = await insertList(stage.pool, stage.account);
    expect(await change('add_to_list', listId)).toEqual(done(true));
    expect(await change('add_to_list', listId)).toEqual(done(false));
    expect(await listsOfContact()).toEqual([listId]);
    expect(await change('remove_from_list', listId)).toEqual(done(true));
    expect(await change('remove_from_list', listId)).toEqual(done(false));
    expect(await listsOfContact()).toEqual([]);
  });

  it('is skipped if the list is deleted or belongs to another brand, and in a test run', async () => {
    const skipped = (reason: string) => ({ outcome: 'skipped', detail: { reason } });
    const listId = await insertList(stage.pool, stage.account);
    const foreign = await insertList(stage.pool, await insertAccount(stage.db.database));
    expect(await change('add_to_list', listId, stage.run({ test: true }))).toEqual(skipped('test'));
    expect(await change('add_to_list', foreign)).toEqual(skipped('list_deleted'));
    await stage.pool.query('update lists set removed_at = now() where id = $1', [listId]);
    expect(await change('add_to_list', listId)).toEqual(skipped('list_deleted'));
    expect(await listsOfContact()).toEqual([]);
  });
});
