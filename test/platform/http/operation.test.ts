// The API process reports readiness and metrics, finishes requests when it stops, and logs no client data.
import http from 'node:http';
import net from 'node:net';
import perfHooks from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import pino from 'pino';
import { reserveMessages } from '../../../src/delivery/ledger/accept/reserve.ts';
import { createLogger } from '../../../src/log.ts';
import { createProcessRegistry } from '../../../src/platform/http/operators.ts';
import { eventually } from '../../support/eventually.ts';
import { startTestApi, TEST_PASSWORD, type TestApi } from '../../support/api.ts';
import { until } from '../../support/programs.ts';
import { createSlowRoute, probeRoutes } from '../../support/probe-routes.ts';

describe('the api process', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ extraRoutes: probeRoutes, env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  });
  afterAll(() => api.close());

  it('is ready with a migrated database, even if the engine is unreachable', async () => {
    expect((await api.request('GET', '/healthz', { token: null })).body).toEqual({ status: 'ok' });
    const ready = await api.request('GET', '/readyz', { token: null });
    expect([ready.status, ready.body]).toEqual([
      200,
      {
        status: 'ready',
        checks: { database: 'ok', migrations: 'ok', functions: 'ok', engine: 'unreachable' },
      },
    ]);
  });

  it('is not ready while a migration is missing, and names it', async () => {
    const { rows } = await api.database.pool.query<{ name: string }>(
      `delete from migrations where name = '0001_tenants' returning name`,
    );
    expect(rows).toHaveLength(1);
    // The result of an earlier check is kept for a second.
    const answer = await until(
      async () => {
        const found = await api.request('GET', '/readyz', { token: null });
        return found.status === 503 && found;
      },
      () => 'still ready',
    );
    await api.database.pool.query(`insert into migrations (name) values ('0001_tenants')`);
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({
      error: true,
      code: 'unavailable',
      validation_errors: {},
      checks: { database: 'ok', migrations: ['0001_tenants'] },
    });
  });

  it('is not ready while a function of the database is missing, and names it', async () => {
    const { name, text } = reserveMessages.installed;
    await api.database.pool.query(`drop function ${name}`);
    const answer = await until(
      async () => {
        const found = await api.request('GET', '/readyz', { token: null });
        return Array.isArray(found.body.checks?.functions) && found;
      },
      () => 'still ready',
    );
    await api.database.pool.query(text);
    expect([answer.status, answer.body.checks]).toMatchObject([503, { functions: [name] }]);
  });

  it('checks at most once a second, however often it is called', async () => {
    let dials = 0;
    const engine = net.createServer(() => (dials += 1)).listen(0, '127.0.0.1');
    await new Promise((resolve) => engine.once('listening', resolve));
    const { port } = engine.address() as net.AddressInfo;
    const withEngine = await startTestApi({ env: { TEMPORAL_ADDRESS: `127.0.0.1:${port}` } });
    const startedAt = performance.now();
    for (let round = 0; round < 5; round += 1) {
      const calls = Array.from({ length: 20 }, () => withEngine.request('GET', '/readyz'));
      for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    await withEngine.close();
    engine.close();
    expect(dials).toBeGreaterThan(0);
    expect(dials).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });

  it('reports an engine that accepts connections', async () => {
    const engine = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => engine.once('listening', resolve));
    const { port } = engine.address() as net.AddressInfo;
    const withEngine = await startTestApi({ env: { TEMPORAL_ADDRESS: `127.0.0.1:${port}` } });
    const ready = await withEngine.request('GET', '/readyz');
    await withEngine.close();
    engine.close();
    expect(ready.body.checks?.engine).toBe('ok');
  });

  it('counts requests by route pattern and status', async () => {
    await api.request('GET', '/v1/my/messages/4711');
    await api.request('GET', '/v1/my/nothing/at/all');
    // A request is counted once its response is sent, which the client may read before.
    const text = await eventually(async () => {
      const answer = await fetch(`${api.opsUrl}/metrics`);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
      const metrics = await answer.text();
      expect(metrics).toContain(
        'carillon_http_request_duration_seconds_count{method="GET",route="/v1/my/messages/:id",status="404"} 1',
      );
      expect(metrics).toContain('route="unknown",status="404"} 1');
      return metrics;
    });
    expect(text).not.toContain('4711');
    expect(text).toMatch(/nodejs_eventloop_lag_seconds \d/);
    expect(text).toMatch(/^nodejs_eventloop_lag_min_seconds 0\.\d+$/m);
    expect(text).toMatch(/carillon_database_connections\{pool="hot",state="idle"\} \d/);
  });

  it('serves metrics only on the port for operators, at loopback by default', async () => {
    expect((await api.request('GET', '/metrics')).status).toBe(404);
    expect(api.config.OPS_HOST).toBe('127.0.0.1');
    expect((await fetch(`${api.opsUrl}/metrics`)).status).toBe(200);
    for (const path of ['/healthz', '/v1/my/account']) {
      expect((await fetch(`${api.opsUrl}${path}`)).status).toBe(404);
    }
  });

  it('starts without metrics if the default port for operators is taken, but not if OPS_PORT is', async () => {
    const other = net.createServer().listen(9464, '127.0.0.1');
    // Another process may have the port already, which serves as well.
    await new Promise((resolve) => other.once('listening', resolve).once('error', resolve));
    const without = await startTestApi({ env: { OPS_PORT: '' } });
    expect((await without.request('GET', '/healthz')).status).toBe(200);
    await without.close();
    const taken = startTestApi({ env: { OPS_PORT: '9464' } });
    await expect(taken).rejects.toMatchObject({ code: 'EADDRINUSE' });
    other.close();
  });
});

