// After a rotation, requests are signed with both secrets for 24 hours, then with the new secret alone.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { secretPlace } from '../../../src/features/webhooks/attempts/endpoint.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { startTestApi, type TestApi, type TestBody } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { startReceiver, type ReceivedRequest, type Receiver } from '../../support/https-receiver.ts';
import { publishSent, rowOf, startWebhookLoop, type RunningLoop } from '../../support/webhooks.ts';

let api: TestApi;
let receiver: Receiver;
let loop: RunningLoop;
const path = '/v1/my/webhooks';

beforeAll(async () => {
  api = await startTestApi({ env: { EGRESS_ALLOW: '127.0.0.1/32' } });
  loop = await startWebhookLoop(api.database);
});
afterAll(async () => {
  await loop.stop();
  await api.close();
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  await api.database.pool.query('delete from webhooks; delete from webhook_deliveries');
});

async function create(): Promise<{ id: number; secret: string }> {
  const body = { url: receiver.url('/hook', '127.0.0.1'), events: ['email.sent'] };
  const response = await api.request('POST', path, { body });
  return { id: Number(response.body.id), secret: String(response.body.secret) };
}

async function rotate(id: number, headers: Record<string, string> = {}): Promise<TestBody> {
  const answer = await api.request('POST', `${path}/${id}/rotate_secret`, { headers });
  expect(answer.status).toBe(200);
  return answer.body;
}

/** Publishes an event and waits for its request. */
async function nextRequest(): Promise<ReceivedRequest> {
  const before = receiver.requests.length;
  await publishSent(api.database, api, [before + 1]);
  loop.waker.wake('webhook');
  return eventually(() => {
    const request = receiver.requests[before];
    if (!request) throw new Error('not yet');
    return request;
  });
}

function verifies(secret: string, { body, headers }: ReceivedRequest): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

describe('POST /webhooks/:id/rotate_secret', () => {
  it('shows the whole new secret once', async () => {
    const { id, secret } = await create();
    const rotated = await rotate(id);
    expect(rotated.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(rotated.secret).not.toBe(secret);
    expect(rotated).toMatchObject({ id, events: ['email.sent'], enabled: true });
    const shown = await api.request('GET', `${path}/${id}`);
    expect(shown.body.secret).toBe(`whsec_…${String(rotated.secret).slice(-4)}`);
    expect((await api.request('GET', `${path}/${id}?reveal=true`)).body.secret).toBe(rotated.secret);
    const stored = JSON.stringify(await rowOf(api.database, id));
    for (const each of [secret, String(rotated.secret)]) expect(stored).not.toContain(each.slice(6, 40));
  });

  it('signs with both secrets for 24 hours, then with the new one only', async () => {
    const { id, secret: old } = await create();
    const fresh = String((await rotate(id)).secret);
    const both = await nextRequest();
    expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect([verifies(old, both), verifies(fresh, both)]).toEqual([true, true]);
    const until = (await rowOf<{ previous_secret_until: Date }>(api.database, id))?.previous_secret_until;
    expect(Math.abs((until?.getTime() ?? 0) - Date.now() - 86_400_000)).toBeLessThan(10_000);
    await api.database.pool.query('update webhooks set previous_secret_until = now() where id = $1', [id]);
    const alone = await nextRequest();
    expect([verifies(old, alone), verifies(fresh, alone)]).toEqual([false, true]);
  });

  it('keeps only the latest former secret after two rotations', async () => {
    const { id, secret: first } = await create();
    const second = String((await rotate(id)).secret);
    const third = String((await rotate(id)).secret);
    const request = await nextRequest();
    expect([first, second, third].map((secret) => verifies(secret, request))).toEqual([false, true, true]);
  });

  it('rotates once for requests with the same Idempotency-Key', async () => {
    const { id } = await create();
    const key = { 'Idempotency-Key': 'rotate-1' };
    const [one, other] = await Promise.all([rotate(id, key), rotate(id, key)]);
    expect(one.secret).toBe(other.secret);
    const again = await api.request('POST', `${path}/${id}/rotate_secret`, { headers: key });
    expect([again.headers.get('idempotent-replayed'), again.body.secret]).toEqual(['true', one.secret]);
  });

  it('replaces a secret that can no longer be opened', async () => {
    const { id } = await create();
    const foreign = createKeyring('another secret, since lost').seal(
      'whsec_lost',
      secretPlace(id, api.accountId),
    );
    await api.database.pool.query('update webhooks set secret_sealed = $2 where id = $1', [id, foreign]);
    const unreadable = await api.request('GET', `${path}/${id}?reveal=true`);
    expect([unreadable.status, unreadable.body.code]).toEqual([409, 'conflict']);
    expect(unreadable.body.message).toMatch(/rotate it/);
    const { secret } = await rotate(id);
    const request = await nextRequest();
    expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(1);
    expect(verifies(String(secret), request)).toBe(true);
  });

  it('signs with the new secret alone if the former one can no longer be opened', async () => {
    const { id } = await create();
    const { secret } = await rotate(id);
    const foreign = createKeyring('another secret, since lost').seal(
      'whsec_lost',
      secretPlace(id, api.accountId),
    );
    await api.database.pool.query('update webhooks set previous_secret_sealed = $2 where id = $1', [
      id,
      foreign,
    ]);
    const request = await nextRequest();
    expect(String(request.headers['webhook-signature']).split(' ')).toHaveLength(1);
    expect(verifies(String(secret), request)).toBe(true);
  });

  it('rejects any field', async () => {
    const { id, secret } = await create();
    const ask = (body: unknown) => api.request('POST', `${path}/${id}/rotate_secret`, { body });
    const refused = await ask({ keep_hours: 48 });
    expect(refused.status).toBe(422);
    expect(Object.keys(refused.body.validation_errors ?? {})).toEqual(['keep_hours']);
    expect((await api.request('GET', `${path}/${id}?reveal=true`)).body.secret).toBe(secret);
    expect((await ask({})).status).toBe(200);
  });

  it('is allowed to owners, admins and API keys of the tenant only', async () => {
    const { id, secret } = await create();
    const member = await api.addUser('member');
    const admin = await api.addUser('admin');
    const ask = (token: string) => api.request('POST', `${path}/${id}/rotate_secret`, { token });
    expect((await ask(member.userJwt)).status).toBe(403);
    expect((await ask(api.other.apiKey)).status).toBe(404);
    expect((await api.request('GET', `${path}/${id}?reveal=true`)).body.secret).toBe(secret);
    expect((await ask(admin.userJwt)).status).toBe(200);
    expect((await ask(api.userJwt)).status).toBe(200);
  });
});
