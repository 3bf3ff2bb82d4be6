import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestRequest } from '../../support/api.ts';
import { probeRoutes } from '../../support/probe-routes.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ extraRoutes: probeRoutes });
});
afterAll(() => api.close());

const echo = (options: TestRequest) => api.request('POST', '/v1/my/probe/echo/1', options);
const json = { 'Content-Type': 'application/json' };

/** Send bytes as they are; answers with all that came back until the connection ended or `until` was seen. */
function raw(parts: (string | Buffer)[], until: RegExp, timeoutMs = 5_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(api.port, '127.0.0.1');
    let seen = '';
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms: ${seen}`)), timeoutMs);
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(seen);
    };
    socket.on('data', (data) => {
      seen += data.toString('latin1');
      if (until.test(seen)) end();
    });
    socket.on('error', end);
    socket.on('close', end);
    for (const part of parts) socket.write(part);
  });
}

describe('a path', () => {
  it('that nobody knows is 404 in the error shape', async () => {
    const answer = await api.request('GET', '/v1/my/nothing');
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({
      error: true,
      code: 'not_found',
      message: 'there is nothing at this path',
      validation_errors: {},
    });
  });

  it('refuses a method it has not, naming those it has', async () => {
    const answer = await api.request('DELETE', '/v1/my/account');
    expect(answer.status).toBe(405);
    expect(answer.body).toMatchObject({
      code: 'method_not_allowed',
      message: 'DELETE is not possible here, only GET, HEAD, OPTIONS, PATCH',
    });
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS, PATCH');
  });

  it('whose parameter is empty is nobody’s', async () => {
    expect((await api.request('DELETE', '/v1/my/probe/echo/')).status).toBe(404);
  });

  it('answers OPTIONS with its methods and HEAD without a body', async () => {
    const options = await api.request('OPTIONS', '/v1/my/account', { token: null });
    expect([options.status, options.headers.get('allow'), options.text]).toEqual([
      204,
      'GET, HEAD, OPTIONS, PATCH',
      '',
    ]);
    const head = await api.request('HEAD', '/v1/my/account');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(100);
  });

  it.each(['abc', '0', '-1', '1.5', '99999999999999999999', '%00', '%zz', '1%20or%201=1'])(
    'with the id %s names nothing',
    async (id) => {
      const answer = await api.request('POST', `/v1/my/probe/echo/${id}`, { body: { subject: 'x' } });
      expect([answer.status, answer.body.message]).toEqual([404, 'resource not found']);
    },
  );
});

describe('a body', () => {
  it.each([
    ['cut off', '{"subject": "x"'],
    ['not JSON', 'subject=x'],
    ['empty', ''],
    ['invalid UTF-8', Uint8Array.from([0x22, 0xff, 0xfe, 0x22])],
    ['with a control character inside a string', '{"subject": "a\u0000b"}'],
  ])('that is %s is 400', async (_what, rawBody) => {
    const answer = await echo({ rawBody, headers: json });
    expect([answer.status, answer.body.code]).toEqual([400, 'malformed_json']);
    expect(answer.body.validation_errors).toEqual({});
  });

  it.each([
    ['text/plain', {}],
    ['application/x-www-form-urlencoded', {}],
    ['multipart/form-data; boundary=x', {}],
    ['application/jsonp', {}],
    ['application/json', { 'Content-Encoding': 'gzip' }],
  ])('of type %s with %o is 415', async (type, headers) => {
    const answer = await echo({ rawBody: '{"subject":"x"}', headers: { 'Content-Type': type, ...headers } });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each(['application/json; charset=utf-8', 'application/vnd.api+json', 'APPLICATION/JSON'])(
    'of type %s is read',
    async (type) => {
      const answer = await echo({ rawBody: '{"subject":"x"}', headers: { 'Content-Type': type } });
      expect(answer.status).toBe(200);
    },
  );

  it('may be left out only where the route says so', async () => {
    const answer = await api.request('POST', '/v1/my/probe/optional');
    expect([answer.status, answer.body]).toEqual([200, { type: 'email.delivered' }]);
  });

  it('that is left out may be announced as one in chunks, without a type', async () => {
    const head = `POST /v1/my/probe/optional HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
    expect(await raw([`${chunked}0\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 200 [^]*email.delivered/);
    expect(await raw([`${chunked}2\r\n{}\r\n0\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 415 /);
  });

  it('of 10 MB is 413, and the connection goes on', async () => {
    const answer = await echo({ rawBody: `{"subject":"${'x'.repeat(10 * 1024 * 1024)}"}`, headers: json });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
    expect((await echo({ body: { subject: 'after' } })).status).toBe(200);
  });

  it('that says it is 10 MB is refused before it is sent', async () => {
    const head = `POST /v1/my/probe/echo/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const seen = await raw(
      [`${head}Content-Type: application/json\r\nContent-Length: 10485760\r\n\r\n{`],
      /validation_errors/,
      1_500,
    );
    expect(seen).toMatch(/^HTTP\/1.1 413 /);
  });

  it('in chunks is refused as soon as it is too long, and its connection is not kept for ever', async () => {
    const head = `POST /v1/my/probe/echo/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const chunks = Array.from({ length: 6 }, () => [
      `${chunk.length.toString(16)}\r\n`,
      chunk,
      '\r\n',
    ]).flat();
    const startedAt = performance.now();
    const seen = await raw(
      [`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`, ...chunks],
      /never seen/,
    );
    expect(seen).toMatch(/^HTTP\/1.1 413 /);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });
});

