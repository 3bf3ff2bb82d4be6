// Logs are readable on a terminal and JSON elsewhere, and repeated connection errors become one line with a count.
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, it } from '@jest/globals';
import pino, { type Logger } from 'pino';
import { loadConfig } from '../src/config.ts';
import { createLogger, foldRepeats, type LogOutput } from '../src/log.ts';

/** Logs one line and an error, and returns the output. */
function logged(settings: Record<string, string>, isTTY: boolean): string {
  let text = '';
  const output: LogOutput = { isTTY, write: (line) => void (text += line) };
  const log = createLogger(loadConfig(settings), 'sender', output);
  log.info({ message_id: 7, password: 'hunter2' }, 'claim released');
  log.warn({ err: new Error('connection lost') }, 'provider unavailable');
  return stripVTControlCharacters(text);
}

function expectPretty(text: string): void {
  expect(text).toMatch(
    /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: sender: claim released \{"message_id":7,"password":"\[redacted\]"\}\n/,
  );
  expect(text).toMatch(/WARN: sender: provider unavailable *\n[^]*"message": "connection lost"/);
}

function expectJson(text: string): void {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(lines).toEqual([
    expect.objectContaining({ role: 'sender', msg: 'claim released', message_id: 7, password: '[redacted]' }),
    expect.objectContaining({ err: expect.objectContaining({ type: 'Error', message: 'connection lost' }) }),
  ]);
}

describe('a log', () => {
  it('is readable lines on a terminal', () => expectPretty(logged({}, true)));

  it('is JSON elsewhere', () => expectJson(logged({}, false)));

  it.each([true, false])('has the format that LOG_FORMAT names, on a terminal (%s) or not', (isTTY) => {
    expectPretty(logged({ LOG_FORMAT: 'pretty' }, isTTY));
    expectJson(logged({ LOG_FORMAT: 'json' }, isTTY));
  });
});

describe('a log that folds repeats', () => {
  let now: number;
  let lines: Record<string, unknown>[];
  let log: Logger;

  beforeEach(() => {
    now = 0;
    lines = [];
    const output = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    log = pino({ base: null, timestamp: false, hooks: { logMethod: foldRepeats(() => now) } }, output);
  });

  const refused = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  it('logs a lost connection once in 30 s, without a stack, and then how often it was left out', () => {
    for (now = 0; now <= 30_000; now += 1_000) log.warn({ err: refused() }, 'claiming failed');
    const line = { level: 40, reason: 'connect ECONNREFUSED', msg: 'claiming failed' };
    expect(lines).toEqual([line, { ...line, repeats: 29 }]);
  });

  it('logs each message, and each thing that it is about, on its own', () => {
    for (const webhook of [1, 2, 1]) log.error({ err: refused(), webhook_id: webhook }, 'not removed');
    log.error({ err: refused(), webhook_id: 1 }, 'not recorded');
    expect(lines.map(({ msg, webhook_id }) => [msg, webhook_id])).toEqual([
      ['not removed', 1],
      ['not removed', 2],
      ['not recorded', 1],
    ]);
  });

  it('takes failed requests for the same, whatever their ids', () => {
    for (const id of ['a', 'b', 'c'])
      log.error({ request_id: id, method: 'GET', err: refused() }, 'request failed');
    expect(lines).toEqual([expect.objectContaining({ request_id: 'a', reason: 'connect ECONNREFUSED' })]);
  });

  it('leaves out neither other errors nor lines that are not warnings', () => {
    for (let n = 0; n < 2; n += 1) {
      log.warn({ err: new Error('division by zero') }, 'counting failed');
      log.info({ err: refused() }, 'connecting');
      log.warn('a line of words');
      log.warn({ provider: 'relay' }, 'provider fault');
    }
    expect(lines).toHaveLength(8);
    expect(lines[0]).toHaveProperty('err.stack');
  });

  it('folds those of an engine that is unavailable', () => {
    const error = () => Object.assign(new Error('14 UNAVAILABLE: no connection'), { code: 14 });
    for (let n = 0; n < 3; n += 1) log.warn({ err: error() }, 'cannot reconcile');
    expect(lines).toEqual([{ level: 40, reason: '14 UNAVAILABLE: no connection', msg: 'cannot reconcile' }]);
  });

  it('gives the code of an error without a message', () => {
    log.warn({ err: new AggregateError([], '') }, 'other');
    log.warn({ err: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }) }, 'claiming failed');
    expect(lines.at(-1)).toMatchObject({ reason: 'ECONNREFUSED' });
  });
});
