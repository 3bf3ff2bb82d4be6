// Logs are readable on a terminal and JSON elsewhere, unless LOG_FORMAT chooses the format.
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../src/config.ts';
import { createLogger, type LogOutput } from '../src/log.ts';

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
