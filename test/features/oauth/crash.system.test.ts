// An API process that is killed while it renews a token loses nothing: the old token still works, or the same answer comes.
import { once } from 'node:events';
import http from 'node:http';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { claimPorts } from '../../../src/local/machine/ports.ts';
import { findGrantCaller } from '../../../src/features/oauth/index.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, TEST_SECRET, type TestApi } from '../../support/api.ts';
import { type OauthClient, startClient } from '../../support/oauth.ts';
import { type Program, runProgram } from '../../support/programs.ts';
import { eventually } from '../../support/eventually.ts';

const TEST_LIMIT_MS = 120_000;
const LOCK = 4_242;

let api: TestApi;
let client: OauthClient;
let port: number;
let killed: Program;
beforeAll(async () => {
  api = await startTestApi();
  client = await startClient(api);
  [port] = (await claimPorts([{ port: 0, setting: 'PORT' }])) as [number];
  // Stops a renewal after the old token was used and before the new ones are stored.
  await api.database.pool.query(`
    create function wait_for_test() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(${LOCK}); return new; end $$;
    create trigger wait_for_test before insert on oauth_tokens for each row
      when (new.model = 'AccessToken') execute function wait_for_test()`);
});
afterAll(async () => {
  killed.child.kill('SIGKILL');
  await killed.ended;
  await api.close();
});

/** Starts another API process of the same service. */
async function start(): Promise<void> {
  killed = runProgram('src/main.ts', ['start', 'api'], {
    DATABASE_URL: api.config.DATABASE_URL ?? '',
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    APP_SECRET: TEST_SECRET,
    PUBLIC_URL: api.baseUrl,
    MAIL_DOMAIN: 'mail.test',
    EMAIL_PROVIDER_URL: 'smtp://127.0.0.1:1?tls=off',
    PORT: String(port),
    OPS_PORT: '0',
  });
  await killed.ready();
}

/** Asks that process for new tokens. */
async function refresh(refreshToken: string): Promise<{ status: number | undefined; text: string }> {
  const request = http.request({
    ...{ host: '127.0.0.1', port, path: '/oauth/token', method: 'POST', agent: false },
    headers: { Host: new URL(api.baseUrl).host, 'Content-Type': 'application/x-www-form-urlencoded' },
  });
  request.end(
    new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: client.clientId,
    }).toString(),
  );
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const text = (await response.toArray()).join('');
  return { status: response.statusCode, text };
}

async function isWaiting(): Promise<boolean> {
  const { rows } = await api.database.pool.query<{ waiting: number }>(
    "select count(*)::int as waiting from pg_locks where locktype = 'advisory' and objid = $1 and not granted",
    [LOCK],
  );
  return rows[0]?.waiting === 1;
}

it(
  'renews once more after a kill in the middle, and repeats the answer after a kill at the end',
  async () => {
    const first = (await client.exchange(await client.code())).body;
    const token = String(first.refresh_token);
    await start();

    await inTransaction(api.database.pool, async (trx) => {
      await trx.query('select pg_advisory_xact_lock($1)', [LOCK]);
      const lost = expect(refresh(token)).rejects.toThrow();
      await eventually(async () => expect(await isWaiting()).toBe(true));
      killed.child.kill('SIGKILL');
      await killed.ended;
      await lost;
    });
    await start();
    const answer = await refresh(token);
    expect(answer.status).toBe(200);

    killed.child.kill('SIGKILL');
    await killed.ended;
    await start();
    expect(await refresh(token)).toEqual(answer);
    const { access_token: renewed } = JSON.parse(answer.text) as { access_token: string };
    expect(await findGrantCaller(api.database.pool, renewed, `${api.baseUrl}/mcp`)).not.toBeNull();
  },
  TEST_LIMIT_MS,
);
