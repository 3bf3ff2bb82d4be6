// The Kickbox client translates each response into a finding, and pauses after refusals or repeated failures.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  createOutsideValidator,
  type OutsideFinding,
} from '../../../../src/features/validation/checks/outside-validator.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createEgress, type Egress } from '../../../../src/platform/egress/client.ts';
import { startReceiver, testCa, type Receiver } from '../../../support/https-receiver.ts';

/** As documented at https://docs.kickbox.com/docs/single-verification-api. */
const ANSWER = {
  result: 'deliverable',
  reason: 'accepted_email',
  role: false,
  free: false,
  disposable: false,
  accept_all: false,
  did_you_mean: null,
  sendex: 1,
  email: 'ann@acme.com',
  user: 'ann',
  domain: 'acme.com',
  success: true,
  message: null,
};

let service: Receiver;
let egress: Egress;
let status: number;
let body: unknown;
let now: number;
beforeAll(async () => {
  service = await startReceiver({
    answer: (_request, response) => void response.writeHead(status).end(JSON.stringify(body)),
  });
  egress = createEgress({
    resolver: createResolver([]),
    allow: ['127.0.0.0/8'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
  });
});
afterAll(async () => {
  await egress.close();
  await service.close();
});
beforeEach(() => {
  status = 200;
  body = ANSWER;
  now = 0;
  service.requests = [];
});

const validator = () =>
  createOutsideValidator(`kickbox://live_k%40y@127.0.0.1:${service.port}`, egress, () => now);
const check = (email = 'ann@acme.com') => validator().check(email, '1');

it('sends the address, and the key in a header', async () => {
  expect(await check('jörg+a&b@acme.com')).toEqual({
    verdict: 'deliverable',
    reasons: ['outside_validator'],
    suggestion: null,
  });
  const [request] = service.requests;
  const url = new URL(request?.url ?? '', 'https://api.kickbox.com');
  expect(url.pathname).toBe('/v2/verify');
  expect(url.searchParams.get('email')).toBe('jörg+a&b@acme.com');
  expect(request?.url).not.toContain('live');
  expect(request?.headers.authorization).toBe('Bearer live_k@y');
});

it.each<[object, OutsideFinding]>([
  [
    { result: 'deliverable', role: true },
    { verdict: 'deliverable', reasons: ['role', 'outside_validator'], suggestion: null },
  ],
  [
    { result: 'undeliverable', reason: 'rejected_email', did_you_mean: 'ann@gmail.com' },
    { verdict: 'undeliverable', reasons: ['mailbox_missing'], suggestion: 'ann@gmail.com' },
  ],
  [
    { result: 'undeliverable', reason: 'invalid_domain' },
    { verdict: 'undeliverable', reasons: ['no_domain'], suggestion: null },
  ],
  [
    { result: 'undeliverable', reason: 'something_new' },
    { verdict: 'undeliverable', reasons: ['mailbox_not_checked'], suggestion: null },
  ],
  [
    { result: 'risky', reason: 'low_deliverability', accept_all: true },
    { verdict: 'risky', reasons: ['catch_all'], suggestion: null },
  ],
  [
    { result: 'risky', reason: 'low_quality' },
    { verdict: 'risky', reasons: ['mailbox_not_checked'], suggestion: null },
  ],
  [
    { result: 'unknown', reason: 'no_connect' },
    { verdict: 'unknown', reasons: ['timeout'], suggestion: null },
  ],
])('reads %j', async (changes, finding) => {
  body = { ...ANSWER, ...changes };
  expect(await check()).toEqual(finding);
});

describe('without a verdict', () => {
  it.each([
    ['no success', 200, { ...ANSWER, success: false }],
    ['an unknown result', 200, { ...ANSWER, result: 'perhaps' }],
    ['no object', 200, 'x'],
    ['an error', 500, {}],
    ['a redirect', 302, {}],
  ])('returns null for %s', async (_what, code, answer) => {
    [status, body] = [code, answer];
    expect(await check()).toBeNull();
  });

  it('is not asked for a minute if it refuses the key, the balance or the rate', async () => {
    for (const refusal of [401, 402, 403, 429]) {
      const one = validator();
      service.requests = [];
      status = refusal;
      expect(await one.check('ann@acme.com', '1')).toBeNull();
      status = 200;
      expect(await one.check('ann@acme.com', '1')).toBeNull();
      expect(service.requests).toHaveLength(1);
      now += 60_000;
      expect(await one.check('ann@acme.com', '1')).not.toBeNull();
    }
  });

  it('is not asked for a minute after five failures in a row', async () => {
    const one = validator();
    status = 503;
    for (let n = 0; n < 8; n += 1) await one.check('ann@acme.com', '1');
    expect(service.requests).toHaveLength(5);
  });
});
