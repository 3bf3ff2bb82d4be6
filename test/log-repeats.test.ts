// A repeated connection error is logged once in 30 seconds with a count, and other errors are never left out.
import { beforeEach, expect, it } from '@jest/globals';
import pino, { type Logger } from 'pino';
import { foldRepeats } from '../src/log-repeats.ts';

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
