// During an upgrade, the version before sends what is scheduled at its time, and leaves alone what it does not know.
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { RAW_QUEUE } from '../../src/delivery/terms/channels/queue-channel.ts';
import { untilQuiet } from '../support/crash/findings.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { eventually } from '../support/eventually.ts';
import { insertSendKey } from '../support/send-keys.ts';
import { startDialogue } from '../support/smtp-dialogue.ts';
import { logIn, mailOver } from '../support/submission.ts';

/** As in versions.system.test.ts. */
const before = process.env.CRASH_BEFORE;
/** This version stands for the one before by a queue that it does not know. */
const queue = before === undefined ? 'email_later' : RAW_QUEUE;
const MESSAGES = before === undefined ? 30 : 500;
const SIGNED = 5;
const CANCELED = 60;
/** Enough for the requests on a busy machine. */
const SCHEDULED_MS = before === undefined ? 5_000 : 25_000;
/** Slow enough that claims wait for their intents. */
const SLOW_MS = 250;
const SENT_AS_BEFORE = /^sender-before$/;

let stage: CrashStage;
beforeAll(async () => {
  stage = await openCrashStage({ before: before ?? process.cwd(), submission: true });
}, 180_000);
afterAll(async () => {
  await stage.close();
}, 60_000);
afterEach(() => stage.requireNoDeaths());

interface Answer {
  status: number;
  body: { id: number; status: string };
}

async function post(path: string, body: object, port = stage.apiPort, key = stage.apiKey): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/my/messages${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const emailTo = (to: string) => ({ channel: 'email', to, subject: 'Hello', body: 'Hi' });
const arrivals = (start: string) => stage.sink.arrivals.filter(({ to }) => to.startsWith(start));

/** Mails whose body passes byte for byte. */
async function submitSigned(): Promise<void> {
  const { accountId } = await accountOf(stage);
  const from = `sandbox-${accountId}@mail.crash.test`;
  const dialogue = await startDialogue(stage.submission?.port ?? 0);
  await dialogue.say('EHLO app.example.com');
  await dialogue.say('STARTTLS');
  await dialogue.secure();
  await logIn(dialogue, stage.apiKey);
  const type = 'multipart/signed; protocol="application/pgp-signature"; micalg=pgp-sha512; boundary="b"';
  const body = [
    '--b',
    '',
    'Signed text',
    '--b',
    'Content-Type: application/pgp-signature',
    '',
    'none',
    '--b--',
    '',
  ];
  for (let n = 0; n < SIGNED; n += 1) {
    const to = `signed-${n}@example.com`;
    const header = [`From: ${from}`, `To: ${to}`, 'Subject: Signed', 'MIME-Version: 1.0'];
    const data = [...header, `Content-Type: ${type}`, '', ...body].join('\r\n');
    expect(await mailOver(dialogue, { from, to: [to], data })).toMatch(/^250 /);
  }
  dialogue.socket.destroy();
}

/** @returns the rows of what the version before must leave alone */
async function signedRows(): Promise<unknown[]> {
  const { rows } = await stage.database.pool.query<Record<string, unknown>>(
    `select q.*, m.status, m.hold, m.attempt_count, m.updated_at from send_queue q
     join messages m on m.id = q.message_id where m.to_key like 'signed-%' order by q.message_id`,
  );
  return rows;
}

it('sends scheduled messages and letters at their time, and leaves signed mail to this version', async () => {
  const { database, senders } = stage;
  const older = stage.before;
  await Promise.all([...senders, ...(older ? [older.sender] : [])].map((sender) => sender.stop()));
  await submitSigned();
  await database.pool.query('update send_queue set channel = $1 where channel = $2', [queue, RAW_QUEUE]);
  const untouched = await signedRows();
  expect(untouched).toHaveLength(SIGNED);
  await older?.sender.start();

  const at = new Date(Date.now() + SCHEDULED_MS);
  const scheduled = { scheduled_at: at.toISOString() };
  const bodies = Array.from({ length: MESSAGES }, (_, n) => ({
    ...emailTo(`timed-${n}@example.com`),
    ...(n % 3 === 0 ? { to: [`timed-${n}@example.com`], cc: [`timed-cc-${n}@example.com`] } : {}),
    ...scheduled,
  }));
  const answers = await Promise.all(bodies.map((body) => post('', body)));
  expect(new Set(answers.map(({ status, body }) => `${status} ${body.status}`))).toEqual(
    new Set(['201 scheduled']),
  );
  const copies = MESSAGES + Math.ceil(MESSAGES / 3);
  await eventually(() => expect(arrivals('timed-')).toHaveLength(copies), 60_000);
  expect(new Set(arrivals('timed-').map(({ to }) => to)).size).toBe(copies);
  expect(arrivals('timed-').filter((each) => each.at < at.getTime())).toEqual([]);
  expect(arrivals('timed-').filter(({ client }) => !SENT_AS_BEFORE.test(client))).toEqual([]);
  expect(await signedRows()).toEqual(untouched);

  await database.pool.query('update send_queue set channel = $1 where channel = $2', [RAW_QUEUE, queue]);
  await Promise.all([older?.sender.stop(), ...senders.map((sender) => sender.start())]);
  await untilQuiet(database);
  for (let n = 0; n < SIGNED; n += 1) expect(arrivals(`signed-${n}@`)).toHaveLength(1);
}, 120_000);

it('cancels what a sender of the version before has claimed exactly, or asks to try again', async () => {
  const { database, senders, sink } = stage;
  await Promise.all(senders.map((sender) => sender.stop()));
  sink.replyMs = SLOW_MS;
  const names = Array.from({ length: CANCELED }, (_, n) => `canceled-${n}@example.com`);
  const queued = await Promise.all(names.map((to) => post('', emailTo(to))));
  await stage.before?.sender.start();
  await eventually(() => expect(arrivals('canceled-').length).toBeGreaterThan(0), 30_000);
  const outcomes = await Promise.all(queued.map(({ body: { id } }) => post(`/${id}/cancel`, {})));
  sink.replyMs = 15;
  await untilQuiet(database);
  expect(outcomes.filter(({ status }) => ![200, 422, 503].includes(status))).toEqual([]);
  const { rows } = await database.pool.query<{ status: string; to: string }>(
    `select status, to_key as "to" from messages where to_key like 'canceled-%'`,
  );
  const found = rows.map(({ status, to }) => ({ to, status, times: arrivals(to).length }));
  const right = names.map((to, n) => {
    const canceled = outcomes[n]?.status === 200;
    return { to, status: canceled ? 'canceled' : 'sent', times: canceled ? 0 : 1 };
  });
  const byName = (one: { to: string }, other: { to: string }) => one.to.localeCompare(other.to);
  expect(found.toSorted(byName)).toEqual(right.toSorted(byName));
}, 120_000);

it('does not know send-only keys', async () => {
  const { key } = await insertSendKey(stage.database.pool, await accountOf(stage));
  const answer = await post('', emailTo('key@example.com'), stage.before?.apiPort, key);
  expect(answer.status).toBe(before === undefined ? 201 : 401);
}, 60_000);
