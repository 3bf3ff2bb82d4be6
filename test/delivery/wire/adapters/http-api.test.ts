// Each HTTP response maps to one outcome, and a lost response leaves the message unknown.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type ApiDialect,
  createSubmitter,
  outcomeOf,
  requestApi,
  retryAfterOf,
  timeoutFor,
} from '../../../../src/delivery/wire/adapters/http-api.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { outgoingLetter } from '../../../support/outgoing.ts';
import { answerJson, type ProviderApi, startProviderApi } from '../../../support/provider-api.ts';

let api: ProviderApi;
beforeAll(async () => {
  api = await startProviderApi();
});
afterAll(() => api.close());
beforeEach(() => {
  api.answer = answerJson(200, {});
});

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: 'id-1',
  response: '200',
  delivered: false,
};
const dialect: ApiDialect = {
  title: 'Example',
  repeatable: false,
  accepted: () => accepted,
  verdict: () => null,
  errorCode: ({ json }) => (json as { code?: string } | undefined)?.code,
};

async function outcome(given: Partial<ApiDialect> = {}, request: { url?: string; timeoutMs?: number } = {}) {
  const result = await requestApi(api.deps.egress, {
    method: 'POST',
    url: `${api.baseUrl}/send`,
    headers: { 'content-type': 'application/json' },
    body: '{}',
    ...request,
  });
  return outcomeOf(result, { ...dialect, ...given });
}

describe('the outcome of a hand-over by HTTP', () => {
  it.each([
    [200, 'accepted'],
    [202, 'accepted'],
    [307, 'fault'],
    [400, 'refused'],
    [401, 'fault'],
    [402, 'fault'],
    [403, 'fault'],
    [404, 'fault'],
    [408, 'fault'],
    [413, 'refused'],
    [422, 'refused'],
    [429, 'fault'],
    [500, 'unknown'],
    [503, 'unknown'],
  ])('reads status %i as %s', async (status, kind) => {
    api.answer = answerJson(status, {});
    expect(await outcome()).toMatchObject({ kind });
  });

  it('prefers the verdict of the dialect to the status', async () => {
    api.answer = answerJson(403, { code: 'sender' });
    const refused: HandOverOutcome = { kind: 'refused', code: 'sender_rejected', response: 'no' };
    expect(await outcome({ verdict: () => refused })).toEqual(refused);
  });

  it('names the status and the code of a fault, and never quotes the service', async () => {
    api.answer = answerJson(429, { code: 'Throttled', message: 'ada@example.com' });
    expect(await outcome()).toEqual({ kind: 'fault', reason: 'Example: HTTP 429 Throttled' });
    api.answer = answerJson(401, { code: 'no ada@example.com' });
    expect(await outcome()).toEqual({ kind: 'fault', reason: 'Example: HTTP 401' });
  });

  it('passes on the delay that the service asks for', async () => {
    api.answer = answerJson(429, {}, { 'retry-after': '7' });
    expect(await outcome()).toMatchObject({ kind: 'fault', retryAfterMs: 7_000 });
  });

  it('is a fault if the service cannot be reached', async () => {
    expect(await outcome({}, { url: 'https://127.0.0.1:1/send' })).toMatchObject({ kind: 'fault' });
    expect(await outcome({}, { url: 'https://127.0.0.1:9/send' })).toMatchObject({ kind: 'fault' });
    expect(await outcome({}, { url: 'http://10.1.2.3/send' })).toMatchObject({ kind: 'fault' });
    const closed = await startProviderApi();
    await closed.close();
    expect(await outcome({}, { url: `${closed.baseUrl}/send` })).toMatchObject({
      kind: 'fault',
      reason: expect.stringContaining('no connection'),
    });
  });

  it('is unknown if the service does not respond in time, or resets the connection', async () => {
    api.answer = () => undefined;
    expect(await outcome({}, { timeoutMs: 2_000 })).toEqual({
      kind: 'unknown',
      reason: 'Example: no response in time',
    });
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await outcome()).toMatchObject({ kind: 'unknown' });
  });

  it('is unknown even if the request may be repeated, so that its attempts are counted', async () => {
    api.answer = () => undefined;
    expect(await outcome({ repeatable: true }, { timeoutMs: 2_000 })).toMatchObject({ kind: 'unknown' });
    api.answer = answerJson(502, {});
    expect(await outcome({ repeatable: true })).toMatchObject({ kind: 'unknown' });
  });

  it('depends on the status if the body is cut off', async () => {
    api.answer = (_request, response) => {
      response.writeHead(400, { 'content-length': '100' });
      response.write('{"code":');
      setImmediate(() => response.socket?.destroy());
    };
    expect(await outcome()).toMatchObject({ kind: 'refused' });
  });

  it('sends a request once, even if a reused connection turns out to be closed', async () => {
    await outcome();
    api.requests = [];
    api.answer = (_request, response) => void response.socket?.destroy();
    expect(await outcome()).toMatchObject({ kind: 'unknown' });
    expect(api.requests).toHaveLength(1);
  });

  it('does not read an endless response', async () => {
    api.answer = (_request, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 0x20)));
      };
      response.on('drain', more);
      more();
    };
    const result = await requestApi(api.deps.egress, { method: 'GET', url: api.baseUrl, headers: {} });
    expect(result).toMatchObject({ kind: 'response', status: 200, json: undefined });
  });
});

