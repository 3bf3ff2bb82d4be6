import { returnPathAddress } from '../../src/delivery/terms/addresses/return-path.ts';
import { connectSmtp } from '../../src/delivery/wire/smtp/client.ts';
import type { SmtpTarget } from '../../src/delivery/wire/smtp/contract.ts';
import { claimPort } from '../../src/local/machine/ports.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { eventually } from '../support/eventually.ts';
import { queueEmails } from '../support/queued.ts';
import { deliveryStatus } from '../support/reports.ts';
import { rounded } from './machine.ts';
import { startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface ReportsBenchOptions {
  runs: number;
  /** Number of reports per run. */
  reports: number;
  /** Number of connections of the reporting servers. */
  connections: number;
}

/** The role's limit of connections from one address. */
const MAX_CONNECTIONS = 20;
const START_LIMIT_MS = 60_000;

/** Writes new messages that a provider has accepted. */
async function sentMessages(stage: Stage, count: number): Promise<number[]> {
  const ids = await queueEmails(stage.database, stage, count, { prefix: `r${Date.now()}-` });
  await stage.database.pool.query('truncate send_queue');
  await stage.database.pool.query(
    `update messages set status = 'sent', sent_at = now(), sent_attempt = 1, provider = 'smtp' where id = any($1)`,
    [ids],
  );
  return ids;
}

const targetAt = (port: number): SmtpTarget => ({
  host: '127.0.0.1',
  port,
  security: 'none',
  clientName: 'mx.bench.test',
});

interface Mail {
  to: string;
  data: Buffer;
}

/**
 * Mails over several connections at once.
 * @returns mails accepted per second
 */
async function mailAll(port: number, mails: Mail[], connections: number): Promise<number> {
  const left = [...mails];
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await connectSmtp(targetAt(port));
      for (let mail = left.pop(); mail; mail = left.pop()) {
        const outcome = await connection.send({ from: '', smtpUtf8: false, eightBit: false, ...mail });
        if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
      }
      await connection.quit();
    }),
  );
  return mails.length / ((performance.now() - startedAt) / 1_000);
}

function reportMails(stage: Stage, ids: readonly number[]): Mail[] {
  const { key } = createKeyring(stage.settings.APP_SECRET ?? '').subkey('return-path');
  const { accountId } = stage;
  return ids.map((messageId) => {
    const to = returnPathAddress(key, { accountId, messageId }, 'mail.bench.test');
    const mail = { returnPath: to, to: `r${messageId}@example.com`, messageId: 'x@mail.bench.test' };
    return { to, data: Buffer.from(deliveryStatus(mail)) };
  });
}

async function oneRun(stage: Stage, port: number, { reports, connections }: ReportsBenchOptions) {
  const mails = reportMails(stage, await sentMessages(stage, reports));
  // The same mails to an address that records nothing: the limit that SMTP and parsing set here.
  const unrecorded = mails.map(({ data }) => ({ to: 'postmaster@mail.bench.test', data }));
  const calibration = await mailAll(port, unrecorded, connections);
  const recorded = await mailAll(port, mails, connections);
  const repeated = await mailAll(port, mails, connections);
  const { rows } = await stage.database.pool.query<{ count: number }>(
    `select count(*) from messages where status = 'bounced'`,
  );
  return {
    reports_per_second: rounded(recorded),
    repeated_reports_per_second: rounded(repeated),
    calibration_unrecorded_per_second: rounded(calibration),
    bounced: rows[0]?.count ?? 0,
  };
}

/** Mails bounces to the `mail` role, which accepts each one once it is committed. */
export async function benchReports(options: ReportsBenchOptions) {
  const stage = await openStage();
  const port = await claimPort(0, 'MAIL_PORT');
  const role = startRole('mail', {
    ...stage.settings,
    EMAIL_PROVIDER_URL: 'capture:',
    MAIL_PORT: String(port),
  });
  try {
    await eventually(async () => (await connectSmtp(targetAt(port))).quit(), START_LIMIT_MS);
    const limit = Math.min(options.connections, MAX_CONNECTIONS);
    const { runs, of } = await repeatRuns(options.runs, () =>
      oneRun(stage, port, { ...options, connections: limit }),
    );
    return {
      runs,
      medians: {
        reports_per_second: of((run) => run.reports_per_second),
        repeated_reports_per_second: of((run) => run.repeated_reports_per_second),
        calibration_unrecorded_per_second: of((run) => run.calibration_unrecorded_per_second),
      },
    };
  } finally {
    await role.stop();
    await stage.close();
  }
}
