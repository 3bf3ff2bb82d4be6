// The capture providers store every byte of each attempt once, and keep the newest 10,000 messages within their size.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  MAX_CAPTURED_MESSAGES,
  createCaptureProvider,
  createCaptureSmsProvider,
} from '../../../../../src/delivery/wire/providers/capture/provider.ts';
import type { OutgoingEmail } from '../../../../../src/delivery/wire/adapters/port.ts';
import { outgoingEmail, outgoingLetter, outgoingSms } from '../../../../support/outgoing.ts';
import { createTestDatabase, type TestDatabase } from '../../../../support/database.ts';

function email(messageId: number, data: Buffer | string, attempt = 1): OutgoingEmail {
  return outgoingEmail({
    messageId,
    attempt,
    returnPath: `bounces+${messageId}@carillon.localhost`,
    to: `reader${messageId}@example.com`,
    subject: `Número ${messageId} 🔔`,
    data,
  });
}

describe('the capture providers', () => {
  let made: TestDatabase;
  beforeAll(async () => {
    made = await createTestDatabase();
  });
  afterAll(() => made.drop());
  beforeEach(async () => {
    await made.database.pool.query('truncate captured_messages');
  });

  async function rows() {
    const { rows } = await made.database.pool.query(
      'select * from captured_messages order by message_id, attempt',
    );
    return rows;
  }

  it('store every byte of every email of a batch with its envelope, and report it as delivered', async () => {
    const everyByte = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const provider = createCaptureProvider({ pool: made.database.pool });
    const batch = [email(3, everyByte), email(1, 'one\r\n'), email(2, '')];
    const outcomes = await provider.handOver(batch);
    expect(outcomes).toEqual(
      [3, 1, 2].map((id) => ({
        kind: 'accepted',
        providerMessageId: `capture-${id}-1`,
        response: expect.any(String),
        delivered: true,
      })),
    );
    const kept = await rows();
    expect(kept.map((row) => row.raw)).toEqual([Buffer.from('one\r\n'), Buffer.alloc(0), everyByte]);
    expect(kept[0]).toMatchObject({
      channel: 'email',
      attempt: 1,
      return_path: 'bounces+1@carillon.localhost',
      from_address: 'hello@carillon.localhost',
      to_address: 'reader1@example.com',
      subject: 'Número 1 🔔',
      size_bytes: 5,
      body: null,
    });
  });

  it('store an attempt once, even if it is handed over again, and another attempt separately', async () => {
    const provider = createCaptureProvider({ pool: made.database.pool });
    const batches = [[email(7, 'first')], [email(7, 'first'), email(8, 'x')], [email(7, 'first', 2)]];
    for (const batch of batches) {
      const outcomes = await provider.handOver(batch);
      expect(outcomes).toHaveLength(batch.length);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'accepted', delivered: true });
    }
    expect((await rows()).map((row) => [row.message_id, row.attempt])).toEqual([
      [7, 1],
      [7, 2],
      [8, 1],
    ]);
  });

  it('accept the same batches from two senders at once, in opposite orders', async () => {
    const provider = createCaptureProvider({ pool: made.database.pool });
    const batch = Array.from({ length: 50 }, (_, index) => email(index + 1, `mail ${index}`));
    const all = await Promise.all(
      [1, 2, 3, 4].map((turn) => provider.handOver(turn % 2 ? batch : batch.toReversed())),
    );
    for (const outcome of all.flat()) expect(outcome.kind).toBe('accepted');
    expect(await rows()).toHaveLength(50);
  });

  it('store a batch of the largest messages', async () => {
    const provider = createCaptureProvider({ pool: made.database.pool });
    const data = Buffer.alloc(2_000_000, 'carillon\r\n');
    const outcomes = await provider.handOver([email(1, data), email(2, data), email(3, data)]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['accepted', 'accepted', 'accepted']);
    expect((await rows()).map((row) => row.raw.equals(data))).toEqual([true, true, true]);
  });

  it('store SMS as text, in any script', async () => {
    const provider = createCaptureSmsProvider({ pool: made.database.pool });
    const sms = outgoingSms({ messageId: 4, text: 'Ihr Code: 1234 — ✓ 你好' });
    expect(await provider.handOver([sms])).toEqual([
      expect.objectContaining({ kind: 'accepted', delivered: true }),
    ]);
    expect(await rows()).toEqual([
      expect.objectContaining({ channel: 'sms', to_address: '+4915112345678', body: sms.text, raw: null }),
    ]);
  });

  it('keep the newest 10,000', async () => {
    await made.database.pool.query(
      `insert into captured_messages (message_id, attempt, channel, to_address, body, size_bytes)
       select n, 1, 'sms', '+4915112345678', 'old', 3 from generate_series(1, $1::int) n`,
      [MAX_CAPTURED_MESSAGES],
    );
    const provider = createCaptureProvider({ pool: made.database.pool });
    await provider.handOver([email(20_001, 'new'), email(20_002, 'new')]);
    const kept = await rows();
    expect(kept).toHaveLength(MAX_CAPTURED_MESSAGES);
    expect(kept[0].message_id).toBe(3);
    expect(kept.at(-1)?.message_id).toBe(20_002);
  });

  it('keep the newest messages of so many bytes, and always the last', async () => {
    const provider = createCaptureProvider({ pool: made.database.pool, maxBytes: 1_000_000 });
    const data = Buffer.alloc(300_000, 'carillon\r\n');
    for (let id = 1; id <= 8; id += 1) await provider.handOver([email(id, data)]);
    expect((await rows()).map((row) => row.message_id)).toEqual([6, 7, 8]);
    await provider.handOver([email(9, Buffer.alloc(1_500_000))]);
    expect((await rows()).map((row) => row.message_id)).toEqual([9]);
  });

  it('store the rest of a batch if one message cannot be read', async () => {
    const provider = createCaptureProvider({ pool: made.database.pool });
    const letter = outgoingLetter({ text: 'x'.repeat(1_000), unreadable: true });
    const outcomes = await provider.handOver([
      email(1, 'one'),
      { ...letter, messageId: 2 },
      email(3, 'three'),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'lost', 'accepted']);
    expect((await rows()).map((row) => row.message_id)).toEqual([1, 3]);
  });

  it('report a provider fault and no verdict if the database is unavailable', async () => {
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1, user: 'nobody', connectionTimeoutMillis: 2_000 });
    const outcomes = await createCaptureProvider({ pool }).handOver([email(1, 'a'), email(2, 'b')]);
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['fault', 'fault']);
    await pool.end();
  });
});
