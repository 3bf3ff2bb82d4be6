// A bulk action changes and counts each contact once, even if the worker and the database are killed.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { BulkAction } from '../../src/features/bulk-actions/schema.ts';
import { insertContacts } from '../support/contacts.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';

const { contacts: count, kills } = scale.bulkActions;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);

async function request<T>(method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
    method,
    headers: { authorization: `Bearer ${stage.apiKey}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const query = async (text: string, values: unknown[] = []) =>
  (await stage.database.pool.query<{ n: number }>(text, values)).rows[0]?.n;

const isRunning = async (id: number) =>
  (await query('select 1 as n from bulk_actions where id = $1 and finished_at is null', [id])) === 1;

async function killAtRandom(id: number, name: string): Promise<number> {
  let killed = 0;
  for (; killed < kills; killed += 1) {
    await delay(300 + fractionOf(1, `${name}-moment-${killed}`) * 1_500);
    if (!(await eventually(() => isRunning(id), 60_000))) break;
    const victim = fractionOf(1, `${name}-victim-${killed}`) < 0.6 ? stage.worker : stage.postgres;
    await victim.kill();
    await victim.start();
  }
  return killed;
}

const effects = {
  unsubscribe: `select count(*)::int as n from opt_outs where source = 'manual'`,
  delete: 'select count(*)::int as n from contacts where email like $1',
};

it.each([
  { action: 'unsubscribe' as const, left: count },
  { action: 'delete' as const, left: 0 },
])(
  'does $action to each contact once, whenever the worker and the database are killed',
  async ({ action, left }) => {
    const { accountId } = stage;
    const brandId = (await query('select id as n from brands where account_id = $1', [accountId])) ?? 0;
    await insertContacts(stage.database.pool, { accountId, brandId }, count, `${action}-`);
    const filter = { search: `${action}-` };
    const { id } = await request<BulkAction>('POST', '/contacts/bulk_actions', { action, filter });
    expect(await killAtRandom(id, action)).toBeGreaterThan(0);
    const done = await eventually(
      async () => {
        const found = await request<BulkAction>('GET', `/contacts/bulk_actions/${id}`);
        expect(found.finished_at).not.toBeNull();
        return found;
      },
      400_000,
      100,
    );
    expect(done).toMatchObject({
      status: 'completed',
      total_count: count,
      processed_count: count,
      changed_count: count,
      failed_count: 0,
    });
    expect(await query(effects[action], action === 'delete' ? [`${action}-%`] : [])).toBe(left);
  },
  600_000,
);