describe('validation', () => {
  it('tells every problem by its path', async () => {
    const answer = await echo({
      body: {
        subjet: 'x',
        count: 1.5,
        reply_to: 'nobody',
        links: [{ url: 'x', title: '' }, { titel: 'y' }],
        kind: 'three',
        zzz: 1,
      },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.code).toBe('validation_error');
    expect(answer.body.validation_errors).toEqual({
      subject: ['is required'],
      subjet: ['is not a known field; did you mean subject?'],
      count: ['must be an integer'],
      reply_to: ['must be an email address'],
      'links.0.url': ['must be a URL'],
      'links.0.title': ['must not be empty'],
      'links.1.url': ['is required'],
      'links.1.title': ['is required'],
      'links.1.titel': ['is not a known field; did you mean title?'],
      kind: ['must be one of one, two'],
      zzz: ['is not a known field'],
    });
  });

  it('tells a list that is too long', async () => {
    const link = { url: 'https://a.test', title: 'a' };
    const answer = await echo({ body: { subject: 'x', links: [link, link, link] } });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      { links: ['must have at most 2 items'] },
    ]);
  });

  it.each([[[]], ['text'], [null], [7]])('refuses %j as a body', async (body) => {
    const answer = await echo({ body });
    expect([answer.status, answer.body.validation_errors]).toEqual([422, { body: ['must be an object'] }]);
  });

  it('tells problems of query, header and body together', async () => {
    const answer = await api.request('POST', '/v1/my/probe/echo/1?verbos=1', {
      body: { subject: 'x'.repeat(21) },
      headers: { 'Idempotency-Key': 'x'.repeat(129) },
    });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      {
        verbos: ['is not a known query parameter; did you mean verbose?'],
        'Idempotency-Key': ['must have 1 to 128 printable ASCII characters'],
        subject: ['must have at most 20 characters'],
      },
    ]);
  });

  it('refuses a query parameter given twice, and any where the route has none', async () => {
    const twice = await api.request('POST', '/v1/my/probe/echo/1?verbose=true&verbose=true', {
      body: { subject: 'x' },
    });
    expect([twice.status, twice.body.validation_errors]).toEqual([422, { verbose: ['must be given once'] }]);
    const inherited = await api.request('GET', '/v1/my/account?constructor=1');
    expect([inherited.status, inherited.body.validation_errors]).toEqual([
      422,
      { constructor: ['is not a known query parameter'] },
    ]);
    const none = await api.request('GET', '/v1/my/account?page=1');
    expect([none.status, none.body.validation_errors]).toEqual([
      422,
      { page: ['is not a known query parameter'] },
    ]);
  });

  it('ignores fields that are only for reading, and fills defaults', async () => {
    const answer = await echo({ body: { id: 9, created_at: 'whenever', subject: 'x' } });
    expect([answer.status, answer.body.body]).toEqual([200, { subject: 'x', kind: 'one' }]);
  });

  it('refuses what no column can hold, wherever it hides', async () => {
    const answer = await echo({
      rawBody: String.raw`{"subject": "a\u0000b", "data": {"deep": ["\ud800"], "bad\u0000key": 1}}`,
      headers: json,
    });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      {
        subject: ['must not contain the character NUL'],
        'data.deep.0': ['must not contain half a surrogate pair'],
        'data."bad\\u0000key"': ['the name must not contain the character NUL'],
      },
    ]);
    const query = await api.request('POST', '/v1/my/probe/echo/1?verbose=%00', { body: { subject: 'x' } });
    expect([query.status, query.body.validation_errors]).toEqual([
      422,
      { verbose: ['must not contain the character NUL'] },
    ]);
  });
});

