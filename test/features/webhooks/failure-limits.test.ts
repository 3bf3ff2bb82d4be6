// A webhook that fails for 24 hours is reported to its owners, and after 72 hours it is turned off.
import { expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type Receiver } from '../../support/https-receiver.ts';
import { startRecoveryStage, type RecoveryStage } from '../../support/recovery-stage.ts';
import { testsThatNeed } from '../../support/tests-that-need.ts';
import { addWebhook, deliveriesOf, rowOf } from '../../support/webhooks.ts';

const { afterAll, afterEach, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

/** The default schedule (interface §6.5). */
const schedule = [60, 300, 1_800, 7_200, 28_800, 86_400];
const HOUR = 3_600_000;

let stage: RecoveryStage;
let receiver: Receiver;

beforeAll(async () => {
  stage = await startRecoveryStage(schedule);
}, 120_000);
afterAll(() => stage.stop());
beforeEach(async () => {
  receiver = await startReceiver();
  receiver.answer = (_request, response) => void response.writeHead(500).end();
  await stage.test.database.pool.query(
    'delete from webhooks; delete from webhook_deliveries; delete from webhook_queue; delete from outbox; delete from messages',
  );
});
afterEach(async () => {
  await receiver.close();
  const { rows } = await stage.test.database.pool.query<{ id: number }>('select id from webhooks');
  for (const { id } of rows) {
    await stage
      .handle(id)
      .terminate()
      .catch(() => undefined);
  }
});

interface Row extends Record<string, unknown> {
  enabled: boolean;
  generation: number;
  failing_since: Date | null;
  warned_at: Date | null;
  disabled_at: Date | null;
  disabled_reason: string | null;
  recovery_armed: boolean;
}

async function createFailingWebhook(): Promise<number> {
  const { database } = stage.test;
  return (await addWebhook(database, stage.tenant, receiver.url('/hook?token=hush', '127.0.0.1'))).id;
}

async function row(id: number): Promise<Row> {
  return (await rowOf<Row>(stage.test.database, id)) as Row;
}

async function hoursFailing(id: number, at: Date | null): Promise<number> {
  const { failing_since: since } = await row(id);
  return ((at?.getTime() ?? NaN) - (since?.getTime() ?? NaN)) / HOUR;
}

async function isRunning(id: number): Promise<boolean> {
  return (await stage.handle(id).describe()).status.name === 'RUNNING';
}

/** Waits for the workflow's end. `result` would let time skip before the workflow learns about the last attempt. */
async function workflowEnded(id: number): Promise<void> {
  await eventually(async () => expect(await isRunning(id)).toBe(false));
}

/** Skips to a time of the engine's clock. */
async function sleepUntil(at: number): Promise<void> {
  await stage.env.sleep(Math.max(0, at - (await stage.now()).getTime()));
}

interface Mail {
  to_address: string;
  from_address: string;
  subject: string;
  html: string;
  text: string;
}

async function mails(): Promise<Mail[]> {
  const { rows } = await stage.test.database.pool.query<Mail>(
    `select m.to_address, m.from_address, m.subject, c.html, c.text
     from messages m join message_contents c on c.message_id = m.id
     join send_queue q on q.message_id = m.id join accounts a on a.id = m.account_id
     where a.kind = 'system' order by m.id`,
  );
  return rows;
}

const warning = expect.objectContaining({
  subject: expect.stringMatching(/^Your webhook at .* is failing$/),
});
const turnedOff = expect.objectContaining({
  subject: expect.stringMatching(/^Your webhook at .* was turned off$/),
});

describe('a webhook that keeps failing', () => {
  it('is reported to its owners after 24 hours and turned off after 72 if attempts still fail', async () => {
    const id = await createFailingWebhook();
    const other = await addWebhook(stage.test.database, stage.tenant, receiver.url('/other', '127.0.0.1'), [
      'webhook.disabled',
    ]);
    const begun = await stage.attempt(id, false);
    expect(await stage.asleep(id)).toMatchObject({ failingSince: begun.toISOString(), warnedAt: null });
    await sleepUntil(begun.getTime() + 20 * HOUR);
    await stage.attempt(id, false);
    await stage.asleep(id);
    expect(await mails()).toEqual([]);
    await sleepUntil(begun.getTime() + 50 * HOUR);
    expect(await mails()).toEqual([warning]);
    expect(await hoursFailing(id, (await row(id)).warned_at)).toBeCloseTo(24, 1);
    await stage.attempt(id, false);
    expect(await stage.asleep(id)).toMatchObject({
      disableAt: new Date(begun.getTime() + 72 * HOUR).toISOString(),
      warnedAt: expect.any(String),
    });
    await stage.handle(id).result();
    const ended = await row(id);
    expect(ended).toMatchObject({
      enabled: false,
      generation: 2,
      failing_since: begun,
      disabled_reason: 'failing',
      recovery_armed: false,
    });
    expect(await hoursFailing(id, ended.disabled_at)).toBeCloseTo(72, 1);
    expect(
      (await deliveriesOf(stage.test.database, id)).map((each) => [each.status, each.last_error]),
    ).toEqual([
      ['failed', 'status 500'],
      ['failed', 'status 500'],
      ['failed', 'webhook_off'],
    ]);
    expect(await mails()).toEqual([warning, turnedOff]);
    const published = await deliveriesOf(stage.test.database, other.id);
    expect(published).toMatchObject([{ type: 'webhook.disabled', status: 'pending' }]);
    const { rows } = await stage.test.database.pool.query(
      `select data from events where type = 'webhook.disabled'`,
    );
    expect(rows).toEqual([
      { data: { webhook_id: id, url: expect.stringContaining('hush'), failing_since: begun.toISOString() } },
    ]);
  }, 60_000);

  it('is turned off by the next failed attempt if the 72 hours passed without attempts', async () => {
    const id = await createFailingWebhook();
    const begun = await stage.attempt(id, false);
    await stage.asleep(id);
    await sleepUntil(begun.getTime() + 80 * HOUR);
    expect(await deliveriesOf(stage.test.database, id)).toMatchObject([
      { status: 'failed', attempt_count: 7 },
    ]);
    expect(await row(id)).toMatchObject({ enabled: true, failing_since: begun, recovery_armed: true });
    expect(await stage.asleep(id)).toMatchObject({ retrying: 0, nextAttemptAt: null, disableAt: null });
    expect(await mails()).toEqual([warning]);
    const last = await stage.attempt(id, false);
    expect(await row(id)).toMatchObject({ enabled: false, generation: 2, disabled_reason: 'failing' });
    expect(((await row(id)).disabled_at?.getTime() ?? 0) - last.getTime()).toBeLessThan(1_000);
    expect(await mails()).toEqual([warning, turnedOff]);
    await workflowEnded(id);
    const deliveries = await deliveriesOf(stage.test.database, id);
    expect(deliveries[1]).toMatchObject({ status: 'failed', last_error: 'webhook_off', attempt_count: 1 });
  }, 60_000);

  it('stays on if the 72 hours passed without attempts and the next one succeeds', async () => {
    const id = await createFailingWebhook();
    const begun = await stage.attempt(id, false, { schedule: [] });
    await stage.asleep(id);
    await sleepUntil(begun.getTime() + 80 * HOUR);
    expect(await isRunning(id)).toBe(true);
    await stage.attempt(id, true);
    expect(await row(id)).toMatchObject({ enabled: true, failing_since: null, warned_at: null });
    await workflowEnded(id);
    expect(await row(id)).toMatchObject({ recovery_armed: false, next_wake_at: null });
  }, 60_000);

  it('stays on if an attempt succeeds a second before the 72 hours end', async () => {
    const id = await createFailingWebhook();
    const begun = await stage.attempt(id, false, { schedule: [] });
    await stage.asleep(id);
    await sleepUntil(begun.getTime() + 60 * HOUR);
    await stage.attempt(id, false, { schedule: [] });
    await stage.asleep(id);
    const end = begun.getTime() + 72 * HOUR;
    await sleepUntil(end - 60_000);
    await stage.attempt(id, true, { at: new Date(end - 1_000) });
    await sleepUntil(end + 60_000);
    expect(await row(id)).toMatchObject({ enabled: true, generation: 1, failing_since: null });
    await stage.handle(id).result();
    expect(await mails()).toEqual([warning]);
  }, 60_000);

  it('is reported again when it fails again', async () => {
    const id = await createFailingWebhook();
    for (let failure = 1; failure <= 2; failure += 1) {
      const begun = await stage.attempt(id, false, { schedule: [] });
      await stage.asleep(id);
      await sleepUntil(begun.getTime() + 30 * HOUR);
      expect(await mails()).toHaveLength(failure);
      await stage.attempt(id, true);
      await workflowEnded(id);
    }
    expect(await mails()).toEqual([warning, warning]);
  }, 60_000);

  it('restarts its 72 hours when it recovers and fails again within a minute, without waking the workflow', async () => {
    const id = await createFailingWebhook();
    const first = await stage.attempt(id, false);
    await stage.asleep(id);
    const before = (await stage.handle(id).describe()).historyLength;
    const times = [10, 20, 30, 40].map((seconds) => new Date(first.getTime() + seconds * 1_000));
    for (const [index, at] of times.entries()) await stage.attempt(id, index % 2 === 0, { at });
    expect(await row(id)).toMatchObject({ failing_since: times[3], enabled: true });
    const { rowCount } = await stage.test.database.pool.query('select 1 from outbox');
    expect(rowCount).toBe(0);
    expect((await stage.handle(id).describe()).historyLength).toBe(before);
    receiver.answer = (_request, response) => void response.end();
    await stage.handle(id).result();
    expect(await row(id)).toMatchObject({ failing_since: null, recovery_armed: false });
  }, 60_000);

  it('is described to its owners without the secrets in its URL', async () => {
    const id = await createFailingWebhook();
    const begun = await stage.attempt(id, false);
    await stage.asleep(id);
    await sleepUntil(begun.getTime() + 25 * HOUR);
    const [mail] = await mails();
    expect(mail).toMatchObject({
      to_address: stage.tenant.email,
      from_address: 'Carillon <no-reply@carillon.test>',
      subject: `Your webhook at 127.0.0.1:${receiver.port} is failing`,
    });
    for (const body of [mail?.html, mail?.text]) {
      expect(body).toContain(`Webhook ${id} at 127.0.0.1:${receiver.port}`);
      expect(body).toContain(begun.toISOString().slice(0, 10));
      expect(body).toContain(`/v1/my/webhooks/${id}/deliveries`);
      expect(body).not.toContain('hush');
    }
  }, 60_000);
});
