/** Records what the programs say to the port for submitted mail. See record.md. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { startTestSubmission } from '../submission.ts';
import {
  argumentsOf,
  certificateAuthority,
  MAILER_KEY,
  mailKinds,
  type RecordedProgram,
  recordedPrograms,
  type Recording,
  recordingPath,
} from './mailers.ts';
import { startRecorder } from './recorder.ts';

const run = promisify(execFile);

/** No row is read: the listener finds the key without them. */
const tenant: Tenant = {
  ...{ accountId: 1, brandId: 1, role: 'admin' },
  actor: { kind: 'api_key', id: 1, test: false, scope: 'send' },
};

async function record(program: RecordedProgram): Promise<void> {
  const pool = new pg.Pool();
  const caller = { tenant, rateLimitPerSecond: null, rateLimitName: 'key 1' };
  const listener = await startTestSubmission(pool, {
    findKey: (text) => Promise.resolve(text === MAILER_KEY ? caller : null),
  });
  const recorder = await startRecorder(listener.port);
  const recording: Partial<Recording> = {};
  for (const kind of mailKinds) {
    const [command = '', ...args] = argumentsOf(recordedPrograms[program], recorder.port, kind);
    await run(command, args, { env: { ...process.env, SSL_CERT_FILE: certificateAuthority } });
    recording[kind] = recorder.take().flat();
  }
  await writeFile(recordingPath(program), `${JSON.stringify(recording, null, 2)}\n`);
  process.stdout.write(`${program}: ${listener.taken.length} mails\n`);
  recorder.close();
  await listener.stop();
  await pool.end();
}

const wanted = process.argv.slice(2) as RecordedProgram[];
for (const program of wanted.length > 0 ? wanted : (Object.keys(recordedPrograms) as RecordedProgram[]))
  await record(program);