describe('an answer', () => {
  it('carries the request id: the client’s where it is sane, else a new one', async () => {
    const given = await api.request('GET', '/healthz', { headers: { 'X-Request-Id': 'job-42:retry.1' } });
    expect(given.headers.get('x-request-id')).toBe('job-42:retry.1');
    const odd = await api.request('GET', '/healthz', { headers: { 'X-Request-Id': 'a b"<script>' } });
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const error = await api.request('GET', '/v1/my/nothing', { headers: { 'X-Request-Id': 'mine' } });
    expect(error.headers.get('x-request-id')).toBe('mine');
  });

  it('carries the security headers, an error too', async () => {
    for (const path of ['/healthz', '/v1/my/nothing']) {
      const { headers } = await api.request('GET', path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('to a bug is a bare 500 that gives nothing away', async () => {
    const answer = await api.request('GET', '/v1/my/probe/failing/bug');
    expect(answer.status).toBe(500);
    expect(Object.keys(answer.body)).toEqual(['error', 'code', 'message', 'validation_errors']);
    expect(answer.body.code).toBe('internal_error');
    expect(answer.text).not.toContain('secret reason');
  });

  it('to a known error is its code, and to a database that is away 503', async () => {
    const known = await api.request('GET', '/v1/my/probe/failing/known');
    expect([known.status, known.body.code]).toEqual([409, 'conflict']);
    const away = await api.request('GET', '/v1/my/probe/failing/database');
    expect([away.status, away.body.code, away.headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
  });

  it('to what is not HTTP is in the error shape too', async () => {
    expect(await raw(['NONSENSE\r\n\r\n'], /}$/)).toMatch(
      /^HTTP\/1.1 400 [\s\S]*X-Request-Id: \S{36}\r\n[\s\S]*"error":true/,
    );
    const long = `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
    expect(await raw([long], /}$/)).toMatch(/^HTTP\/1.1 431 [\s\S]*"error":true/);
  });

  it('to what is not HTTP is none behind a request that still waits for its own', async () => {
    const first = `GET /v1/my/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n\r\n`;
    expect(await raw([`${first}NONSENSE\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 200 [^]*Connection: close/);
  });

  it('that expects what nobody knows gets its answer all the same', async () => {
    const request = 'GET /v1/my/nothing HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n';
    expect(await raw([request], /}$/)).toMatch(/^HTTP\/1.1 404 [\s\S]*X-Request-Id[\s\S]*"error":true/);
  });
});