describe('the metrics of a process', () => {
  it('measure the event loop from the first request for them on', async () => {
    const monitor = jest.spyOn(perfHooks, 'monitorEventLoopDelay');
    const registry = createProcessRegistry(new pg.Pool());
    expect(monitor).not.toHaveBeenCalled();
    for (let n = 0; n < 2; n += 1)
      expect(await registry.metrics()).toContain('nodejs_eventloop_lag_p99_seconds');
    expect(monitor).toHaveBeenCalledTimes(1);
    monitor.mockRestore();
  });
});

describe('stopping', () => {
  it('finishes the requests in progress, closes idle connections, and accepts no new ones', async () => {
    const slow = createSlowRoute();
    const api = await startTestApi({ extraRoutes: [slow.route] });
    const agent = new http.Agent({ keepAlive: true });
    const get = (path: string) =>
      new Promise<{ status: number; connection: string | undefined }>((resolve, reject) => {
        const request = http.get(`${api.baseUrl}${path}`, { agent }, (response) => {
          response.resume();
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, connection: response.headers.connection }),
          );
        });
        request.on('error', reject);
      });
    expect((await get('/healthz')).connection).toBe('keep-alive');
    const running = get('/v1/my/probe/slow');
    await slow.started;
    const stopped = api.close();
    await eventually(() => expect(fetch(`${api.baseUrl}/healthz`)).rejects.toThrow());
    slow.release();
    expect(await running).toEqual({ status: 200, connection: 'close' });
    await stopped;
    agent.destroy();
  });

  it('cuts off requests that exceed SHUTDOWN_GRACE_SECONDS', async () => {
    const slow = createSlowRoute();
    const api = await startTestApi({ extraRoutes: [slow.route], env: { SHUTDOWN_GRACE_SECONDS: '1' } });
    const running = fetch(`${api.baseUrl}/v1/my/probe/slow`);
    const failed = expect(running).rejects.toThrow();
    await slow.started;
    await api.close();
    await failed;
    slow.release();
  });
});

describe('logs', () => {
  function collect() {
    const lines: string[] = [];
    return { lines, destination: { write: (line: string) => void lines.push(line) } };
  }

  it('name the request and the account, and never contain what a client sent', async () => {
    const { lines, destination } = collect();
    const log = pino({ level: 'debug' }, destination);
    const api = await startTestApi({ log, extraRoutes: probeRoutes });
    const headers = { 'X-Request-Id': 'trace-me' };
    await api.request('PATCH', '/v1/my/account', {
      headers,
      body: { email_reply_to: 'private@person.test', name: 'private name' },
    });
    await api.request('POST', '/v1/login', { body: { user: { email: api.email, password: TEST_PASSWORD } } });
    await api.request('GET', '/v1/my/probe/failing/bug', { headers });
    await api.close();
    const all = lines.join('');
    expect(all).toContain('"request_id":"trace-me"');
    expect(all).toContain(`"account_id":${api.accountId}`);
    expect(all).toContain('the secret reason');
    for (const secret of [api.apiKey, TEST_PASSWORD, 'private', api.email, 'Bearer']) {
      expect(all).not.toContain(secret);
    }
  });

  it('redact secrets and addresses logged by mistake, and omit the details of database errors', () => {
    const { lines, destination } = collect();
    const log = createLogger({ LOG_LEVEL: 'info', LOG_FORMAT: 'json' }, 'api', destination);
    const error = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (email)=(a@b.c)' });
    log.info({ password: 'p1', user: { email: 'a@b.c' }, headers: { authorization: 'Bearer x' } }, 'mistake');
    log.error({ err: error }, 'failed');
    const all = lines.join('');
    expect(all).toContain('"role":"api"');
    expect(all).toContain('23505');
    for (const secret of ['p1', 'a@b.c', 'Bearer x']) expect(all).not.toContain(secret);
  });
});
