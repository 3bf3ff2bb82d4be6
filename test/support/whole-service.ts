import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DevFile } from '../../src/local/home/dev-file.ts';
import { TEST_SECRET } from './api.ts';
import { builtConsole } from './console-project.ts';
import { createOpenFolder } from './open-folder.ts';
import { runProgram } from './programs.ts';
import type { Service } from './test-services.ts';

/** A whole Carillon, as `carillon start --dev` starts it, that all test files of a run share. */
export interface WholeService {
  baseUrl: string;
  databaseUrl: string;
  /** The page of captured mail, with its token. */
  mailboxUrl: string;
  /** Of the SMTP server for inboxes. */
  mailPort: number;
}

const testCaFile = fileURLToPath(new URL('./tls/ca.pem', import.meta.url));
const ANY_PORT = {
  PORT: '0',
  OPS_PORT: '0',
  MAIL_PORT: '0',
  SUBMISSION_PORTS: '0',
  POSTGRES_PORT: '0',
  TEMPORAL_PORT: '0',
  TEMPORAL_UI_PORT: '0',
  MAILBOX_PORT: '0',
};
/** In seconds. The first retries follow soon, and the schedule outlasts every test. */
const WEBHOOK_RETRY_SCHEDULE = [1, 2, ...Array.from({ length: 20 }, () => 60)].join(',');

/** @throws Error if the console cannot be built or Carillon does not start */
export const wholeService: Service = async (_guard, parent) => {
  await builtConsole();
  const folder = createOpenFolder('whole-', parent);
  const program = runProgram('src/main.ts', ['start', '--dev', '--json'], {
    ...ANY_PORT,
    CARILLON_HOME: folder,
    APP_SECRET: TEST_SECRET,
    LOG_LEVEL: 'info',
    RATE_LIMIT_PER_KEY: '0',
    NODE_EXTRA_CA_CERTS: testCaFile,
    // Websites of the tests.
    SCRAPE_ALLOW: '127.0.0.1',
    WEBHOOK_RETRY_SCHEDULE,
  });
  const { child } = program;
  const mailPort = () => /"port":(\d+),"starttls"/.exec(program.output())?.[1];
  while (!(program.output().includes('"base_url"') && mailPort() !== undefined)) {
    if (child.exitCode !== null) throw new Error(`Carillon has not started: ${program.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const dev = JSON.parse(await readFile(join(folder, 'dev.json'), 'utf8')) as DevFile;
  const answer: WholeService = {
    baseUrl: dev.base_url,
    databaseUrl: dev.database_url,
    mailboxUrl: dev.mailbox_url ?? '',
    mailPort: Number(mailPort()),
  };
  return {
    answer,
    async stop() {
      child.kill('SIGTERM');
      await program.ended;
    },
  };
};
