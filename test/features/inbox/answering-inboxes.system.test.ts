// Two inboxes whose flows answer each other come to rest, even if nothing marks their answers as automatic.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Config, loadConfig } from '../../../src/config.ts';
import { MAX_ANSWERS } from '../../../src/features/flows/run/answers.ts';
import { claimPort } from '../../../src/local/machine/ports.ts';
import { run as runMail } from '../../../src/roles/mail.ts';
import { run as runSender } from '../../../src/roles/sender.ts';
import { run as runWorker } from '../../../src/roles/worker.ts';
import {
  createTestTenant,
  startTestApi,
  type TestApi,
  type TestTenant,
  TEST_SECRET,
} from '../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';
import { useEngine } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { createFlow, FLOWS } from '../../support/flow-requests.ts';
import { writeContact } from '../../support/flow-sends.ts';
import { deliver } from '../../support/inbound.ts';
import { createFastFolder } from '../../support/open-folder.ts';
import { type ReceivedMail, startSmtpServer, type TestSmtpServer } from '../../support/sending.ts';

const PUBLIC_URL = 'https://app.test';
const LIMIT_MS = 180_000;

let api: TestApi;
let dns: TestDnsServer;
let relay: Relay;
let roles: { stop(): Promise<void> }[] = [];

/** The server that sends for the installation. It delivers what it takes to the installation's own mail role. */
interface Relay {
  server: TestSmtpServer;
  /** Changes a mail on its way. */
  edit: (raw: string) => string;
  /** Number of mails that it has taken but not delivered yet. */
  pending: number;
  failures: string[];
}

async function startRelay(mailPort: number): Promise<Relay> {
  const made: Relay = { server: await startSmtpServer(), edit: (raw) => raw, pending: 0, failures: [] };
  const forward = async ({ from, to, raw }: ReceivedMail) => {
    try {
      const reply = await deliver(mailPort, { from, to, data: made.edit(raw) });
      if (!reply.startsWith('250')) made.failures.push(`${to}: ${reply}`);
    } catch (error) {
      made.failures.push(String(error));
    } finally {
      made.pending -= 1;
    }
  };
  made.server.answers.body = (mail) => {
    made.pending += 1;
    void forward(mail);
    return null;
  };
  return made;
}

