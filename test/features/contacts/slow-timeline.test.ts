// A slow timeline runs apart from other requests, and ends at its time limit.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTimeline } from '../../../src/features/contacts/timeline.ts';
import { type HeavyReads, openHeavyReads } from '../../../src/platform/processes/heavy-reads.ts';
import { pageOf } from '../../../src/platform/db/paging.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';

let api: TestApi;
let heavyReads: HeavyReads;
let contactId: number;
beforeAll(async () => {
  api = await startTestApi();
  heavyReads = openHeavyReads(api.database);
  const created = await api.request('POST', '/v1/my/contacts', { body: { email: 'ada@example.test' } });
  contactId = Number(created.body.id);
  await api.request('POST', '/v1/my/events', { body: { event: 'visited', contact_id: contactId } });
  // Reading one event takes three seconds.
  await api.database.pool.query(`
    alter table contact_events rename to quick_contact_events;
    create view contact_events as select * from quick_contact_events where pg_sleep(3) is not null`);
});
afterAll(async () => {
  await heavyReads.close();
  await api.close();
});

const read = (limits: { quickMs: number; pageMs: number; countMs: number }) => {
  const deps = { pool: api.database.pool, heavyReads };
  return readTimeline(deps, api, contactId, undefined, pageOf({}), limits);
};

describe('a timeline that is slow to read', () => {
  it('is read apart from other requests, and is a 422 if it takes too long', async () => {
    const response = api.request('GET', `/v1/my/contacts/${contactId}/timeline`);
    const pid = await eventually(async () => {
      const { rows } = await api.database.pool.query<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'
           and application_name = 'carillon heavy reads'`,
      );
      if (!rows[0]) throw new Error('nothing sleeps');
      return rows[0].pid;
    });
    // The time limit does the same.
    await api.database.pool.query('select pg_cancel_backend($1)', [pid]);
    const { status, body } = await response;
    expect([status, body.validation_errors]).toEqual([
      422,
      { page: ['takes longer than 5 seconds: request an earlier page, or use before'] },
    ]);
  });

  it('ends at its time limit', async () => {
    const limits = { quickMs: 50, pageMs: 100, countMs: 60_000 };
    await expect(read(limits)).rejects.toMatchObject({ code: 'validation_error' });
  });

  it('has an estimate for a count that takes too long', async () => {
    const { items, counted } = await read({ quickMs: 50, pageMs: 120_000, countMs: 100 });
    expect(items).toHaveLength(2);
    expect(counted).toMatchObject({ estimated: true });
  }, 60_000);
});
