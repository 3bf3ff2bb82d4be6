// Webhook signatures follow Standard Webhooks; retry delays and failure periods follow the recorded outcomes.
import { describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { readRetryAfter, requestBody } from '../../../src/features/webhooks/attempts/attempt.ts';
import { healthAfter, type Health } from '../../../src/features/webhooks/attempts/health.ts';
import { retryDelaySeconds } from '../../../src/features/webhooks/attempts/record.ts';
import {
  createSecret,
  keyOfSecret,
  maskSecret,
  signatureHeaders,
  webhookIdOf,
} from '../../../src/features/webhooks/signature.ts';

describe('the signature', () => {
  it('equals the published test vector', () => {
    const key = keyOfSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const at = new Date(1_614_265_330_000);
    expect(signatureHeaders([key], 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, '{"test": 2432232314}')).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('is made with both secrets after a rotation and verified by either', () => {
    const secrets = [createSecret(), createSecret()];
    const body = '{"snow":"☃"}';
    const headers = signatureHeaders(secrets.map(keyOfSecret), 'evt_1', new Date(), body);
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2);
    for (const secret of secrets) expect(new Webhook(secret).verify(body, headers)).toEqual({ snow: '☃' });
    expect(() => new Webhook(createSecret()).verify(body, headers)).toThrow();
  });

  it.each([-301, 301])('is rejected by a receiver whose clock is %i seconds off', (seconds) => {
    const secret = createSecret();
    const at = new Date(Date.now() + seconds * 1_000);
    const headers = signatureHeaders([keyOfSecret(secret)], 'evt_1', at, '{}');
    expect(() => new Webhook(secret).verify('{}', headers)).toThrow();
  });

  it('uses secrets of 32 random bytes, which are shown masked', () => {
    const secret = createSecret();
    expect(keyOfSecret(secret).symmetricKeySize).toBe(32);
    expect(createSecret()).not.toBe(secret);
    expect(maskSecret('abc=')).toBe('whsec_…abc=');
  });
});

describe('a webhook request', () => {
  it('has an id with the prefix evt_ and a body with type, timestamp in milliseconds and the data as stored', () => {
    expect(webhookIdOf('0198f1c2-1111-4222-8333-444455556666')).toBe('evt_0198f1c2111142228333444455556666');
    const occurredAt = new Date('2026-03-01T10:00:00Z');
    expect(requestBody({ type: 'email.sent', occurredAt, data: '{"b":1,"a":2}' })).toBe(
      '{"type":"email.sent","timestamp":"2026-03-01T10:00:00.000Z","data":{"b":1,"a":2}}',
    );
  });
});

describe('the delay of the next attempt', () => {
  const schedule = [60, 300, 1_800];
  it.each([
    ['the schedule’s delay', 1, null, 60],
    ['the next step’s delay', 2, null, 300],
    ['null after the last step', 4, null, null],
    ['the value of Retry-After', 1, 120, 120],
    ['at most the delay of the next step', 1, 5_000, 300],
    ['at most the delay of the last step', 3, 5_000, 1_800],
    ['at least the schedule’s delay', 2, 5, 300],
  ])('is %s', (_name, attempt, retryAfter, seconds) => {
    expect(retryDelaySeconds(schedule, attempt, retryAfter)).toBe(seconds);
  });

  it.each([
    ['120', 120],
    ['Sun, 01 Mar 2026 10:02:00 GMT', 120],
    ['Sun, 01 Mar 2026 09:00:00 GMT', 0],
    ['soon', null],
    ['-5', null],
    [undefined, null],
  ])('reads Retry-After %s', (value, seconds) => {
    expect(readRetryAfter(value, Date.parse('2026-03-01T10:00:00Z'))).toBe(seconds);
  });
});

describe('continuous failure', () => {
  const at = (second: number) => new Date(second * 1_000);
  const never: Health = { failingSince: null, lastFailureAt: null, lastSuccessAt: null };
  const failed = (second: number) => ({ startedAt: at(second), delivered: false });
  const succeeded = (second: number) => ({ startedAt: at(second), delivered: true });

  it('begins with the first failure', () => {
    expect(healthAfter(never, [failed(5), failed(3)]).failingSince).toEqual(at(3));
  });
  it('continues with each further failure', () => {
    const before = { ...never, failingSince: at(3) };
    expect(healthAfter(before, [failed(9)])).toMatchObject({ failingSince: at(3), lastFailureAt: at(9) });
  });
  it('ends with a success', () => {
    expect(healthAfter({ ...never, failingSince: at(3) }, [succeeded(4)]).failingSince).toBeNull();
  });
  it('does not end with a success whose attempt began before it', () => {
    expect(healthAfter({ ...never, failingSince: at(3) }, [succeeded(2)]).failingSince).toEqual(at(3));
  });
  it('begins again with the first failure after the last success, in whatever order they are recorded', () => {
    const before = { ...never, failingSince: at(1) };
    expect(healthAfter(before, [failed(6), succeeded(4), failed(2), failed(5)]).failingSince).toEqual(at(5));
    expect(healthAfter(before, [succeeded(4), failed(2)]).failingSince).toBeNull();
  });
  it('does not begin with a failure from before a recorded success', () => {
    expect(healthAfter({ ...never, lastSuccessAt: at(7) }, [failed(6)]).failingSince).toBeNull();
  });
});
