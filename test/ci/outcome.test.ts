// CI fails only for tests, hooks or files that fail twice, and names as flaky those that fail once.
import { describe, expect, it } from '@jest/globals';
import { failedFiles, outcomeOf, parseReport, skippedTests, type JestReport } from './outcome.ts';

type Tests = Record<string, 'passed' | 'failed' | 'pending'>;

const times = { startTime: 0, endTime: 1_000 };

/** A file's part of a report. A file without tests did not load. */
function file(name: string, tests: Tests, status?: string): JestReport['testResults'][number] {
  const results = Object.entries(tests).map(([fullName, each]) => ({ fullName, status: each }));
  const failed = results.length === 0 || results.some((test) => test.status === 'failed');
  return { name, status: status ?? (failed ? 'failed' : 'passed'), ...times, assertionResults: results };
}

function report(...testResults: JestReport['testResults']): JestReport {
  return { testResults };
}

const sound = file('sound.test.ts', { one: 'passed', two: 'passed' });

describe('the outcome of a run', () => {
  it('counts the tests of a run without failures', () => {
    expect(outcomeOf(report(sound), [])).toEqual({ passed: 2, failed: 0, flaky: [], broken: [] });
  });

  it('names a test as flaky that fails, then passes', () => {
    const first = report(sound, file('a.test.ts', { one: 'failed', two: 'passed' }));
    expect(failedFiles(first)).toEqual(['a.test.ts']);
    const again = [report(file('a.test.ts', { one: 'passed', two: 'passed' }))];
    expect(outcomeOf(first, again)).toEqual({ passed: 4, failed: 0, flaky: ['a.test.ts: one'], broken: [] });
  });

  it('names a test as flaky that passes, then fails', () => {
    const first = report(file('a.test.ts', { one: 'failed', two: 'passed' }));
    const again = [report(file('a.test.ts', { one: 'passed', two: 'failed' }))];
    const flaky = ['a.test.ts: one', 'a.test.ts: two'];
    expect(outcomeOf(first, again)).toEqual({ passed: 2, failed: 0, flaky, broken: [] });
  });

  it('fails if a test fails twice', () => {
    const first = report(sound, file('a.test.ts', { one: 'failed', two: 'failed', three: 'passed' }));
    const again = [report(file('a.test.ts', { one: 'failed', two: 'passed', three: 'passed' }))];
    expect(outcomeOf(first, again)).toEqual({
      passed: 4,
      failed: 1,
      flaky: ['a.test.ts: two'],
      broken: ['a.test.ts: one'],
    });
  });

  it('runs a file again that did not load, and counts its tests if it loads then', () => {
    const first = report(sound, file('a.test.ts', {}));
    expect(failedFiles(first)).toEqual(['a.test.ts']);
    const flaky = ['a.test.ts: fails outside its tests'];
    const loaded = [report(file('a.test.ts', { one: 'passed', two: 'passed' }))];
    expect(outcomeOf(first, loaded)).toEqual({ passed: 4, failed: 0, flaky, broken: [] });
    const broken = ['a.test.ts: one'];
    const failing = [report(file('a.test.ts', { one: 'failed', two: 'passed' }))];
    expect(outcomeOf(first, failing)).toEqual({ passed: 3, failed: 1, flaky, broken });
  });

  it('fails if a file fails outside its tests twice', () => {
    const broken = ['a.test.ts: fails outside its tests'];
    const unloadable = report(file('a.test.ts', {}));
    expect(outcomeOf(unloadable, [unloadable])).toEqual({ passed: 0, failed: 1, flaky: [], broken });
    const badHook = report(file('a.test.ts', { one: 'passed' }, 'failed'));
    expect(outcomeOf(badHook, [badHook])).toEqual({ passed: 1, failed: 1, flaky: [], broken });
  });

  it('fails if a hook fails in the second run, even if a test hid that in the first', () => {
    const first = report(file('a.test.ts', { one: 'failed' }));
    const again = [report(file('a.test.ts', { one: 'passed' }, 'failed'))];
    expect(outcomeOf(first, again).broken).toEqual(['a.test.ts: fails outside its tests']);
  });

  it('fails if the second run gives no report', () => {
    const first = report(file('a.test.ts', { one: 'failed', two: 'passed' }));
    const expected = { passed: 1, failed: 1, flaky: [], broken: ['a.test.ts: one'] };
    expect(outcomeOf(first, [])).toEqual(expected);
  });
});

it('lists the tests that did not run', () => {
  const partly = file('a.test.ts', { one: 'pending', two: 'passed' });
  expect(skippedTests(report(sound, partly))).toEqual(['a.test.ts: one']);
});

it('rejects a report without results', () => {
  expect(() => parseReport('{"numFailedTests":0}')).toThrow(/testResults/);
});