describe('the time-out of a request', () => {
  it.each([
    [0, 30_000],
    [262_143, 30_000],
    [262_144, 31_000],
    [27 * 1_048_576, 138_000],
    [100 * 1_048_576, 180_000],
  ])('with %i bytes is %i ms', (bytes, ms) => {
    expect(timeoutFor(bytes)).toBe(ms);
  });
});

describe('Retry-After', () => {
  it.each([
    ['7', 7_000],
    ['86400', 300_000],
    ['Sun, 22 Nov 2026 07:00:10 GMT', 10_000],
    ['Sun, 22 Nov 2026 06:00:00 GMT', 0],
    ['soon', null],
    [undefined, null],
  ])('of %s is %s', (header, ms) => {
    expect(retryAfterOf(header, Date.parse('2026-11-22T07:00:00Z'))).toBe(ms);
  });
});

describe('a batch that is handed over message by message', () => {
  /** Resolves each message with the given outcome, and counts how many are in progress. */
  function service(outcomes: Record<number, HandOverOutcome>) {
    const seen = { started: [] as number[], atOnce: 0, most: 0 };
    const submit = async (message: number) => {
      seen.started.push(message);
      seen.most = Math.max(seen.most, (seen.atOnce += 1));
      await new Promise((resolve) => setImmediate(resolve));
      seen.atOnce -= 1;
      return outcomes[message] ?? accepted;
    };
    return { seen, ...createSubmitter(submit) };
  }
  const batch = Array.from({ length: 20 }, (_, index) => index);

  it('is sent four messages at a time, with outcomes in the order of the batch', async () => {
    const refused: HandOverOutcome = { kind: 'refused', code: 'rejected', response: '' };
    const { seen, handOver } = service({ 3: refused });
    const outcomes = await handOver(batch);
    expect(outcomes.map(({ kind }) => kind)).toEqual(batch.map((n) => (n === 3 ? 'refused' : 'accepted')));
    expect(seen.most).toBe(4);
  });

  it.each([
    ['fault', { kind: 'fault', reason: 'x' }],
    ['unknown', { kind: 'unknown', reason: 'x' }],
  ] satisfies [string, HandOverOutcome][])('stops after the outcome %s', async (_kind, trouble) => {
    const { seen, handOver } = service({ 5: trouble });
    const outcomes = await handOver(batch);
    expect(seen.started.length).toBeLessThan(12);
    expect(outcomes[5]).toEqual(trouble);
    expect(outcomes.slice(12).every(({ kind }) => kind === 'not_tried')).toBe(true);
  });

  it('is sent one message at a time if it has a letter of more than 1 MiB', async () => {
    const { seen, handOver } = service({});
    const letter = (text: string) => outgoingLetter({ text }) as unknown as number;
    await handOver([letter('x'), letter('x'.repeat(800_000)), letter('x')]);
    expect(seen.most).toBe(1);
    await handOver([letter('x'), letter('x'.repeat(700_000)), letter('x')]);
    expect(seen.most).toBe(3);
  });

  it('begins no further ones once it stops, and leaves those open that were begun', async () => {
    const started: number[] = [];
    const replies: (() => void)[] = [];
    const submitter = createSubmitter((message: number) => {
      started.push(message);
      return new Promise<HandOverOutcome>((resolve) => replies.push(() => resolve(accepted)));
    });
    const handingOver = submitter.handOver(batch);
    expect(started).toEqual([0, 1, 2, 3]);
    submitter.stop();
    const results = await handingOver;
    expect(results.map(({ kind }) => kind)).toEqual(batch.map((n) => (n < 4 ? 'open' : 'not_tried')));
    for (const reply of replies) reply();
    const later = results.flatMap((result) => (result.kind === 'open' ? [result.later] : []));
    expect(await Promise.all(later)).toEqual([accepted, accepted, accepted, accepted]);
    expect(await submitter.handOver([7])).toEqual([{ kind: 'not_tried' }]);
    expect(started).toHaveLength(4);
  });

  it('does not send a message that still waits for its turn at the stop', async () => {
    const started: number[] = [];
    const submitter = createSubmitter(
      (message: number) => {
        started.push(message);
        return Promise.resolve(accepted);
      },
      () => new Promise(() => undefined),
    );
    const handingOver = submitter.handOver([1, 2]);
    submitter.stop();
    expect(await handingOver).toEqual([{ kind: 'not_tried' }, { kind: 'not_tried' }]);
    expect(started).toEqual([]);
  });

  it('sends fewer at a time after a fault, and more again when the service works', async () => {
    const outcomes: Record<number, HandOverOutcome> = { 0: { kind: 'fault', reason: 'HTTP 429' } };
    const { seen, handOver } = service(outcomes);
    await handOver([0]);
    delete outcomes[0];
    const most: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      seen.most = 0;
      await handOver(batch);
      most.push(seen.most);
    }
    expect(most).toEqual([2, 3, 4]);
  });
});
