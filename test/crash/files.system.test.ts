// Each copy of an accepted letter arrives with the files it was given, whichever process is killed, and no file is lost.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { attachmentsUpkeep } from '../../src/features/attachments/upkeep.ts';
import { faultsOfFiles } from '../support/attachments.ts';
import { type Accepted, startSending } from '../support/crash/client.ts';
import { untilQuiet } from '../support/crash/findings.ts';
import { killPart } from '../support/crash/kill-part.ts';
import { scale } from '../support/crash/scale.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { runTask } from '../support/housekeeping.ts';

const { letters: count, kills } = scale.files;
const LIMIT_MS = 900_000;
const PARALLEL = 16;
/** Share of the letters after which nothing is killed any more. */
const LAST_KILL_AT = 0.9;
const SHARED_FILES = 5;
const noFaults = { rowsWithoutBlob: [], lettersWithoutRow: [], blobsWithoutRow: [] };

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage();
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

interface GivenFile {
  filename: string;
  bytes: Buffer;
  isUpload: boolean;
}

/** Every second letter has files: some are the same as those of others, and one in ten is large. */
function filesOf(prefix: string, n: number): GivenFile[] {
  if (n % 2 === 1) return [];
  const own = Buffer.alloc(n % 20 === 0 ? 400_000 : 2_000, `File of ${prefix} ${n}. `);
  const shared = Buffer.alloc(5_000, `Terms ${n % SHARED_FILES}. `);
  const isUpload = n % 4 === 0;
  return [
    { filename: `own-${n}.txt`, bytes: own, isUpload },
    { filename: 'terms.txt', bytes: shared, isUpload: n % 8 < 4 },
  ];
}

const leadOf = (prefix: string, n: number) => `${prefix}-${n}@example.com`;
const numberOf = (to: string) => Number(/-(\d+)@/.exec(to)?.[1]);

/** Every third letter has three recipients. */
function recipientsOf(prefix: string, n: number): { to: string[]; cc?: string[]; bcc?: string[] } {
  const to = [leadOf(prefix, n)];
  if (n % 3 !== 0) return { to };
  return { to, cc: [`cc-${prefix}-${n}@example.com`], bcc: [`bcc-${prefix}-${n}@example.com`] };
}

const hashed = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const listed = (files: readonly { filename: string | null; bytes: Uint8Array }[]) =>
  files.map(({ filename, bytes }) => `${filename} ${hashed(bytes)}`).toSorted();

/** @throws Error if there is no 201; the same request may then be repeated */
async function upload({ filename, bytes }: GivenFile, key: string, outage: AbortSignal): Promise<number> {
  const body = new FormData();
  body.append('file', new Blob([new Uint8Array(bytes)], { type: 'text/plain' }), filename);
  const headers = { authorization: `Bearer ${stage.apiKey}`, 'idempotency-key': key };
  const url = `http://127.0.0.1:${stage.apiPort}/v1/my/attachments`;
  const signal = AbortSignal.any([AbortSignal.timeout(30_000), outage]);
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  if (response.status !== 201) throw new Error(`no upload: ${await response.text()}`);
  return ((await response.json()) as { id: number }).id;
}

/** A client whose connections can be broken at any time. */
interface Client {
  accepted: readonly Accepted[];
  done: Promise<unknown>;
  breakConnections(): void;
}

function startClient(prefix: string, arrived: () => number): Client {
  let outage = new AbortController();
  const fieldsOf = async (lead: string) => {
    const n = numberOf(lead);
    const attachments: object[] = [];
    for (const file of filesOf(prefix, n)) {
      const { filename, bytes, isUpload } = file;
      if (isUpload)
        attachments.push({ attachment_id: await upload(file, `${lead} ${filename}`, outage.signal) });
      else attachments.push({ filename, content: bytes.toString('base64') });
    }
    const recipients = recipientsOf(prefix, n);
    // A single `to` without files makes an email as it always was.
    const given = recipients.cc || attachments.length > 0 ? recipients : { to: lead };
    return {
      ...given,
      ...{ subject: `Letter ${n}`, html: '<p>See the files.</p>' },
      ...(attachments.length > 0 && { attachments }),
    };
  };
  const { apiPort, apiKey } = stage;
  const sending = {
    ...{ apiPort, apiKey, prefix, count, parallel: PARALLEL, ahead: count / 4, arrived, fieldsOf },
    get outage() {
      return outage.signal;
    },
  };
  return {
    ...startSending(sending),
    breakConnections() {
      outage.abort();
      outage = new AbortController();
    },
  };
}

