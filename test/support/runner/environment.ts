import { ModernFakeTimers } from '@jest/fake-timers';
import type { JestEnvironmentConfig } from '@jest/environment';
import { ModuleMocker } from 'jest-mock';
import { checkSentStatements } from './sent-statements.ts';

/** Where `jest-circus` keeps the event listeners of a file's tests, and the file's time limit. */
const STATE_OF_A_FILE = ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL'].map((name) => Symbol.for(name));

/**
 * The `testEnvironment` of jest.config.js: the process itself. When a file ends, its changes are undone: environment
 * variables, the clock and spied functions.
 */
export class PlainEnvironment {
  /** Jest sets its own variables on this object. The tests do not see them. */
  readonly global = {};
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #env = { ...process.env };

  constructor({ projectConfig }: JestEnvironmentConfig) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    for (const state of STATE_OF_A_FILE) Reflect.deleteProperty(globalThis, state);
  }

  async setup(): Promise<void> {
    // Jest records 100 lines of each error's stack and looks for source maps of each, which costs servers much time.
    Error.stackTraceLimit = 30;
    Reflect.deleteProperty(Error, 'prepareStackTrace');
  }

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.#env)) delete process.env[name];
    Object.assign(process.env, this.#env);
    checkSentStatements();
  }

  getVmContext(): null {
    return null;
  }
}

export default PlainEnvironment;
