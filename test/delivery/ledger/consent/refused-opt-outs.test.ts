// If Twilio refuses a text because of STOP, the sender records the opt-out without delaying the batch.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isOptedOut } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { twilio } from '../../../../src/delivery/wire/providers/twilio/provider.ts';
import { createOptOutRecording } from '../../../../src/delivery/ledger/consent/refused-opt-outs.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { createSmsChannel } from '../../../../src/delivery/sender/sms/hand-over.ts';
import { recordRefusedOptOut } from '../../../../src/features/contacts/service.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../support/provider-api.ts';
import { insertAccount } from '../../../support/queued.ts';

const keyring = createKeyring('a secret of at least thirty-two characters');
let made: TestDatabase;
let api: ProviderApi;
beforeAll(async () => {
  made = await createTestDatabase();
  api = await startProviderApi();
});
afterAll(async () => {
  await made.drop();
  await api.close();
});

const STOPPED = '+14155552671';

/** Sends SMS through Twilio, which knows that one recipient opted out. */
function openChannel(warnings: unknown[], record: Parameters<typeof createOptOutRecording>[0]) {
  api.answer = (request, response) => {
    const stopped = new URLSearchParams(request.body).get('To') === STOPPED;
    const refusal = { code: 21610, message: 'Attempt to send to unsubscribed recipient', status: 400 };
    return answerJson(stopped ? 400 : 201, stopped ? refusal : { sid: 'SM1' })(request, response);
  };
  const settings = twilio.settings.parse({
    account_sid: `AC${'0a'.repeat(16)}`,
    auth_token: 'an auth token of 32 characters..',
    from: '+14155550100',
    base_url: api.baseUrl,
  });
  const provider = twilio.create(settings, { ...api.deps, callbackUrl: null, id: 1 });
  const log = { warn: (...args: unknown[]) => void warnings.push(args) } as never;
  const share = { providerId: 1, provider: 'twilio-us', reportSeconds: 120 };
  const recording = createOptOutRecording(record, log);
  const channel = createSmsChannel(
    provider,
    { referenceKey: keyring.subkey('reference').key },
    { share, optOut: (message) => recording.add(message) },
  );
  return { channel, settled: () => recording.settled() };
}

const message = (account: { accountId: number; brandId: number }, messageId: number, to: string) =>
  ({
    ...account,
    messageId,
    attempt: 1,
    channel: 'sms',
    to,
    from: null,
    text: 'Hi',
    segments: 1,
  }) as BatchMessage;

describe('an SMS that Twilio refuses because its recipient answered STOP', () => {
  it('is refused, and records the opt-out from the brand', async () => {
    const { pool } = made.database;
    const account = await insertAccount(made.database);
    const { channel, settled } = openChannel([], (refused) => recordRefusedOptOut(pool, keyring, refused));
    const outcomes = await channel.handOver([
      message(account, 6, '+14155552672'),
      message(account, 7, STOPPED),
    ]);
    expect(outcomes).toMatchObject([{ kind: 'accepted' }, { kind: 'refused', code: 'rejected' }]);
    await settled();
    const { rows } = await pool.query('select source, message_id from opt_outs where brand_id = $1', [
      account.brandId,
    ]);
    expect(rows).toEqual([{ source: 'provider', message_id: 7 }]);
    const address = { brandId: account.brandId, channel: 'sms', address: STOPPED } as const;
    expect(await isOptedOut(pool, keyring, address)).toBe(true);
  });

  it('is refused even if the opt-out cannot be recorded', async () => {
    const warnings: unknown[] = [];
    const { channel, settled } = openChannel(warnings, () => Promise.reject(new Error('lost')));
    const account = { accountId: 1, brandId: 1 };
    expect(await channel.handOver([message(account, 8, STOPPED)])).toMatchObject([{ kind: 'refused' }]);
    await settled();
    expect(warnings).toHaveLength(1);
  });

  it('is refused without waiting for the opt-outs, which are recorded one at a time per brand', async () => {
    const started: number[] = [];
    const ends: (() => void)[] = [];
    const { channel, settled } = openChannel([], ({ messageId }) => {
      started.push(messageId);
      return new Promise((resolve) => ends.push(resolve));
    });
    const [one, other] = [1, 2].map((brandId) => ({ accountId: 1, brandId })) as never[];
    const batch = [message(one as never, 1, STOPPED), message(one as never, 2, STOPPED)];
    const outcomes = await channel.handOver([...batch, message(other as never, 3, STOPPED)]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'refused']);
    expect(started).toEqual([1, 3]);
    ends.forEach((end) => end());
    await new Promise(setImmediate);
    expect(started).toEqual([1, 3, 2]);
    ends.forEach((end) => end());
    await settled();
  });
});
