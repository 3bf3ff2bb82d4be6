// Requests within the process pass as their principal, with their body, and end by their limits.
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { RequestListener } from 'node:http';
import type { Authenticate, Principal } from '../../../src/platform/auth/tenant.ts';
import { countedRequest } from '../../../src/platform/http/counted-request.ts';
import { readPieces } from '../../../src/platform/http/body.ts';
import {
  createInnerRequests,
  type InnerRequest,
  type InnerRequests,
  MAX_RESPONSE_BYTES,
} from '../../../src/platform/http/inner-requests.ts';

const principal: Principal = {
  tenant: { accountId: 7, brandId: 8, actor: { kind: 'user', id: 9, role: 'owner' }, role: 'owner' },
  rateLimitPerSecond: 0,
  rateLimitName: 'grant 1',
  session: null,
  grant: null,
};
const stranger: Principal = { ...principal, tenant: null, rateLimitName: 'by its headers' };

let inner: InnerRequests;
let authenticate: Authenticate;
let answer: RequestListener;
beforeAll(() => {
  inner = createInnerRequests();
  authenticate = inner.admit(async () => stranger);
  inner.connect((request, response) => answer(request, response));
});

function send(request: Partial<InnerRequest> = {}, as = principal, signal?: AbortSignal) {
  const outer = { address: '192.0.2.7', signal: signal ?? new AbortController().signal };
  return inner.request({ method: 'GET', path: '/', headers: {}, body: null, ...request }, as, outer);
}

const callerName: RequestListener = (request, response) => {
  void authenticate(request, 'brand').then(({ rateLimitName }) => response.end(rateLimitName));
};

describe('an inner request', () => {
  it('passes as its principal, whatever its headers say', async () => {
    answer = callerName;
    expect((await send({ headers: { authorization: 'Bearer other' } })).body).toBe('grant 1');
    const outside = await authenticate({ headers: {}, method: 'GET' }, 'brand');
    expect(outside.rateLimitName).toBe('by its headers');
  });

  it.each(['user', 'grant'] as const)('never passes a route with auth %s', async (auth) => {
    answer = (request, response) => {
      authenticate(request, auth).catch((error: unknown) => response.end(String(error)));
    };
    expect((await send()).body).toContain('not for assistants');
  });

  it('brings its method, path, body, headers and client address', async () => {
    answer = (request, response) => {
      const pieces: Buffer[] = [];
      void readPieces(countedRequest(request), (piece) => pieces.push(piece)).then(() => {
        const { method, url, headers, socket } = request;
        response.setHeader('X-Total-Count', '3');
        response.statusCode = 201;
        response.end(
          JSON.stringify({
            method,
            url,
            headers,
            body: String(Buffer.concat(pieces)),
            from: socket.remoteAddress,
          }),
        );
      });
    };
    const { status, headers, body } = await send({
      method: 'POST',
      path: '/v1/x?y=%20z',
      headers: { 'Idempotency-Key': 'k' },
      body: '{"é":1}',
    });
    expect([status, headers['x-total-count']]).toEqual([201, '3']);
    expect(JSON.parse(body)).toMatchObject({
      method: 'POST',
      url: '/v1/x?y=%20z',
      body: '{"é":1}',
      from: '192.0.2.7',
      headers: { 'idempotency-key': 'k', 'content-type': 'application/json', 'content-length': '8' },
    });
  });

  it('is refused, and its response ends, beyond the limit of a response', async () => {
    const closed = Promise.withResolvers<string>();
    answer = (_request, response) => {
      response.once('close', () => closed.resolve('closed'));
      const more = () => {
        if (!response.destroyed) response.write('x'.repeat(65_536), () => setImmediate(more));
      };
      more();
    };
    await expect(send()).rejects.toMatchObject({ code: 'payload_too_large' });
    expect(await closed.promise).toBe('closed');
    answer = (_request, response) => response.end('x'.repeat(MAX_RESPONSE_BYTES));
    expect((await send()).body).toHaveLength(MAX_RESPONSE_BYTES);
  });

  it('ends when its caller gives up', async () => {
    const caller = new AbortController();
    answer = () => caller.abort(new Error('gave up'));
    await expect(send({}, principal, caller.signal)).rejects.toThrow('gave up');
    await expect(send({}, principal, caller.signal)).rejects.toThrow('gave up');
  });
});
