import type { jest } from '@jest/globals';
import type { PlainEnvironment } from './environment.ts';

/** The functions of `jest` that the tests use. */
export type JestObject = Pick<
  typeof jest,
  | 'fn'
  | 'spyOn'
  | 'restoreAllMocks'
  | 'setTimeout'
  | 'useFakeTimers'
  | 'useRealTimers'
  | 'advanceTimersByTime'
  | 'advanceTimersByTimeAsync'
  | 'getTimerCount'
>;

/** Where `jest-circus` looks for a file's time limit. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

export function createJestObject({ moduleMocker, fakeTimersModern }: PlainEnvironment): JestObject {
  const functions = {
    fn: moduleMocker.fn.bind(moduleMocker),
    spyOn: moduleMocker.spyOn.bind(moduleMocker),
    restoreAllMocks() {
      moduleMocker.restoreAllMocks();
      return functions;
    },
    setTimeout(milliseconds: number) {
      Reflect.set(globalThis, TEST_TIMEOUT, milliseconds);
      return functions;
    },
    useFakeTimers(options: object) {
      fakeTimersModern.useFakeTimers(options);
      return functions;
    },
    useRealTimers() {
      fakeTimersModern.useRealTimers();
      return functions;
    },
    advanceTimersByTime: fakeTimersModern.advanceTimersByTime.bind(fakeTimersModern),
    advanceTimersByTimeAsync: fakeTimersModern.advanceTimersByTimeAsync.bind(fakeTimersModern),
    getTimerCount: fakeTimersModern.getTimerCount.bind(fakeTimersModern),
  };
  return functions as unknown as JestObject;
}