async function configOf(
  databaseUrl: string,
  relayPort: number,
  mailPort: number,
  home: string,
): Promise<Config> {
  const engine = await useEngine();
  return loadConfig({
    APP_SECRET: TEST_SECRET,
    CARILLON_HOME: home,
    DATABASE_URL: databaseUrl,
    DNS_SERVERS: dns.address,
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${relayPort}`,
    LOG_LEVEL: 'silent',
    MAIL_DOMAIN: 'mail.test',
    MAIL_PORT: String(mailPort),
    OPS_PORT: '0',
    PUBLIC_URL,
    SHUTDOWN_GRACE_SECONDS: '5',
    TEMPORAL_ADDRESS: engine.address,
    TEMPORAL_NAMESPACE: engine.namespace,
  });
}

beforeAll(async () => {
  const home = createFastFolder('carillon-inboxes-');
  // The relay and the mail role share the address, so SPF passes for mail of the installation.
  dns = await startDnsServer({ 'mail.test': { TXT: ['v=spf1 ip4:127.0.0.0/8 -all'] } });
  api = await startTestApi({ env: { PUBLIC_URL, CARILLON_HOME: home, DNS_SERVERS: dns.address } });
  const mailPort = await claimPort(0, 'MAIL_PORT');
  relay = await startRelay(mailPort);
  const { DATABASE_URL = '' } = api.config;
  const config = await configOf(DATABASE_URL, relay.server.port, mailPort, home);
  for (const run of [runMail, runWorker, runSender]) roles.push(await run(config));
}, LIMIT_MS);
afterAll(async () => {
  for (const role of roles.toReversed()) await role.stop();
  roles = [];
  await relay.server.stop();
  await api.close();
  dns.close();
}, LIMIT_MS);

const query = async <Row extends object>(sql: string, values: unknown[] = []) =>
  (await api.database.pool.query<Row>(sql, values)).rows;

interface AnsweringBrand extends TestTenant {
  address: string;
  inboxId: number;
  flowId: number;
}

const requestBy = (tenant: TestTenant, method: string, path: string, body?: object) =>
  api.request(method, path, { token: tenant.apiKey, ...(body && { body }) });

/** Creates a brand with a built-in inbox, and a flow that answers each mail from it. */
async function answeringBrand(name: string): Promise<AnsweringBrand> {
  const tenant = await createTestTenant(api.database, name);
  await query(
    `update accounts set tier = 'trusted', sandbox_monthly_cap = 1000,
       capabilities = capabilities || '{"inboxes": true, "flows": true}' where id = $1`,
    [tenant.accountId],
  );
  await query(`update brands set physical_address = '1 Main St' where id = $1`, [tenant.brandId]);
  const inbox = await requestBy(tenant, 'POST', '/v1/my/inboxes', {});
  expect([inbox.status, inbox.text]).toEqual([201, expect.anything()]);
  const address = String(inbox.body.address);
  const flow = await createFlow(
    api,
    {
      name: 'Answers everything',
      trigger: { event: 'email_received', data: { reentry: 'every_time' } },
      steps: [
        {
          type: 'email',
          subject: 'Re: {{ event.data.subject }}',
          body: '<p>Thanks!</p>',
          from_email: address,
        },
      ],
      status: 'active',
    },
    tenant.apiKey,
  );
  expect([flow.status, flow.text]).toEqual([201, expect.anything()]);
  return { ...tenant, address, inboxId: Number(inbox.body.id), flowId: Number(flow.body.id) };
}

/** Two brands that are subscribed contacts of each other. */
async function pair(name: string): Promise<[AnsweringBrand, AnsweringBrand]> {
  const one = await answeringBrand(`${name} one`);
  const two = await answeringBrand(`${name} two`);
  await writeContact(api.database, one, { email: two.address });
  await writeContact(api.database, two, { email: one.address });
  return [one, two];
}

/** Waits until nothing is under way. */
async function atRest(): Promise<void> {
  await eventually(async () => {
    const rows = await query<{ work: number }>(
      `select (select count(*) from inbound_mails) + (select count(*) from send_queue) + (select count(*) from flow_entries)
         + (select count(*) from flow_runs where state = 'active') + (select count(*) from outbox) as work`,
    );
    expect({ pending: relay.pending, work: rows[0]?.work }).toEqual({ pending: 0, work: 0 });
  }, LIMIT_MS);
  expect(relay.failures).toEqual([]);
}

/** The first mail goes from the first brand to the second. @returns how many mails were sent until all was quiet */
async function converse([one, two]: [AnsweringBrand, AnsweringBrand]): Promise<number> {
  const before = relay.server.received.length;
  const message = {
    channel: 'email',
    to: two.address,
    from: one.address,
    subject: 'Hello',
    body: 'Anybody there?',
  };
  const { status, text } = await requestBy(one, 'POST', '/v1/my/messages', message);
  expect(`${status} ${text}`).toMatch(/^20[12] /);
  await eventually(() => expect(relay.server.received.length).toBeGreaterThan(before + 1), LIMIT_MS);
  await atRest();
  return relay.server.received.length - before;
}

/** Mails that arrived in an inbox, and how many of them are automatic. */
async function arrivedIn({ inboxId }: AnsweringBrand): Promise<{ mails: number; automatic: number }> {
  const rows = await query<{ mails: number; automatic: number }>(
    `select count(*) as mails, count(*) filter (where auto_submitted) as automatic from conversation_messages
     where inbox_id = $1 and direction = 'inbound' and arrived_at is not null`,
    [inboxId],
  );
  return rows[0] ?? { mails: 0, automatic: 0 };
}

/** What the runs of a brand's flow did at their step. */
async function stepsOf(brand: AnsweringBrand): Promise<string[]> {
  const { list: runs } = await requestBy(brand, 'GET', `${FLOWS}/${brand.flowId}/runs?limit=100`);
  const rows = await query<{ what: string }>(
    `select coalesce(s.detail ->> 'reason', s.outcome) as what from flow_run_steps s where s.run_id = any($1)
     order by s.run_id`,
    [runs.map(({ id }) => Number(id))],
  );
  return rows.map(({ what }) => what);
}

const repeat = (outcome: string, count: number) => Array.from({ length: count }, () => outcome);

/** Removes what marks a mail as automatic, as a careless server might. */
const withoutMarks = (raw: string): string =>
  raw.replaceAll(/^(?:Auto-Submitted|Precedence|List-[\w-]+): .*\r\n(?:[ \t].*\r\n)*/gim, '');

describe('two inboxes that answer each other', () => {
  it(
    'exchange one answer, which is automatic and starts no flow',
    async () => {
      const [one, two] = await pair('Marked');
      expect(await converse([one, two])).toBe(2);
      expect([await arrivedIn(one), await arrivedIn(two)]).toEqual([
        { mails: 1, automatic: 1 },
        { mails: 1, automatic: 0 },
      ]);
      expect([await stepsOf(one), await stepsOf(two)]).toEqual([[], ['sent']]);
    },
    LIMIT_MS,
  );

  it(
    'stop after five answers each if the marks are lost on the way',
    async () => {
      relay.edit = withoutMarks;
      const [one, two] = await pair('Unmarked');
      expect(await converse([one, two])).toBe(1 + 2 * MAX_ANSWERS);
      expect([await arrivedIn(one), await arrivedIn(two)]).toEqual([
        { mails: MAX_ANSWERS, automatic: 0 },
        { mails: MAX_ANSWERS + 1, automatic: 0 },
      ]);
      expect([await stepsOf(one), await stepsOf(two)]).toEqual([
        repeat('sent', MAX_ANSWERS),
        [...repeat('sent', MAX_ANSWERS), 'answer_limit'],
      ]);
    },
    LIMIT_MS,
  );
});
