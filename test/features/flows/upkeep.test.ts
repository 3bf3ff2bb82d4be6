// Housekeeping of flows deletes only events, versions and contents that no run or approval still needs.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { forgetContactInFlows } from '../../../src/features/flows/run/removal.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import type { HousekeepingDependencies } from '../../../src/platform/housekeeping/task.ts';
import { insertContacts } from '../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

const log = pino({ level: 'silent' });
const asOf = new Date('2026-03-10T12:00:00Z');
const atNight = new Date('2026-03-10T02:30:00Z');
const LONG_AGO = '2024-01-01';

let db: TestDatabase;
let account: QueuedAccount;
beforeAll(async () => {
  db = await createTestDatabase();
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
});
afterAll(() => db.drop());

async function one<Row extends object>(sql: string, values: unknown[]): Promise<Row> {
  const { rows } = await db.database.pool.query<Row>(sql, values);
  return rows[0] as Row;
}

function run(name: string, time = asOf): Promise<number> {
  const deps: HousekeepingDependencies = { config: loadConfig({}), database: db.database, log, ...upkeep };
  const task = upkeep.tasks.find((each) => each.name === name);
  if (!task) throw new Error(`no task ${name}`);
  return task.run(deps, time, () => undefined);
}

/** Inserts a flow with the content of a step, and a run that follows its first version. */
async function insertFlow(removedAt: string | null): Promise<{ flowId: number; templateId: number }> {
  const { id: flowId } = await one<{ id: number }>(
    `insert into flows (account_id, brand_id, name, status) values ($1, $2, 'Welcome', 'active') returning id`,
    [account.accountId, account.brandId],
  );
  const { id: templateId } = await one<{ id: number }>(
    `insert into templates (account_id, brand_id, flow_id, action_id, removed_at) values ($1, $2, $3, 1, $4) returning id`,
    [account.accountId, account.brandId, flowId, removedAt],
  );
  await one('insert into flow_contents (flow_id, step_id, template_id, version_id) values ($1, 1, $2, 1)', [
    flowId,
    templateId,
  ]);
  await one(
    `with versions as (insert into flow_versions (flow_id, n, steps) values ($1, 1, $2), ($1, 2, '[]') returning id)
     update flows set version_id = (select max(id) from versions) where id = $1`,
    [flowId, JSON.stringify([{ type: 'split', id: 2, yes: [{ type: 'email', id: 1 }] }])],
  );
  await one(
    `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
     select $1, $2, $3, min(id), 1, 'e1', '{}' from flow_versions where flow_id = $3`,
    [account.accountId, account.brandId, flowId],
  );
  return { flowId, templateId };
}

const isLeft = async (table: 'flow_contents' | 'templates', column: string, id: number) =>
  (await one<{ left: boolean }>(`select exists (select 1 from ${table} where ${column} = $1) as left`, [id]))
    .left;

