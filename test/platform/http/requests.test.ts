// The HTTP layer answers every malformed path, body, parameter and header in the documented error shape.
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
/** Only reveals why a test hangs; no test depends on how fast a response is. */
const NO_RESPONSE_MS = 25_000;

/** Sends bytes unchanged. @returns the response up to the end of the connection, or until it matches `until` */
function raw(parts: (string | Buffer)[], until: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(api.port, '127.0.0.1');
    let seen = '';
    const timer = setTimeout(() => reject(new Error(`no response: ${seen}`)), NO_RESPONSE_MS);
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
  it('is 404 in the error shape if no route has it', async () => {
    const answer = await api.request('GET', '/v1/my/nothing');
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({
      error: true,
      code: 'not_found',
      message: 'there is nothing at this path',
      validation_errors: {},
    });
  });

  it('refuses an unsupported method and lists the supported ones', async () => {
    const answer = await api.request('DELETE', '/v1/my/account');
    expect(answer.status).toBe(405);
    expect(answer.body).toMatchObject({
      code: 'method_not_allowed',
      message: 'DELETE is not supported here; use GET, HEAD, OPTIONS, PATCH',
    });
    expect(answer.headers.get('allow')).toBe('GET, HEAD, OPTIONS, PATCH');
  });

  it('is 404 if a parameter is empty', async () => {
    expect((await api.request('DELETE', '/v1/my/probe/echo/')).status).toBe(404);
  });

  it('answers OPTIONS with its methods, and HEAD without a body', async () => {
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
    'is 404 with the id %s',
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
  ])('is 400 if it is %s', async (_what, rawBody) => {
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
  ])('is 415 if its type is %s, with %o', async (type, headers) => {
    const answer = await echo({ rawBody: '{"subject":"x"}', headers: { 'Content-Type': type, ...headers } });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each(['application/json; charset=utf-8', 'application/vnd.api+json', 'APPLICATION/JSON'])(
    'is read if its type is %s',
    async (type) => {
      const answer = await echo({ rawBody: '{"subject":"x"}', headers: { 'Content-Type': type } });
      expect(answer.status).toBe(200);
    },
  );

  it('may be left out if the route allows it', async () => {
    const answer = await api.request('POST', '/v1/my/probe/optional');
    expect([answer.status, answer.body]).toEqual([200, { type: 'email.delivered' }]);
  });

  it('may be chunked and empty without a type if the route allows it to be left out', async () => {
    const head = `POST /v1/my/probe/optional HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`;
    expect(await raw([`${chunked}0\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 200 [^]*email.delivered/);
    expect(await raw([`${chunked}2\r\n{}\r\n0\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 415 /);
  });

  it('is 413 at 10 MB, and the connection stays usable', async () => {
    const answer = await echo({ rawBody: `{"subject":"${'x'.repeat(10 * 1024 * 1024)}"}`, headers: json });
    expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
    expect((await echo({ body: { subject: 'after' } })).status).toBe(200);
  });

  it('is refused by its declared length, before it is sent', async () => {
    const head = `POST /v1/my/probe/echo/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const seen = await raw(
      [`${head}Content-Type: application/json\r\nContent-Length: 10485760\r\n\r\n{`],
      /validation_errors/,
    );
    expect(seen).toMatch(/^HTTP\/1.1 413 /);
  });

  it('is refused in chunks once it is too long, and its connection is then closed', async () => {
    const head = `POST /v1/my/probe/echo/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n`;
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const chunks = Array.from({ length: 6 }, () => [
      `${chunk.length.toString(16)}\r\n`,
      chunk,
      '\r\n',
    ]).flat();
    const seen = await raw(
      [`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`, ...chunks],
      /never seen/,
    );
    expect(seen).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('an opaque route', () => {
  const post = (path: string, init: RequestInit) =>
    fetch(`http://127.0.0.1:${api.port}/v1/my/probe/opaque${path}`, { method: 'POST', ...init });

  it('receives the bytes and the query as they were sent, of any type', async () => {
    const answer = await post('?a=1&a=2&%ff', {
      body: '{"a":\0\xff',
      headers: { 'Content-Type': 'text/odd' },
    });
    expect(await answer.json()).toEqual({
      bytes: Buffer.from('{"a":\0\xff').toString('latin1'),
      querystring: 'a=1&a=2&%ff',
      parsed: [null, {}],
    });
  });

  it('refuses a body beyond its limit, and accepts none', async () => {
    expect((await post('', { body: 'x'.repeat(21) })).status).toBe(413);
    expect(await (await post('', {})).json()).toMatchObject({ bytes: '' });
  });
});

describe('validation', () => {
  it('reports every problem by its path', async () => {
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

  it('looks for what was meant by the first ten unknown fields only, because that takes long', async () => {
    const wrong = Array.from({ length: 30 }, (_, n) => [`subjec${String.fromCharCode(65 + n)}`, 1]);
    const answer = await echo({ body: { subject: 'x', ...Object.fromEntries(wrong) } });
    const messages = Object.values(
      answer.body.validation_errors as unknown as Record<string, string[]>,
    ).flat();
    expect(messages.filter((message) => message.endsWith('did you mean subject?'))).toHaveLength(10);
    expect(messages.filter((message) => message === 'is not a known field')).toHaveLength(20);
  });

  it('reports a list that is too long', async () => {
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

  it('reports problems of query, header and body together', async () => {
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

  it('refuses a query parameter given twice, and all parameters if the route has none', async () => {
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

  it('ignores read-only fields and fills in defaults', async () => {
    const answer = await echo({ body: { id: 9, created_at: 'whenever', subject: 'x' } });
    expect([answer.status, answer.body.body]).toEqual([200, { subject: 'x', kind: 'one' }]);
  });

  it('refuses text that no column can store, at any depth', async () => {
    const answer = await echo({
      rawBody: String.raw`{"subject": "a\u0000b", "data": {"deep": ["\ud800"], "bad\u0000key": 1}}`,
      headers: json,
    });
    expect([answer.status, answer.body.validation_errors]).toEqual([
      422,
      {
        subject: ['must not contain the character NUL'],
        'data.deep.0': ['must not contain half a surrogate pair'],
        'data."bad\\u0000key"': ['must not have the character NUL in its name'],
      },
    ]);
    const query = await api.request('POST', '/v1/my/probe/echo/1?verbose=%00', { body: { subject: 'x' } });
    expect([query.status, query.body.validation_errors]).toEqual([
      422,
      { verbose: ['must not contain the character NUL'] },
    ]);
  });
});

describe('a response', () => {
  it('has the request id of the client if it is acceptable, else a new one', async () => {
    const given = await api.request('GET', '/healthz', { headers: { 'X-Request-Id': 'job-42:retry.1' } });
    expect(given.headers.get('x-request-id')).toBe('job-42:retry.1');
    const odd = await api.request('GET', '/healthz', { headers: { 'X-Request-Id': 'a b"<script>' } });
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const error = await api.request('GET', '/v1/my/nothing', { headers: { 'X-Request-Id': 'mine' } });
    expect(error.headers.get('x-request-id')).toBe('mine');
  });

  it('has the security headers, also for an error', async () => {
    for (const path of ['/healthz', '/v1/my/nothing']) {
      const { headers } = await api.request('GET', path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('is a bare 500 without details for an unexpected error', async () => {
    const answer = await api.request('GET', '/v1/my/probe/failing/bug');
    expect(answer.status).toBe(500);
    expect(Object.keys(answer.body)).toEqual(['error', 'code', 'message', 'validation_errors']);
    expect(answer.body.code).toBe('internal_error');
    expect(answer.text).not.toContain('secret reason');
  });

  it('has the code of a known error, and is 503 if the database is unavailable', async () => {
    const known = await api.request('GET', '/v1/my/probe/failing/known');
    expect([known.status, known.body.code]).toEqual([409, 'conflict']);
    const unavailable = await api.request('GET', '/v1/my/probe/failing/database');
    expect([unavailable.status, unavailable.body.code, unavailable.headers.get('retry-after')]).toEqual([
      503,
      'unavailable',
      '1',
    ]);
  });

  it('has the error shape even if the request is not HTTP', async () => {
    expect(await raw(['NONSENSE\r\n\r\n'], /}$/)).toMatch(
      /^HTTP\/1.1 400 [\s\S]*X-Request-Id: \S{36}\r\n[\s\S]*"error":true/,
    );
    const long = `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`;
    expect(await raw([long], /}$/)).toMatch(/^HTTP\/1.1 431 [\s\S]*"error":true/);
  });

  it('is not sent for garbage while another response is pending', async () => {
    const first = `GET /v1/my/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.apiKey}\r\n\r\n`;
    expect(await raw([`${first}NONSENSE\r\n\r\n`], /}$/)).toMatch(/^HTTP\/1.1 200 [^]*Connection: close/);
  });

  it('is sent despite an unknown Expect header', async () => {
    const request = 'GET /v1/my/nothing HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n';
    expect(await raw([request], /}$/)).toMatch(/^HTTP\/1.1 404 [\s\S]*X-Request-Id[\s\S]*"error":true/);
  });

  it('is 404 for a request target whose host is malformed', async () => {
    const request = 'GET http://[x/v1 HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await raw([request], /}$/)).toMatch(/^HTTP\/1.1 404 [^]*"error":true/);
  });

  it('serves a request target in absolute form, and links to its own address', async () => {
    const head = `Host: ${new URL(api.baseUrl).host}\r\nAuthorization: Bearer ${api.apiKey}\r\n\r\n`;
    const seen = await raw([`GET http://elsewhere.test/v1/my/messages?limit=1 HTTP/1.1\r\n${head}`], /\]$/);
    expect(seen).toMatch(/^HTTP\/1.1 200 /);
    expect(seen).toContain(`<${api.baseUrl}/v1/my/messages?limit=1>; rel="first"`);
  });

  it('ends with its connection if its body breaks off, without an error text', async () => {
    const seen = await raw(['GET /v1/my/probe/broken HTTP/1.1\r\nHost: x\r\n\r\n'], /never seen/);
    expect(seen).toMatch(/^HTTP\/1.1 200 [^]*begun/);
    expect(seen).not.toContain('Internal Server Error');
  });
});
