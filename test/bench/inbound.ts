import { generateKeyPairSync } from 'node:crypto';
import { dkimSign } from 'mailauth/lib/dkim/sign.js';
import { claimPort } from '../../src/local/machine/ports.ts';
import { secretPlace } from '../../src/features/webhooks/attempts/endpoint.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { insertVerifiedDomain } from '../support/domains.ts';
import { eventually } from '../support/eventually.ts';
import { deliverAll, type DeliveredMail } from './inbound-client.ts';
import { rounded } from './machine.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface InboundBenchOptions {
  runs: number;
  /** Number of mails per run. */
  mails: number;
  connections: number;
}

const INBOX = 'support@in.bench.test';
const SENDER_DOMAIN = 'sender.test';
const SELECTOR = 's1';
/** Number of people who write; each may write only so often in a minute. */
const SENDERS = 5_000;
const BODY_LINES = 60;
/** Number of mails after which V8 has compiled the hot code, and the resolver knows the sender's records. */
const WARM_UP = 500;
const START_LIMIT_MS = 60_000;
const REPORT_LIMIT_MS = 300_000;

interface Signer {
  privateKey: string;
  publicKey: string;
}

function createSigner(): Signer {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  };
}

/** The records of the sending domain, whose mail servers are all of the loopback network. */
function publish(dns: TestDnsServer, { publicKey }: Signer): void {
  dns.zone[SENDER_DOMAIN] = { TXT: ['v=spf1 ip4:127.0.0.0/8 -all'] };
  dns.zone[`_dmarc.${SENDER_DOMAIN}`] = { TXT: ['v=DMARC1; p=reject'] };
  dns.zone[`${SELECTOR}._domainkey.${SENDER_DOMAIN}`] = { TXT: [`v=DKIM1; k=rsa; p=${publicKey}`] };
}

/** A mail of 5 KB with a signature, in text and HTML. */
async function signedMail(n: number, run: string, { privateKey }: Signer): Promise<DeliveredMail> {
  const from = `person${n % SENDERS}@${SENDER_DOMAIN}`;
  const words = Array.from({ length: BODY_LINES }, (_, line) => `Line ${line} of mail ${n} in run ${run}.`);
  const raw = [
    `From: Person ${n} <${from}>`,
    `To: <${INBOX}>`,
    `Subject: A question about order ${n}`,
    `Date: ${new Date().toUTCString()}`,
    `Message-ID: <${run}-${n}@${SENDER_DOMAIN}>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/alternative; boundary="part"',
    '',
    '--part',
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...words,
    '--part',
    'Content-Type: text/html; charset=utf-8',
    '',
    ...words.map((line) => `<p>${line}</p>`),
    '--part--',
    '',
  ].join('\r\n');
  const signed = await dkimSign(raw, { signingDomain: SENDER_DOMAIN, selector: SELECTOR, privateKey });
  return { from, to: INBOX, data: Buffer.from(signed.signatures + raw) };
}

async function signAll(count: number, signer: Signer): Promise<DeliveredMail[]> {
  const run = Date.now().toString(36);
  const mails: DeliveredMail[] = [];
  while (mails.length < count) mails.push(await signedMail(mails.length, run, signer));
  return mails;
}

/** Gives the account an inbox, and a webhook that hears of its mail. No process makes the requests. */
async function openInbox({ database, accountId, brandId, settings }: Stage): Promise<void> {
  const keyring = createKeyring(settings.APP_SECRET ?? '');
  await insertVerifiedDomain(database, { accountId, brandId }, 'in.bench.test', { keyring: null });
  await database.pool.query(
    `update accounts set capabilities = capabilities || '{"inboxes": true}' where id = $1`,
    [accountId],
  );
  await database.pool.query(
    `insert into inboxes (account_id, brand_id, domain_name, address, address_key)
     values ($1, $2, 'in.bench.test', $3, $3)`,
    [accountId, brandId, INBOX],
  );
  await database.pool.query(
    `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
     values ($1, $2, 'https://receiver.test/', '{email.received}', $3, 'none')`,
    [accountId, brandId, keyring.seal('unused', secretPlace(1, accountId))],
  );
}

async function countReported({ database }: Stage): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from webhook_deliveries where type = 'email.received'`,
  );
  return rows[0]?.count ?? 0;
}

interface Bench {
  stage: Stage;
  mail: Measured;
  port: number;
  signer: Signer;
}

async function oneRun({ stage, mail, port, signer }: Bench, { mails, connections }: InboundBenchOptions) {
  const signed = await signAll(mails, signer);
  const reportedBefore = await countReported(stage);
  const before = { mail: mail.usage(), postgres: stage.postgresUsage() };
  const startedAt = performance.now();
  await deliverAll(port, signed, connections);
  const acceptedAt = performance.now();
  await eventually(async () => {
    const reported = (await countReported(stage)) - reportedBefore;
    if (reported !== mails) throw new Error(`${reported} of ${mails} mails are reported`);
  }, REPORT_LIMIT_MS);
  const reportedAt = performance.now();
  const { rows } = await stage.database.pool.query<{ trusted: number; conversations: number }>(
    `select count(*) filter (where sender_trusted)::int as trusted,
       count(distinct conversation_id)::int as conversations from conversation_messages`,
  );
  return {
    accepted_per_second: rounded(mails / ((acceptedAt - startedAt) / 1_000)),
    reported_per_second: rounded(mails / ((reportedAt - startedAt) / 1_000)),
    mail_cpu_us_per_mail: cpuPer(before.mail, mail.usage(), mails),
    postgres_cpu_us_per_mail: cpuPer(before.postgres, stage.postgresUsage(), mails),
    trusted_in_total: rows[0]?.trusted ?? 0,
    conversations_in_total: rows[0]?.conversations ?? 0,
  };
}

/** Mails signed letters to an inbox: each is accepted, read, authenticated, threaded and reported to a webhook. */
export async function benchInbound(options: InboundBenchOptions) {
  const stage = await openStage();
  const dns = await startDnsServer();
  const signer = createSigner();
  publish(dns, signer);
  const port = await claimPort(0, 'MAIL_PORT');
  const settings = { MAIL_PORT: String(port), DNS_SERVERS: dns.address, EMAIL_PROVIDER_URL: 'capture:' };
  const mail = startRole('mail', { ...stage.settings, ...settings });
  const bench = { stage, mail, port, signer };
  try {
    await openInbox(stage);
    const warmUp = await signAll(WARM_UP, signer);
    await eventually(() => deliverAll(port, warmUp.slice(0, 1), 1), START_LIMIT_MS);
    await deliverAll(port, warmUp.slice(1), options.connections);
    await eventually(async () => {
      if ((await countReported(stage)) < WARM_UP) throw new Error('the mails to warm up are not reported');
    }, REPORT_LIMIT_MS);
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(bench, options));
    return {
      runs,
      medians: {
        accepted_per_second: of((run) => run.accepted_per_second),
        reported_per_second: of((run) => run.reported_per_second),
        mail_cpu_us_per_mail: of((run) => run.mail_cpu_us_per_mail),
        postgres_cpu_us_per_mail: of((run) => run.postgres_cpu_us_per_mail),
      },
    };
  } finally {
    await mail.stop();
    dns.close();
    await stage.close();
  }
}
