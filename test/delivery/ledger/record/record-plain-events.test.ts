// The short record publishes the events of plain messages, and leaves all other messages to the general record.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { createPlainRecording } from '../../../../src/delivery/ledger/record/record-plain.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { testEvents } from '../../../support/events.ts';
import { accepted, PlainRecords, RECORD_FUNCTION } from '../../../support/plain-records.ts';

let stage: PlainRecords;

beforeAll(async () => {
  stage = await PlainRecords.open();
});
afterAll(() => stage.drop());
beforeEach(() => stage.openAccount());

describe('events are published', () => {
  const published = async () => (await stage.effects()).published.length;

  it('from the first record on after a webhook is subscribed to them, until it is turned off', async () => {
    const recording = createPlainRecording(stage.pool, testEvents);
    expect(await recording([await stage.handOver(1)])).toEqual(new Map());
    await stage.subscribe('email.sent');
    expect(await recording([await stage.handOver(1)])).toEqual(new Map([['webhook', 1]]));
    expect(await recording([await stage.handOver(2)])).toEqual(new Map([['webhook', 2]]));
    expect(await published()).toBe(3);
    await stage.pool.query('update webhooks set enabled = false where account_id = $1', [
      stage.account.accountId,
    ]);
    expect(await recording([await stage.handOver(1)])).toEqual(new Map());
    expect(await published()).toBe(3);
  });

  it('for those brands only that want them', async () => {
    const mine = await stage.handOver(1);
    const other = stage.account;
    await stage.openAccount();
    await stage.subscribe('email.sent');
    expect(await stage.recordPlain(mine, await stage.handOver(1))).toBe(true);
    expect(await published()).toBe(1);
    stage.account = other;
    expect(await published()).toBe(0);
  });

  it('only together with the record', async () => {
    await stage.subscribe('email.sent');
    const batch = await stage.handOver(1);
    await stage.pool.query(`update messages set status = 'canceled' where id = $1`, [
      batch.outcomes[0]?.messageId,
    ]);
    expect(await stage.recordPlain(batch)).toBe(false);
    expect(await published()).toBe(0);
  });
});

describe('the general record takes', () => {
  it('messages of which one has another outcome since', async () => {
    const batch = await stage.handOver(2);
    await stage.pool.query(
      `update messages set status = 'bounced', bounced_at = now(), sent_at = now(), sent_attempt = 1 where id = $1`,
      [batch.outcomes[0]?.messageId],
    );
    expect(await stage.recordPlain(batch)).toBe(false);
    expect((await stage.effects()).queue).toHaveLength(2);
    await stage.record(batch);
    expect((await stage.effects()).messages).toMatchObject([{ status: 'bounced' }, { status: 'sent' }]);
    expect((await stage.effects()).outcomes).toMatchObject([{ attempted: 1 }]);
  });

  it('messages that may have arrived at an earlier attempt', async () => {
    const batch = await stage.handOver(1);
    await stage.pool.query(`update messages set unknown_at = now() - interval '1 hour' where id = $1`, [
      batch.outcomes[0]?.messageId,
    ]);
    expect(await stage.recordPlain(batch)).toBe(false);
  });

  it('messages that older figures have not reached yet', async () => {
    const batch = await stage.handOver(1);
    await inTransaction(stage.pool, async (client) => {
      const { rows } = await client.query('select * from older_stats');
      await client.query('update older_stats set reached_id = 0, last_id = $1', [
        batch.outcomes[0]?.messageId,
      ]);
      expect(await createPlainRecording(client as never, testEvents)([batch])).toBeNull();
      await client.query('update older_stats set reached_id = $1, last_id = $2', [
        (rows[0] as { reached_id: number }).reached_id,
        (rows[0] as { last_id: number }).last_id,
      ]);
    });
    expect(await stage.recordPlain(batch)).toBe(true);
  });

  it('all messages on PostgreSQL 18, unless each call is planned again', async () => {
    const definition = `pg_get_functiondef('${RECORD_FUNCTION}'::regproc)`;
    const { rows } = await stage.pool.query<{ text: string }>(`select ${definition} as text`);
    const { text = '' } = rows[0] ?? {};
    expect(text).toContain('>= 180000');
    await stage.subscribe('email.sent');
    const batch = await stage.handOver(1);
    const before = await stage.effects();
    await inTransaction(stage.pool, async (client) => {
      const recording = () => createPlainRecording(client as never, testEvents)([batch]);
      await client.query(text.replace('>= 180000', '>= 150000'));
      for (const mode of ['force_generic_plan', 'auto']) {
        await client.query(`set local plan_cache_mode = ${mode}`);
        expect(await recording()).toBeNull();
      }
      expect(await stage.effects()).toEqual(before);
      await client.query('set local plan_cache_mode = force_custom_plan');
      expect(await recording()).toEqual(new Map([['webhook', 1]]));
      await client.query(text);
    });
    expect((await stage.effects()).messages).toMatchObject([{ status: 'sent' }]);
  });

  it.each<[string, (n: number) => HandOverOutcome, (message: BatchMessage) => BatchMessage]>([
    [
      'a message that was deferred',
      () => ({ kind: 'deferred', response: '450 later' }),
      (message) => message,
    ],
    [
      'a message that was delivered at once',
      (n) => ({ ...accepted(n), delivered: true }) as HandOverOutcome,
      (message) => message,
    ],
    ['a second attempt', accepted, (message) => ({ ...message, attempt: 2 })],
  ])('%s', async (_name, outcomeOf, changed) => {
    const batch = await stage.handOver(1, outcomeOf, changed);
    const before = await stage.effects();
    expect(await stage.recordPlain(batch)).toBe(false);
    expect(await stage.effects()).toEqual(before);
  });
});
