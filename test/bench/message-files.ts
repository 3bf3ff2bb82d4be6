import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { foldBase64 } from '../../src/platform/storage/folded.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { loadHttp, type LoadResult } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { bareKoa, waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface MessageFilesOptions {
  runs: number;
  /** Seconds of full load, and of the steady rate. */
  seconds: number;
  /** Size of the file of each message in bytes. */
  file: number;
  /** Number of requests per second in the steady part. */
  rate: number;
}

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 10;
const LIMIT_MS = 300_000;
const CALIBRATION_FILES = 200;
const WRITERS = 4;
/** Digits are base64 as well, so files differ by the number at their beginning. */
const NUMBER_DIGITS = 12;

/** @returns the bytes of a size such as `500`, `100k` or `5M` */
export function bytesOf(size: string): number {
  const [, digits = '', unit = ''] = /^(\d+)([kM]?)$/.exec(size) ?? [];
  if (digits === '') throw new Error(`${size} is not a size such as 500, 100k or 5M`);
  return Number(digits) * { '': 1, k: 1_000, M: 1_000_000 }[unit as '' | 'k' | 'M'];
}

/** The body of a message with a file that no other message has. */
function createBodies(prefix: string, fileBytes: number): (n: number) => string {
  const rest = randomBytes(fileBytes).toString('base64').slice(NUMBER_DIGITS);
  return (n) =>
    JSON.stringify({
      channel: 'email',
      to: `${prefix}${n}@example.com`,
      subject: 'Your invoice',
      html: '<p>Thank you for your order.</p>',
      attachments: [
        {
          filename: 'invoice.pdf',
          content_type: 'application/pdf',
          content: `${String(n).padStart(NUMBER_DIGITS, '0')}${rest}`,
        },
      ],
    });
}

/** What the folder takes: files that are written one after another by each of a few writers, and survive a crash. */
async function storedPerSecond({ settings }: Stage, fileBytes: number): Promise<number> {
  const home = await mkdtemp(join(settings.CARILLON_HOME ?? '', 'calibration-'));
  const store = createHomeStore(home);
  const folded = foldBase64(randomBytes(fileBytes).toString('base64'));
  const startedAt = performance.now();
  let left = CALIBRATION_FILES;
  const write = async () => {
    while (left-- > 0) await store.put(newBlobKey('attachments', 1), folded);
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const seconds = (performance.now() - startedAt) / 1_000;
  await rm(home, { recursive: true });
  return rounded(CALIBRATION_FILES / seconds);
}

interface Running {
  stage: Stage;
  api: Measured;
  sender: Measured;
  /** When each recipient's mail arrived, as `performance.now()`. */
  arrivals: Map<string, number>;
}

interface Load {
  prefix: string;
  file: number;
  seconds: number;
  /** Requests per second; by default as many as 32 connections can make. */
  rate?: number;
}

/** Posts messages, and waits until all that were accepted have arrived. */
async function load({ stage, arrivals }: Running, { prefix, file, ...load }: Load) {
  const starts = new Map<string, number>();
  const before = arrivals.size;
  const startedAt = performance.now();
  const posted: LoadResult = await loadHttp({
    ...load,
    ...{ port: stage.apiPort, path: '/v1/my/messages', connections: CONNECTIONS },
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body: createBodies(prefix, file),
    onStart: (n, at) => void starts.set(`${prefix}${n}@example.com`, at),
  });
  const accepted = posted.requests - posted.errors;
  await untilCount(() => Promise.resolve(arrivals.size - before), accepted, LIMIT_MS);
  const seconds = (performance.now() - startedAt) / 1_000;
  const times = [...starts].flatMap(([to, at]) => {
    const arrivedAt = arrivals.get(to);
    return arrivedAt === undefined ? [] : [arrivedAt - at];
  });
  return {
    accepted_per_second: posted.requests_per_second,
    refused: posted.errors,
    accepted_p50_ms: posted.p50_ms,
    accepted_p99_ms: posted.p99_ms,
    sent_per_second: rounded(accepted / seconds),
    end_to_end_p50_ms: rounded(percentile(times, 0.5), 2),
    end_to_end_p99_ms: rounded(percentile(times, 0.99), 2),
    messages: accepted,
  };
}

/** The peaks are those since the start of the roles. */
async function measured(running: Running, options: Load) {
  const usages = () => ({
    api: running.api.usage(),
    sender: running.sender.usage(),
    postgres: running.stage.postgresUsage(),
  });
  const before = usages();
  const result = await load(running, options);
  const after = usages();
  return {
    ...result,
    api_cpu_us_per_message: cpuPer(before.api, after.api, result.messages),
    sender_cpu_us_per_message: cpuPer(before.sender, after.sender, result.messages),
    postgres_cpu_us_per_message: cpuPer(before.postgres, after.postgres, result.messages),
    api_peak_memory_mb: rounded(after.api.peakMemoryMb),
    sender_peak_memory_mb: rounded(after.sender.peakMemoryMb),
  };
}

async function oneRun(stage: Stage, { seconds, file, rate }: MessageFilesOptions) {
  const calibration = {
    bare_koa: await bareKoa(seconds),
    files_stored_per_second: await storedPerSecond(stage, file),
  };
  const arrivals = new Map<string, number>();
  const smtp = await startCountingServer({
    port: 0,
    keep: true,
    onMessage: ({ to }) => void arrivals.set(to, performance.now()),
  });
  const settings = {
    ...stage.settings,
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
  };
  const roles = [startRole('api', settings), startRole('sender', settings)] as const;
  try {
    await waitForApi(stage.apiPort);
    const running = { stage, api: roles[0], sender: roles[1], arrivals };
    await load(running, { prefix: 'warm', file, rate, seconds: WARM_UP_SECONDS });
    const steady = await measured(running, { prefix: 'steady', file, rate, seconds });
    const full = await measured(running, { prefix: 'full', file, seconds });
    return { calibration, steady, full };
  } finally {
    await Promise.all(roles.map((role) => role.stop()));
    await smtp.close();
  }
}

/** `npm run bench -- messages --file 100k`: messages with a file each, at a steady rate and at full load. */
export async function benchMessageFiles(options: MessageFilesOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        steady_accepted_p99_ms: of((run) => run.steady.accepted_p99_ms),
        steady_end_to_end_p50_ms: of((run) => run.steady.end_to_end_p50_ms),
        steady_end_to_end_p99_ms: of((run) => run.steady.end_to_end_p99_ms),
        full_accepted_per_second: of((run) => run.full.accepted_per_second),
        full_sent_per_second: of((run) => run.full.sent_per_second),
        files_stored_per_second: of((run) => run.calibration.files_stored_per_second),
        api_peak_memory_mb: of((run) => run.full.api_peak_memory_mb),
        sender_peak_memory_mb: of((run) => run.full.sender_peak_memory_mb),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
