// An import counts and imports each row once, even if the worker and the database are killed.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Import } from '../../src/features/imports/schema.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { scale } from '../support/crash/scale.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { importForm } from '../support/imports.ts';

const { rows: count, kills, runs } = scale.imports;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);

const EVERY = 25;

/** Whether the row repeats the first address of the file. The first half of the file has only new addresses. */
const isRepeated = (n: number) => n % EVERY === 4 && n >= count / 2;
const repeated = Array.from({ length: count }, (_, n) => n).filter(isRepeated).length;

/** Of 25 rows, one is bad. */
function fileOf(run: number): string {
  const lines = ['email,first_name,phone,plan'];
  for (let n = 0; n < count; n += 1) {
    if (n % EVERY === 3) lines.push(`bad ${n},Bad,,free`);
    else if (isRepeated(n)) lines.push(`p${run}-0@example.com,Again,,free`);
    else lines.push(`p${run}-${n}@example.com,Ada ${n},+1415${String(5_000_000 + run * 600_000 + n)},pro`);
  }
  return lines.join('\r\n');
}

async function request<T>(method: string, path: string, body?: FormData): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
    method,
    headers: { authorization: `Bearer ${stage.apiKey}` },
    ...(body ? { body } : {}),
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

const isRunning = async (id: number) => {
  const { rowCount } = await stage.database.pool.query(
    'select 1 from imports where id = $1 and finished_at is null',
    [id],
  );
  return rowCount === 1;
};

async function killAtRandom(id: number, seed: number): Promise<number> {
  let killed = 0;
  for (; killed < kills; killed += 1) {
    await delay(500 + fractionOf(seed, `moment-${killed}`) * 2_000);
    if (!(await eventually(() => isRunning(id), 60_000))) break;
    const victim = fractionOf(seed, `victim-${killed}`) < 0.6 ? stage.worker : stage.postgres;
    await victim.kill();
    await victim.start();
  }
  return killed;
}

describe.each(Array.from({ length: runs }, (_, n) => n + 1))('an import during crashes (run %i)', (run) => {
  it('imports and counts each row once, whenever the worker and the database are killed', async () => {
    const posted = await request<Import>('POST', '/imports', importForm({ file: fileOf(run) }));
    const killed = await killAtRandom(posted.id, run);
    expect(killed).toBeGreaterThan(0);
    const done = await eventually(
      async () => {
        const found = await request<Import>('GET', `/imports/${posted.id}`);
        expect(found.finished_at).not.toBeNull();
        return found;
      },
      400_000,
      100,
    );
    const bad = count / EVERY;
    expect(done).toMatchObject({
      status: 'completed',
      total_rows: count,
      processed_rows: count,
      created_count: count - bad - repeated,
      updated_count: 0,
      unchanged_count: 0,
      duplicate_count: repeated,
      failed_count: bad,
    });
    const { rows } = await stage.database.pool.query<{ contacts: number; emails: number; errors: number }>(
      `select count(*) as contacts, count(distinct email_key) as emails,
         (select count(*) from import_errors where import_id = $2) as errors
       from contacts where email like $1`,
      [`p${run}-%`, posted.id],
    );
    expect(rows).toEqual([{ contacts: count - bad - repeated, emails: count - bad - repeated, errors: bad }]);
  }, 600_000);
});