/** Kills one process after another at moments that the seed decides, and looks for lost files after each. */
async function disturb(seed: number, client: Client, arrived: () => number): Promise<Set<number>> {
  const victims = ['first', 'api', 'postgres', 'second'] as const;
  const intended: number[] = [];
  for (let n = 0; n < kills; n += 1) {
    const at = (count * LAST_KILL_AT * (n + fractionOf(seed, `moment ${n}`))) / kills;
    const end = Date.now() + LIMIT_MS / 4;
    while (arrived() < at) {
      if (Date.now() > end) throw new Error(`only ${arrived()} letters have arrived:\n${stage.lastLines()}`);
      await delay(5);
    }
    const victim = victims[(n + seed) % victims.length] as (typeof victims)[number];
    intended.push(...(await killPart(stage, victim, client.breakConnections)));
    const faults = await faultsOfFiles(stage.database, stage.home);
    expect(faults).toMatchObject({ rowsWithoutBlob: [], lettersWithoutRow: [] });
  }
  return new Set(intended);
}

interface ReadMail {
  to: string;
  subject: string | undefined;
  files: string[];
  header: string[];
}

async function readMail(to: string, bytes: Buffer): Promise<ReadMail> {
  const mail = await PostalMime.parse(bytes);
  const files = mail.attachments.map(({ filename, content }) => {
    if (typeof content === 'string') throw new Error('text instead of bytes');
    return { filename, bytes: new Uint8Array(content) };
  });
  const header = [...(mail.to ?? []), ...(mail.cc ?? [])].map(({ address }) => address ?? '');
  return { to, subject: mail.subject, files: listed(files), header };
}

function expectedMails(prefix: string): Map<string, ReadMail> {
  const mails = new Map<string, ReadMail>();
  for (let n = 0; n < count; n += 1) {
    const { to, cc = [], bcc = [] } = recipientsOf(prefix, n);
    const shared = { subject: `Letter ${n}`, files: listed(filesOf(prefix, n)), header: [...to, ...cc] };
    for (const recipient of [...to, ...cc, ...bcc]) mails.set(recipient, { to: recipient, ...shared });
  }
  return mails;
}

interface Row {
  id: number;
  to: string;
  status: string;
}

async function writtenRows(prefix: string): Promise<Row[]> {
  const { rows } = await stage.database.pool.query<Row>(
    `select id, to_key as "to", status from messages where strpos(to_key, $1) > 0`,
    [`${prefix}-`],
  );
  return rows;
}

async function sweep(days: number): Promise<void> {
  const asOf = new Date(Date.now() + days * 86_400_000);
  for (const task of attachmentsUpkeep.tasks ?? [])
    await runTask(stage.database, task, asOf, { CARILLON_HOME: stage.home });
}

describe.each(scale.seeds)('letters whose processes are killed at random moments (seed %i)', (seed) => {
  it(
    'arrive with all their files, twice only with an open intent, and leave no file without a row',
    async () => {
      const { sink, database, home } = stage;
      const prefix = `files${seed}`;
      const reading: Promise<ReadMail>[] = [];
      const leads = new Set<string>();
      sink.onArrival = ({ to }, bytes) => {
        if (to.startsWith(`${prefix}-`)) leads.add(to);
        reading.push(readMail(to, bytes));
      };
      const arrived = () => leads.size;
      const client = startClient(prefix, arrived);
      const [intended] = await Promise.all([disturb(seed, client, arrived), client.done]);
      await untilQuiet(database);
      const mails = await Promise.all(reading);

      const rows = await writtenRows(prefix);
      const expected = expectedMails(prefix);
      expect(client.accepted).toHaveLength(count);
      expect(client.accepted.some(({ replayed }) => replayed)).toBe(true);
      expect(rows.filter(({ status }) => status !== 'sent')).toEqual([]);
      expect(rows.map(({ to }) => to).toSorted()).toEqual([...expected.keys()].toSorted());
      expect(new Map(mails.map((mail) => [mail.to, mail]))).toEqual(expected);
      expect(mails.filter((mail) => JSON.stringify(mail) !== JSON.stringify(expected.get(mail.to)))).toEqual(
        [],
      );
      const times = Map.groupBy(mails, ({ to }) => to);
      const repeated = rows.filter(({ to }) => (times.get(to)?.length ?? 0) > 1);
      expect(repeated.filter(({ id }) => !intended.has(id))).toEqual([]);

      // First what dead processes left, then the expired uploads, then files whose letters are no longer kept.
      await sweep(2);
      expect(await faultsOfFiles(database, home)).toEqual(noFaults);
      await sweep(6);
      expect(await faultsOfFiles(database, home)).toEqual(noFaults);
      await database.pool.query('truncate message_attachments');
      await sweep(60);
      expect(await faultsOfFiles(database, home)).toEqual(noFaults);
      const { rows: left } = await database.pool.query('select from attachment_files');
      expect(left).toEqual([]);
    },
    LIMIT_MS,
  );
});
