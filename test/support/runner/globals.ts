/**
 * The exports of `@jest/globals` in these tests. Each test file gets its own Jest, but a module of `test/support` lives
 * as long as the process. So every export passes its calls on to the functions of the running file.
 */
import { currentGlobals, type TestGlobals } from './runtime.ts';

function ofTheFileThatRuns<Name extends keyof TestGlobals>(name: Name): TestGlobals[Name] {
  const callable = (() => undefined) as unknown as TestGlobals[Name];
  return new Proxy(callable, {
    apply: (_target, self, args) => Reflect.apply(currentGlobals()[name] as () => unknown, self, args),
    get: (_target, property) => Reflect.get(currentGlobals()[name], property) as unknown,
  });
}

export const describe = ofTheFileThatRuns('describe');
export const it = ofTheFileThatRuns('it');
export const test = ofTheFileThatRuns('test');
export const expect = ofTheFileThatRuns('expect');
export const beforeAll = ofTheFileThatRuns('beforeAll');
export const beforeEach = ofTheFileThatRuns('beforeEach');
export const afterEach = ofTheFileThatRuns('afterEach');
export const afterAll = ofTheFileThatRuns('afterAll');
export const jest = ofTheFileThatRuns('jest');
