// Each role serves its own metrics on its own port, and leaves out figures that it cannot read.
import net from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { opsPortOf, serveMetrics } from '../../src/platform/http/operators.ts';
import { appendToOutbox } from '../../src/platform/outbox/append.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { senderFigures, workerFigures } from '../../src/roles/figures.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { insertAccount, queueEmails } from '../support/queued.ts';
import { createTestLoop } from '../workflows/test-loop.ts';
import { insertSentCampaign } from '../support/campaign-runs.ts';

const config = { OPS_HOST: '127.0.0.1', OPS_PORT: 0 };
const log = pino({ level: 'silent' });

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
}, 60_000);
beforeEach(() => db.database.pool.query('truncate outbox, send_queue, campaigns, drafts'));
afterAll(() => db.drop());

type Served = Parameters<typeof serveMetrics>[1];

/** What `/metrics` answers. */
async function metricsOf(given: Partial<Served>): Promise<string> {
  const served = await serveMetrics('worker', { config, log, pool: db.database.pool, ...given });
  try {
    return await (await fetch(`http://127.0.0.1:${served?.port}/metrics`)).text();
  } finally {
    await served?.stop();
  }
}

const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.slice(series.length),
  );

describe('the metrics of the roles beside the API', () => {
  it('show the process and its connections', async () => {
    const text = await metricsOf({});
    expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(text).toMatch(/carillon_database_connections\{pool="hot",state="idle"\} \d/);
  });

  it('show how much waits for the engine, and how long messages are due', async () => {
    const { pool } = db.database;
    const account = await insertAccount(db.database);
    await appendToOutbox(pool, { kind: 'signal', workflowId: 'w/1', signal: 'wake' });
    await pool.query(`update outbox set created_at = now() - interval '90 seconds'`);
    await queueEmails(db.database, account, 2);
    await pool.query(`update send_queue set due_at = now() - interval '5 minutes'`);
    await insertSentCampaign(pool, account);
    await pool.query(`update campaigns set engine_expected_by = now() - interval '1 minute'`);
    const text = await metricsOf({ sources: workerFigures(pool) });
    expect(valueOf(text, 'carillon_outbox_entries{priority="0"}')).toBe(1);
    expect(valueOf(text, 'carillon_outbox_oldest_seconds{priority="0"}')).toBeGreaterThanOrEqual(90);
    expect(valueOf(text, 'carillon_workflows_overdue{source="campaign"}')).toBe(1);
    const due = valueOf(text, 'carillon_queue_oldest_due_seconds{channel="email",class="transactional"}');
    expect(due).toBeGreaterThanOrEqual(300);
  });

  it('show the lanes of a sender', async () => {
    const loop = createTestLoop('send', 1);
    const text = await metricsOf({ sources: senderFigures([loop]) });
    expect(valueOf(text, 'carillon_lane_running{lane="send"}')).toBe(1);
  });

  it('leave out figures that cannot be read', async () => {
    const lost = openDatabase({ url: 'postgres://127.0.0.1:1/none', poolMax: 1 });
    const text = await metricsOf({ sources: workerFigures(lost.pool) });
    await lost.close();
    expect(text).toContain('process_resident_memory_bytes');
    expect(text).not.toMatch(/^carillon_outbox_entries\{/m);
  });

  it('are not served if the port is taken, and nothing else is served', async () => {
    const served = await serveMetrics('sender', { config, log, pool: db.database.pool });
    const port = served?.port ?? 0;
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(404);
    await served?.stop();
    const other = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port: taken } = other.address() as net.AddressInfo;
    const settings = { OPS_HOST: '127.0.0.1', OPS_PORT: taken - 2 };
    expect(await serveMetrics('sender', { config: settings, log, pool: db.database.pool })).toBeNull();
    other.close();
  });

  it('have a port for each role', () => {
    const roles = ['api', 'worker', 'sender', 'mail', 'submission'] as const;
    expect(roles.map((role) => opsPortOf(role, { OPS_PORT: undefined }))).toEqual([
      9464, 9465, 9466, 9467, 9468,
    ]);
    expect(roles.map((role) => opsPortOf(role, { OPS_PORT: 9000 }))).toEqual([9000, 9001, 9002, 9003, 9004]);
    expect(opsPortOf('mail', { OPS_PORT: 0 })).toBe(0);
  });
});
