// An operator can approve a campaign only in the versions shown, and a rejection pauses the campaign.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { insertSentCampaign } from '../support/campaign-runs.ts';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';

let made: TestDatabase;
let account: QueuedAccount;
let versionId: number;
beforeAll(async () => {
  made = await createTestDatabase();
  account = await insertAccount(made.database);
  const { rows } = await made.database.pool.query<{ id: number }>(
    `with template as (
       insert into templates (account_id, brand_id, channel, name, subject, body)
       values ($1, $2, 'email', 'Sale', 'Spring sale', '<p>Half price</p>') returning id)
     insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text, paths)
     select id, $1, $2, 'email', '\\x01', 'Spring sale', '<p>Half price</p>', 'Half price', '{}' from template
     returning id`,
    [account.accountId, account.brandId],
  );
  versionId = rows[0]?.id ?? 0;
}, 60_000);
afterAll(() => made.drop());

function carillon(...args: string[]) {
  const settings = { DATABASE_URL: made.url, APP_SECRET: 'a secret that is long enough for the test' };
  return carillonCommand(['campaign', ...args], settings);
}

const insert = (approval: 'pending' | 'not_required') =>
  insertSentCampaign(made.database.pool, account, { approval, versionIds: [versionId] });

async function rowOf(id: number) {
  const { rows } = await made.database.pool.query<{
    status: string;
    approval_state: string;
    stop: { reason: string } | null;
  }>('select status, approval_state, stop from campaigns where id = $1', [id]);
  return rows[0];
}

/** How many signals to the campaign's workflow the outbox contains. */
async function wakes(id: number): Promise<number> {
  const { rows } = await made.database.pool.query<{ count: number }>(
    `select count(*)::int as count from outbox where workflow_id = 'campaign/' || $1::text`,
    [id],
  );
  return rows[0]?.count ?? 0;
}

describe('carillon campaign', () => {
  it('lists the campaigns that wait for approval, and all others if asked', async () => {
    const waiting = await insert('pending');
    const other = await insert('not_required');
    const idsOf = (output: string) => (JSON.parse(output) as { id: number }[]).map(({ id }) => id);
    const listed = await carillon('list');
    expect(listed).toMatchObject({ code: 0, output: expect.stringMatching(/approval\s+pending/) });
    expect(listed.output.match(/^campaign\s+\d+$/gm)).toHaveLength(1);
    const all = await carillon('list', '--all', '--json');
    expect(idsOf(all.output)).toEqual([waiting, other]);
  });

  it('shows a campaign with what its recipients get', async () => {
    const id = await insert('pending');
    const shown = await carillon('show', String(id), '--json');
    expect(shown.code).toBe(0);
    expect(JSON.parse(shown.output)).toMatchObject({
      id,
      ...{ account_id: account.accountId, brand_id: account.brandId, version_ids: [versionId] },
      approval_state: 'pending',
      contents: [
        { version_id: versionId, subject: 'Spring sale', html: '<p>Half price</p>', text: 'Half price' },
      ],
    });
    const none = await carillon('show', '999999');
    expect(none.code).toBe(1);
    expect(none.output).toContain('not found');
  });

  it('approves a campaign with the versions that the operator has seen', async () => {
    const id = await insert('pending');
    expect((await carillon('approve', String(id))).code).toBe(1);
    const stale = await carillon('approve', String(id), '--versions', String(versionId + 1));
    expect(stale).toMatchObject({ code: 1, output: expect.stringContaining('has changed') });
    expect(await rowOf(id)).toMatchObject({ approval_state: 'pending' });
    expect(await carillon('approve', String(id), '--versions', String(versionId))).toMatchObject({ code: 0 });
    expect(await rowOf(id)).toMatchObject({ approval_state: 'approved' });
  });

  it('rejects a campaign, which pauses it and wakes its workflow', async () => {
    const id = await insert('pending');
    expect(await carillon('reject', String(id))).toMatchObject({ code: 0 });
    expect(await rowOf(id)).toMatchObject({
      ...{ status: 'paused', approval_state: 'rejected', stop: { reason: 'rejected' } },
    });
    expect(await wakes(id)).toBe(1);
  });

  it('refuses to reject a campaign that does not wait for approval', async () => {
    const id = await insert('not_required');
    const refused = await carillon('reject', String(id));
    expect(refused.code).toBe(1);
    expect(refused.output).toContain('does not wait for approval');
    expect(await rowOf(id)).toMatchObject({ status: 'active', approval_state: 'not_required' });
    expect(await wakes(id)).toBe(0);
  });
});
