import { randomBytes } from 'node:crypto';
import { connect } from 'node:tls';
import { claimPort } from '../../src/local/machine/ports.ts';
import { claimFolder } from '../../src/platform/housekeeping/orphaned-files.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { eventually } from '../support/eventually.ts';
import { certificates, plainLogin } from '../support/submission.ts';
import { deliver, type DeliveredMail, type MailConnection, speakOver } from './inbound-client.ts';
import { percentile, rounded } from './machine.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface SubmissionBenchOptions {
  runs: number;
  /** Seconds of load with mails of each kind. */
  seconds: number;
  connections: number;
  /** Size of the PDF of the second kind, in KB. */
  pdfKb: number;
}

interface Bench {
  stage: Stage;
  role: Measured;
  port: number;
}

const WARM_UP_SECONDS = 4;
const START_LIMIT_MS = 60_000;
const BODY_LINES = 14;
const BASE64_LINE = 76;
/** Digits are base64 as well, so files differ by the number at their beginning. */
const NUMBER_DIGITS = 12;

const part = (type: string, ...lines: string[]) => ['--b', `Content-Type: ${type}`, '', ...lines];

/** A text and an HTML, about 2 KB together with the header. */
function textsOf(n: number): string[] {
  const words = Array.from({ length: BODY_LINES }, (_, line) => `Line ${line} of your receipt number ${n}.`);
  return [
    ...part('text/plain; charset=utf-8', ...words),
    ...part('text/html; charset=utf-8', ...words.map((line) => `<p>${line}</p>`)),
    '--b--',
  ];
}

/** @returns writes mail `n`, which no other mail equals */
function createMails({ accountId }: Stage, run: string, pdfBytes: number): (n: number) => DeliveredMail {
  const from = `sandbox-${accountId}@mail.bench.test`;
  const base64 = randomBytes(pdfBytes).toString('base64').slice(NUMBER_DIGITS);
  return (n) => {
    const to = `${run}-${n}@example.com`;
    const header = [
      ...[`From: Shop <${from}>`, `To: <${to}>`, `Subject: Your receipt ${n}`, `Message-ID: <${to}>`],
      ...[`Date: ${new Date().toUTCString()}`, 'MIME-Version: 1.0'],
    ];
    const texts = ['Content-Type: multipart/alternative; boundary="b"', '', ...textsOf(n)];
    if (pdfBytes === 0) return { from, to, data: Buffer.from([...header, ...texts, ''].join('\r\n')) };
    const file = `${String(n).padStart(NUMBER_DIGITS, '0')}${base64}`;
    const mixed = [
      ...['Content-Type: multipart/mixed; boundary="m"', '', '--m', ...texts],
      ...['--m', 'Content-Type: application/pdf; name="receipt.pdf"', 'Content-Transfer-Encoding: base64'],
      ...['Content-Disposition: attachment; filename="receipt.pdf"', ''],
      ...(file.match(new RegExp(`.{1,${BASE64_LINE}}`, 'g')) ?? []),
      '--m--',
    ];
    return { from, to, data: Buffer.from([...header, ...mixed, ''].join('\r\n')) };
  };
}

async function openConnection({ stage, port }: Bench): Promise<MailConnection> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  const connection = await speakOver(socket, 'secureConnect');
  await connection.ask('EHLO app.example.com\r\n', '250');
  await connection.ask(`AUTH PLAIN ${plainLogin(stage.apiKey)}\r\n`, '235');
  return connection;
}

/** Submits mails over all connections for some seconds, one at a time on each. */
async function load(
  bench: Bench,
  mailOf: (n: number) => DeliveredMail,
  connections: number,
  seconds: number,
) {
  const open = await Promise.all(Array.from({ length: connections }, () => openConnection(bench)));
  const latencies: number[] = [];
  const startedAt = performance.now();
  const end = startedAt + seconds * 1_000;
  let next = 0;
  const before = { role: bench.role.usage(), postgres: bench.stage.postgresUsage() };
  const run = async ({ ask, end: close }: MailConnection) => {
    while (performance.now() < end) {
      const at = performance.now();
      await deliver(mailOf(next++), ask);
      latencies.push(performance.now() - at);
    }
    close();
  };
  await Promise.all(open.map(run));
  const mails = latencies.length;
  const elapsed = (performance.now() - startedAt) / 1_000;
  return {
    mails_per_second: rounded(mails / elapsed),
    p50_ms: rounded(percentile(latencies, 0.5), 2),
    p99_ms: rounded(percentile(latencies, 0.99), 2),
    submission_cpu_us_per_mail: cpuPer(before.role, bench.role.usage(), mails),
    postgres_cpu_us_per_mail: cpuPer(before.postgres, bench.stage.postgresUsage(), mails),
    submission_peak_memory_mb: rounded(bench.role.usage().peakMemoryMb),
  };
}

async function oneRun(bench: Bench, { connections, seconds, pdfKb }: SubmissionBenchOptions) {
  const name = Date.now().toString(36);
  const plain = createMails(bench.stage, name, 0);
  await load(bench, createMails(bench.stage, `warm-${name}`, 0), connections, WARM_UP_SECONDS);
  const withTexts = await load(bench, plain, connections, seconds);
  const withPdf = await load(
    bench,
    createMails(bench.stage, `pdf-${name}`, pdfKb * 1_000),
    connections,
    seconds,
  );
  return { texts: withTexts, pdf: withPdf };
}

/** Programs submit mails over TLS: each is read, written and accepted, and no sender runs. */
export async function benchSubmission(options: SubmissionBenchOptions) {
  const stage = await openStage();
  const port = await claimPort(0, 'SUBMISSION_TLS_PORTS');
  await claimFolder(stage.database.pool, createHomeStore(stage.settings.CARILLON_HOME ?? ''));
  const role = startRole('submission', {
    ...stage.settings,
    SUBMISSION_PORTS: 'none',
    SUBMISSION_TLS_PORTS: String(port),
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
    EMAIL_PROVIDER_URL: 'capture:',
  });
  const bench = { stage, role, port };
  try {
    await eventually(async () => (await openConnection(bench)).end(), START_LIMIT_MS);
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(bench, options));
    return {
      medians: {
        texts_per_second: of((run) => run.texts.mails_per_second),
        texts_p99_ms: of((run) => run.texts.p99_ms),
        pdf_per_second: of((run) => run.pdf.mails_per_second),
        pdf_p99_ms: of((run) => run.pdf.p99_ms),
        peak_memory_mb: of((run) => run.pdf.submission_peak_memory_mb),
      },
      runs,
    };
  } finally {
    await role.stop();
    await stage.close();
  }
}
