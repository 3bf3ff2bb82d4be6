// Each role refuses bad settings, ends cleanly on the first request to stop, and at once on the second.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { claimPort } from '../../src/local/machine/ports.ts';
import { roles } from '../../src/roles/names.ts';
import { certificates } from '../support/submission.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { useEngine, type TestEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { runProgram, type Program } from '../support/programs.ts';
import { insertAccount, queueEmails } from '../support/queued.ts';
import { startSmtpServer } from '../support/sending.ts';

describe('carillon start <role>', () => {
  let made: TestDatabase;
  let engine: TestEngine;
  let home: string;
  beforeAll(async () => {
    [made, engine] = await Promise.all([createTestDatabase(), useEngine()]);
    home = mkdtempSync(join(tmpdir(), 'carillon-role-'));
  }, 60_000);
  const programs: Program[] = [];
  afterAll(async () => {
    for (const program of programs) program.child.kill('SIGKILL');
    await made.drop();
    rmSync(home, { recursive: true, force: true });
  });

  function start(role: string, settings: Record<string, string> = {}): Program {
    const program = runProgram('src/main.ts', ['start', role], {
      DATABASE_URL: made.url,
      TEMPORAL_ADDRESS: engine.address,
      TEMPORAL_NAMESPACE: engine.namespace,
      APP_SECRET: 'a secret of at least thirty-two characters',
      EMAIL_PROVIDER_URL: 'capture:',
      CARILLON_HOME: home,
      PORT: '0',
      MAIL_PORT: '0',
      SUBMISSION_PORTS: '0',
      SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
      SUBMISSION_TLS_KEY_FILE: certificates.first.key,
      ...settings,
    });
    programs.push(program);
    return program;
  }

  it.each(roles)(
    '%s reports that it is ready, and ends cleanly on SIGTERM',
    async (role) => {
      const program = start(role);
      await program.ready();
      program.child.kill('SIGTERM');
      expect(await program.ended).toBe(0);
    },
    60_000,
  );

  it('ends when its parent is gone', async () => {
    const program = start('api');
    await program.ready();
    program.child.disconnect();
    expect(await program.ended).toBe(0);
  }, 60_000);

  it('counts the signal of the terminal and its copy from npm as one request to end', async () => {
    const program = start('worker');
    await program.ready();
    program.child.kill('SIGINT');
    await delay(10);
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(0);
  }, 60_000);

  /** Starts an API that has begun a request which never completes, so that its stop takes the whole grace period. */
  async function startBusy(): Promise<Program> {
    const port = await claimPort(0, 'PORT');
    const program = start('api', { PORT: String(port), SHUTDOWN_GRACE_SECONDS: '3600' });
    await program.ready();
    const unfinished = net.connect(port, '127.0.0.1').on('error', () => undefined);
    unfinished.write('POST /v1/login HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\n');
    unfinished.write('expect: 100-continue\r\ncontent-length: 100\r\n\r\n{');
    await once(unfinished, 'data');
    return program;
  }
  const stateAfter = (program: Program, ms: number) =>
    Promise.race([program.ended, delay(ms, 'still running')]);

  it('waits for work in progress, but ends at once on a second request', async () => {
    const program = await startBusy();
    program.child.kill('SIGINT');
    expect(await stateAfter(program, 2_000)).toBe('still running');
    program.child.kill('SIGINT');
    expect(await program.ended).toBe(130);
  }, 60_000);

  it('counts the first signal after the end of its parent as the same request', async () => {
    const program = await startBusy();
    program.child.disconnect();
    expect(await stateAfter(program, 700)).toBe('still running');
    program.child.kill('SIGTERM');
    expect(await stateAfter(program, 2_000)).toBe('still running');
    program.child.kill('SIGTERM');
    expect(await program.ended).toBe(130);
  }, 60_000);

  describe('a sender whose relay does not reply to a final dot', () => {
    const server = { dots: 0, close: () => Promise.resolve() };
    afterEach(() => server.close());

    /** Starts a sender with ten messages, which has sent the first final dot. */
    async function startWaiting(settings: Record<string, string>): Promise<Program> {
      const silent = await startSmtpServer({
        onData: (stream) => void stream.resume().once('end', () => (server.dots += 1)),
      });
      server.dots = 0;
      server.close = () => silent.crash();
      const program = start('sender', {
        EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${silent.port}?tls=off&dkim=off`,
        SENDER_CONNECTIONS: '1',
        LOG_FORMAT: 'json',
        ...settings,
      });
      await program.ready();
      await queueEmails(made.database, await insertAccount(made.database), 10);
      await eventually(() => expect(server.dots).toBe(1));
      return program;
    }

    /** The messages of the sender's intents, and whether the sender is alive, as other processes see it. */
    async function stateOf({ child }: Program) {
      const { rows } = await made.database.pool.query<{ messages: number; alive: boolean }>(
        `select cardinality(h.message_ids) as messages, p.seen_at > now() - interval '3 seconds' as alive
         from handovers h join processes p on p.id = h.owner where p.pid = $1`,
        [child.pid],
      );
      return rows;
    }

    it('waits as long as SENDER_GRACE_SECONDS, and leaves only that message to the recovery', async () => {
      const program = await startWaiting({ SENDER_GRACE_SECONDS: '8' });
      program.child.kill('SIGTERM');
      await eventually(() => expect(program.output()).toContain('stopping: waiting for replies'));
      expect(program.output()).toMatch(/"open":1,"at_most_seconds":8/);
      expect(await stateAfter(program, 4_000)).toBe('still running');
      expect(await stateOf(program)).toEqual([{ messages: 1, alive: true }]);
      expect(await program.ended).toBe(0);
      expect(program.output()).toContain('stopped without replies');
      expect(await stateOf(program)).toMatchObject([{ messages: 1 }]);
    }, 60_000);

    it('ends at once on a second request', async () => {
      const program = await startWaiting({});
      program.child.kill('SIGTERM');
      await eventually(async () => expect(await stateOf(program)).toMatchObject([{ messages: 1 }]));
      await eventually(() => expect(program.output()).toContain('stopping: waiting for replies'));
      program.child.kill('SIGINT');
      expect(await program.ended).toBe(130);
    }, 60_000);
  });

  /** Beside the pool: liveness and notifications; heavy reads; opens, clicks and reports; audiences of campaigns. */
  it.each([
    ['api', 2 + 4 + 3],
    ['worker', 2 + 4 + 3],
    ['sender', 2],
    ['mail', 2],
  ] as const)(
    '%s refuses to start with more connections than PostgreSQL allows',
    async (role, besideThePool) => {
      const program = start(role, { DATABASE_POOL: '200' });
      expect(await program.ended).toBe(1);
      expect(program.output()).toMatch(
        /^carillon: this process may open \d+ connections [^\n]*lower DATABASE_POOL[^\n]*\n$/,
      );
      expect(program.output()).toContain(`may open ${200 + besideThePool} connections`);
    },
  );

  it.each(roles)('%s lists its missing settings in one line', async (role) => {
    const program = start(role, { DATABASE_URL: '', APP_SECRET: '', EMAIL_PROVIDER_URL: '' });
    expect(await program.ended).toBe(1);
    expect(program.output()).toBe(
      'carillon: missing settings: DATABASE_URL, APP_SECRET, EMAIL_PROVIDER_URL\n',
    );
  });
});
