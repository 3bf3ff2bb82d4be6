// Prepared plans are not kept on PostgreSQL versions that would lose rows of partitioned tables.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ConfigError } from '../../../src/config.ts';
import { checkServer, openDatabase } from '../../../src/platform/db/database.ts';
import { losesRowsOfKeptPlans } from '../../../src/platform/db/plans.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { countWaiting } from '../../support/waiting.ts';
import { startTcpGate, type TcpGate } from '../../support/tcp-gate.ts';

let test: TestDatabase;
let gate: TcpGate;

/** Replaces the major version that the server reports by another of the same length. */
function reportVersion18(chunk: Buffer): Buffer {
  return Buffer.from(chunk.toString('latin1').replace(/(server_version\0)\d\d/, '$118'), 'latin1');
}

beforeAll(async () => {
  test = await createTestDatabase();
  const { hostname: host, port } = new URL(test.url);
  gate = await startTcpGate({ host, port: Number(port) }, reportVersion18);
  await test.database.pool.query(`
    create table plan_things (id bigint primary key, n int not null default 0) partition by range (id);
    create table plan_things_1 partition of plan_things for values from (0) to (1000);
    create table plan_things_2 partition of plan_things for values from (1000) to (2000);
    create table plan_things_3 partition of plan_things for values from (2000) to (3000);
    create table plan_ids (id bigint primary key);
    insert into plan_things select generate_series(0, 2999);
    insert into plan_ids select generate_series(0, 2999);
    analyze plan_things, plan_ids`);
});
afterAll(async () => {
  await gate.close();
  await test.drop();
});

const increment = {
  name: 'increment_plan_things',
  text: `update plan_things t set n = t.n + 1 from plan_ids i
    where t.id = i.id and i.id = any($1) and t.id >= $2 returning t.id`,
};

function gateUrl(): string {
  const url = new URL(test.url);
  url.port = String(gate.port);
  return url.href;
}

/** Returns what a pool does with a named statement: whether it is kept, and how it is planned. */
async function planning(url: string, keyedPlans: boolean): Promise<[number | null, string]> {
  const database = openDatabase({ url, keyedPlans, poolMax: 1 });
  try {
    await database.pool.query({ ...increment, values: [[1], 0] });
    const { rows } = await database.pool.query<{ plan_cache_mode: string }>('show plan_cache_mode');
    const kept = await database.pool.query('select 1 from pg_prepared_statements where name = $1', [
      increment.name,
    ]);
    return [kept.rowCount, rows[0]?.plan_cache_mode ?? ''];
  } finally {
    await database.close();
  }
}

describe('kept plans', () => {
  it.each([
    ['15.13', false],
    ['17.10 (Debian 17.10-1.pgdg13+1)', false],
    ['18.4', true],
    ['18beta2', true],
    ['19.0', true],
  ])('of PostgreSQL %s lose rows: %s', (version, loses) => {
    expect(losesRowsOfKeptPlans(version)).toBe(loses);
  });

  it('are used where PostgreSQL keeps them right', async () => {
    expect(await planning(test.url, true)).toEqual([1, 'force_generic_plan']);
    expect(await planning(test.url, false)).toEqual([1, 'auto']);
  });

  it.each([true, false])('are not used where PostgreSQL loses rows with them; keyed: %s', async (keyed) => {
    expect(await planning(gateUrl(), keyed)).toEqual([0, 'force_custom_plan']);
  });

  it('stop a process whose pooler makes general plans on a server that loses rows with them', async () => {
    const name = new URL(test.url).pathname.slice(1);
    await test.database.pool.query(`alter database ${name} set plan_cache_mode = force_generic_plan`);
    const database = openDatabase({ url: gateUrl(), poolMax: 1 });
    const check = (version: string) => checkServer(database.pool, 1, () => undefined, version);
    try {
      await expect(check('18.4')).rejects.toThrow(ConfigError);
      await expect(check('18.4')).rejects.toThrow('set plan_cache_mode = force_custom_plan');
      await check('17.10');
    } finally {
      await database.close();
      await test.database.pool.query(`alter database ${name} reset plan_cache_mode`);
    }
  });
});

describe('a statement that waits for a row of a later partition', () => {
  it('changes all the other rows, too', async () => {
    const database = openDatabase({ url: test.url, keyedPlans: true, poolMax: 1 });
    const holder = new pg.Client({ connectionString: test.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('update plan_things set n = n + 1 where id = 1001');
      const changing = database.pool.query({ ...increment, values: [[1001, 1002, 2001], 1000] });
      await eventually(async () => expect(await countWaiting(test.database.pool)).toBe(1));
      await holder.query('commit');
      expect((await changing).rows).toEqual([{ id: 1001 }, { id: 1002 }, { id: 2001 }]);
    } finally {
      await holder.end();
      await database.close();
    }
  });
});
