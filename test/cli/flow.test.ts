// An operator sees all that a flow sends and approves those versions, and a rejection pauses the flow.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { carillonCommand } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount, type QueuedAccount } from '../support/queued.ts';

let made: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  made = await createTestDatabase();
  account = await insertAccount(made.database);
}, 60_000);
afterAll(() => made.drop());

function carillon(...args: string[]) {
  const settings = { DATABASE_URL: made.url, APP_SECRET: 'a secret that is long enough for the test' };
  return carillonCommand(['flow', ...args], settings);
}

/** Inserts an active flow with one email. @returns the id of the flow, and the versions that an approval names */
async function insertFlow(approval: 'pending' | 'not_required'): Promise<{ id: number; versions: number[] }> {
  const { rows } = await made.database.pool.query<{ id: number; versions: number[] }>(
    `with flow as (
       insert into flows (account_id, brand_id, name, status, approval_state, trigger_event)
       values ($1, $2, 'Welcome', 'active', $3, 'signed_up') returning id),
     template as (
       insert into templates (account_id, brand_id, channel, flow_id, action_id, subject, body)
       select $1, $2, 'email', id, 1, 'Hi', '<p>Hello</p>' from flow returning id),
     content as (
       insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text, paths)
       select id, $1, $2, 'email', '\\x01', 'Hi', '<p>Hello</p>', 'Hello', '{}' from template returning id, template_id),
     version as (
       insert into flow_versions (flow_id, n, steps)
       select flow.id, 1, jsonb_build_array(jsonb_build_object('type', 'email', 'id', 1, 'template_id', template.id))
       from flow, template returning id)
     select flow.id, array[version.id, content.id] as versions, content.template_id from flow, version, content`,
    [account.accountId, account.brandId, approval],
  );
  const { id, versions } = rows[0] as { id: number; versions: number[] };
  const [versionId, contentId] = versions;
  await made.database.pool.query(
    `update flows set pending = jsonb_build_object('version_id', $2::bigint, 'move', false, 'contents', jsonb_build_array(
       jsonb_build_object('step_id', 1, 'template_id', (select template_id from template_versions where id = $3),
         'version_id', $3::bigint))) where id = $1 and approval_state = 'pending'`,
    [id, versionId, contentId],
  );
  return { id, versions };
}

async function rowOf(id: number) {
  const { rows } = await made.database.pool.query<Record<string, unknown>>(
    `select status, approval_state, version_id, pending, stop ->> 'reason' as stop,
       (select version_id from flow_contents where flow_id = id) as content from flows where id = $1`,
    [id],
  );
  return rows[0];
}

describe('carillon flow', () => {
  it('lists the flows that wait for approval, and all others if asked', async () => {
    const waiting = await insertFlow('pending');
    const other = await insertFlow('not_required');
    const idsOf = (output: string) => (JSON.parse(output) as { id: number }[]).map(({ id }) => id);
    expect(idsOf((await carillon('list', '--json')).output)).toEqual([waiting.id]);
    expect(idsOf((await carillon('list', '--all', '--json')).output)).toEqual([waiting.id, other.id]);
  });

  it('shows the steps with all that they send, and approves what was shown', async () => {
    const { id, versions } = await insertFlow('pending');
    const shown = await carillon('show', String(id));
    expect(shown).toMatchObject({ code: 0, output: expect.stringContaining(versions.join(',')) });
    for (const text of ['steps[0]', 'Hi', '<p>Hello</p>', '"type": "email"', 'signed_up']) {
      expect(shown.output).toContain(text);
    }
    expect((await carillon('approve', String(id))).code).toBe(1);
    const stale = await carillon(
      'approve',
      String(id),
      '--versions',
      `${versions[0]},${(versions[1] ?? 0) + 1}`,
    );
    expect(stale).toMatchObject({ code: 1, output: expect.stringContaining('has changed') });
    expect(await rowOf(id)).toMatchObject({ approval_state: 'pending', version_id: null, content: null });
    expect(await carillon('approve', String(id), '--versions', versions.join(','))).toMatchObject({
      code: 0,
    });
    expect(await rowOf(id)).toMatchObject({
      ...{ status: 'active', approval_state: 'approved', pending: null },
      ...{ version_id: versions[0], content: versions[1] },
    });
  });

  it('rejects a flow, which pauses it', async () => {
    const { id } = await insertFlow('pending');
    expect(await carillon('reject', String(id))).toMatchObject({ code: 0 });
    expect(await rowOf(id)).toMatchObject({ status: 'paused', approval_state: 'rejected', stop: 'rejected' });
    const { id: other } = await insertFlow('not_required');
    const refused = await carillon('reject', String(other));
    expect(refused).toMatchObject({ code: 1, output: expect.stringContaining('does not wait for approval') });
  });
});
