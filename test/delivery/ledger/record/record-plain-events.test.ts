// The record publishes the events of plain messages, and runs its short part only for those.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { testEvents } from '../../../support/events.ts';
import { accepted, PlainRecords } from '../../../support/plain-records.ts';

let stage: PlainRecords;

beforeAll(async () => {
  stage = await PlainRecords.open();
});
afterAll(() => stage.drop());
beforeEach(() => stage.openAccount());

describe('events are published', () => {
  const published = async () => (await stage.effects()).published.length;

  it('from the first record on after a webhook is subscribed to them, until it is turned off', async () => {
    const recording = createBatchRecording({ pool: stage.pool, events: testEvents });
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

describe('the parts for all messages take', () => {
  it('messages of which one has another outcome since', async () => {
    const batch = await stage.handOver(2);
    await stage.pool.query(
      `update messages set status = 'bounced', bounced_at = now(), sent_at = now(), sent_attempt = 1 where id = $1`,
      [batch.outcomes[0]?.messageId],
    );
    expect(await stage.recordPlain(batch)).toBe(false);
    expect((await stage.effects()).queue).toEqual([]);
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

  it('messages that older figures have not reached yet, and names them in the figures', async () => {
    const batch = await stage.handOver(1);
    const id = batch.outcomes[0]?.messageId;
    const { rows } = await stage.pool.query<{ reached_id: number; last_id: number }>(
      'select * from older_stats',
    );
    await stage.pool.query('update older_stats set reached_id = 0, last_id = $1', [id]);
    expect(await stage.recordPlain(batch)).toBe(false);
    await stage.pool.query('update older_stats set reached_id = $1, last_id = $2', [
      rows[0]?.reached_id,
      rows[0]?.last_id,
    ]);
    const figures = await stage.pool.query('select message_id from stat_changes where brand_id = $1', [
      stage.account.brandId,
    ]);
    expect(figures.rows).toEqual([{ message_id: id }]);
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
    expect(await stage.recordPlain(await stage.handOver(1, outcomeOf, changed))).toBe(false);
  });
});