describe('housekeeping of flows', () => {
  describe('deletes runs that ended long ago', () => {
    const insertRun = async (flowId: number, contactId: number, endedAt: string | null, test = false) =>
      (
        await one<{ id: number }>(
          `insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record, event, test,
             state, ended_at)
           values ($1, $2, $3, 1, $4, gen_random_uuid()::text, '{"schema": 2}', '{"id": 1}', $5,
             case when $6::timestamptz is null then 'active' else 'completed' end, $6) returning id`,
          [account.accountId, account.brandId, flowId, contactId, test, endedAt],
        )
      ).id;
    const emptyFlow = async (reentry: unknown, status = 'active') =>
      (
        await one<{ id: number }>(
          `insert into flows (account_id, brand_id, name, status, trigger_data) values ($1, $2, 'Welcome', $4, $3) returning id`,
          [account.accountId, account.brandId, JSON.stringify({ reentry }), status],
        )
      ).id;
    const runsOf = async (flowId: number) =>
      (
        await db.database.pool.query<{ id: number; record: object }>(
          'select id, record from flow_runs where flow_id = $1 order by id',
          [flowId],
        )
      ).rows;
    let contactId: number;
    beforeEach(async () => {
      [contactId = 0] = await insertContacts(db.database.pool, account, 1);
    });

    it('but keeps the last of each contact without its path', async () => {
      const flowId = await emptyFlow({ after_seconds: 60 });
      await insertRun(flowId, contactId, LONG_AGO);
      const last = await insertRun(flowId, contactId, LONG_AGO);
      const ofTest = await insertRun(flowId, contactId, LONG_AGO, true);
      await one(
        `insert into flow_run_steps (run_id, flow_id, step_id, n, type, entered_at)
         values ($1, $2, 1, 1, 'exit', now())`,
        [last, flowId],
      );
      await run('flow_runs');
      expect(await runsOf(flowId)).toEqual([
        { id: last, record: {} },
        { id: ofTest, record: {} },
      ]);
      expect(await one('select 1 from flow_run_steps where run_id = $1', [last])).toBeUndefined();
      const newer = await insertRun(flowId, contactId, '2024-02-01');
      await run('flow_runs');
      expect((await runsOf(flowId)).map(({ id }) => id)).toEqual([ofTest, newer]);
    });

    it('but not active or more recent ones', async () => {
      const flowId = await emptyFlow('every_time');
      const kept = [
        await insertRun(flowId, contactId, null),
        await insertRun(flowId, contactId, '2026-03-01'),
      ];
      await run('flow_runs');
      expect((await runsOf(flowId)).map(({ id }) => id)).toEqual(kept);
    });

    it.each([
      ['of a flow that may be entered every time', 'every_time', 'active'],
      ['of an archived flow', 'once', 'archived'],
    ])('%s', async (_which, reentry, status) => {
      const flowId = await emptyFlow(reentry, status);
      await insertRun(flowId, contactId, LONG_AGO);
      await run('flow_runs');
      expect(await runsOf(flowId)).toEqual([]);
    });

    it('of a contact who was deleted', async () => {
      const flowId = await emptyFlow('once');
      await insertRun(flowId, contactId + 1_000_000, LONG_AGO);
      await run('flow_runs');
      expect(await runsOf(flowId)).toEqual([]);
    });

    it('and the runs kept for re-entry when their flow is archived or their contact deleted', async () => {
      const flowId = await emptyFlow('once');
      await insertRun(flowId, contactId, LONG_AGO);
      const [other = 0] = await insertContacts(db.database.pool, account, 1, 'other');
      const left = await insertRun(flowId, other, LONG_AGO);
      await run('flow_runs');
      await forgetContactInFlows(db.database.pool, { contactId }, 10);
      expect(await runsOf(flowId)).toEqual([{ id: left, record: {} }]);
      await run('last_flow_runs', atNight);
      expect(await runsOf(flowId)).toHaveLength(1);
      await db.database.pool.query(`update flows set status = 'archived' where id = $1`, [flowId]);
      await run('last_flow_runs', atNight);
      expect(await runsOf(flowId)).toEqual([]);
    });

    it.each([
      ['of a flow that may be entered every time', 'every_time', 0, false],
      ['of a contact who was deleted', 'once', 1_000_000, false],
      ['before a newer run', 'once', 0, true],
    ])('and what earlier versions kept: %s', async (_which, reentry, offset, newer) => {
      const flowId = await emptyFlow(reentry);
      const old = await insertRun(flowId, contactId + offset, LONG_AGO);
      await one(`update flow_runs set record = '{}' where id = $1`, [old]);
      if (newer) await insertRun(flowId, contactId, null);
      await run('last_flow_runs', atNight);
      expect((await runsOf(flowId)).map(({ id }) => id)).not.toContain(old);
    });
  });

  it('deletes events that arrived while their run ended', async () => {
    const { flowId } = await insertFlow(null);
    await one(
      `insert into flow_arrivals (run_id, step_id, event_id, occurred_at)
       select id, 0, 1, now() from flow_runs where flow_id = $1`,
      [flowId],
    );
    await run('late_flow_arrivals');
    const left =
      'select count(*) as n from flow_arrivals a join flow_runs r on r.id = a.run_id where r.flow_id = $1';
    expect(await one(left, [flowId])).toEqual({ n: 1 });
    await db.database.pool.query(`update flow_runs set state = 'exited', ended_at = $2 where flow_id = $1`, [
      flowId,
      LONG_AGO,
    ]);
    await run('late_flow_arrivals');
    expect(await one(left, [flowId])).toEqual({ n: 0 });
  });

  it('keeps the content of a removed step while a run may reach it', async () => {
    const { flowId, templateId } = await insertFlow(LONG_AGO);
    await run('removed_flow_contents');
    await run('removed_templates');
    expect(await isLeft('templates', 'id', templateId)).toBe(true);
    await db.database.pool.query(`update flow_runs set state = 'completed' where flow_id = $1`, [flowId]);
    await run('removed_flow_contents');
    await run('removed_templates');
    expect([
      await isLeft('flow_contents', 'flow_id', flowId),
      await isLeft('templates', 'id', templateId),
    ]).toEqual([false, false]);
  });

  it('keeps the content of a step while its removal waits for approval, or was rejected', async () => {
    const { flowId } = await insertFlow(LONG_AGO);
    await db.database.pool.query(
      `update flows f set version_id = v.first, approval_state = 'pending',
         pending = jsonb_build_object('version_id', f.version_id, 'contents', '[]'::jsonb)
       from (select min(id) as first from flow_versions where flow_id = $1) v where f.id = $1`,
      [flowId],
    );
    await run('removed_flow_contents');
    expect(await isLeft('flow_contents', 'flow_id', flowId)).toBe(true);
    await db.database.pool.query(
      `update flows set approval_state = 'rejected', pending = null where id = $1`,
      [flowId],
    );
    await run('removed_flow_contents');
    expect(await isLeft('flow_contents', 'flow_id', flowId)).toBe(true);
  });

  it('keeps the contents of steps that the flow has', async () => {
    const { flowId } = await insertFlow(null);
    await db.database.pool.query(`update flow_runs set state = 'completed' where flow_id = $1`, [flowId]);
    await run('removed_flow_contents');
    expect(await isLeft('flow_contents', 'flow_id', flowId)).toBe(true);
  });

  it('deletes unused versions that are not among the newest ten', async () => {
    const { flowId } = await insertFlow(null);
    const { pool } = db.database;
    await pool.query(
      `insert into flow_versions (flow_id, n, steps, created_at)
       select $1, n, '[]', $2 from generate_series(3, 16) n`,
      [flowId, LONG_AGO],
    );
    await pool.query('update flow_versions set created_at = $2 where flow_id = $1', [flowId, LONG_AGO]);
    const idOf = async (n: number) =>
      (await one<{ id: number }>('select id from flow_versions where flow_id = $1 and n = $2', [flowId, n]))
        .id;
    await pool.query(
      `update flows set pending = jsonb_build_object('version_id', $2::bigint) where id = $1`,
      [...[flowId, await idOf(4)]],
    );
    await pool.query(
      `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
       values ($1, $2, $3, 'move', 1, jsonb_build_object('version_id', $4::bigint))`,
      [account.accountId, account.brandId, flowId, await idOf(5)],
    );
    const left = async () =>
      (
        await pool.query<{ n: number }>('select n from flow_versions where flow_id = $1 order by n', [flowId])
      ).rows.map(({ n }) => n);
    await run('flow_versions');
    const newest = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
    expect(await left()).toEqual([1, 2, 4, 5, ...newest]);
    await pool.query(`update flow_runs set state = 'completed' where flow_id = $1`, [flowId]);
    await pool.query('delete from flow_changes where flow_id = $1', [flowId]);
    await pool.query('update flows set pending = null where id = $1', [flowId]);
    await run('flow_versions');
    expect(await left()).toEqual([2, ...newest]);
  });

  it('deletes candidates of flows that no segment feeds', async () => {
    const insert = async (status: string, approval: string) => {
      const { id } = await one<{ id: number }>(
        `insert into flows (account_id, brand_id, name, status, approval_state, segment_id)
         values ($1, $2, 'Welcome', $3, $4, 1) returning id`,
        [account.accountId, account.brandId, status, approval],
      );
      await db.database.pool.query('insert into flow_candidates (flow_id, contact_id) values ($1, 1)', [id]);
      return id;
    };
    const active = await insert('active', 'approved');
    const others = [
      await insert('active', 'pending'),
      await insert('paused', 'not_required'),
      await insert('archived', 'not_required'),
    ];
    await run('flow_candidates');
    const { rows } = await db.database.pool.query<{ flow_id: number }>(
      'select flow_id from flow_candidates where flow_id = any($1)',
      [[active, ...others]],
    );
    expect(rows).toEqual([{ flow_id: active }]);
  });
});
