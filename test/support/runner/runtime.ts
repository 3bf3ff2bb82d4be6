/**
 * The `runtime` of jest.config.js. It loads test files like Node.js does, in the worker process itself instead of a VM
 * context per file. Modules are evaluated once per process, Node.js strips the types, and nothing is transformed.
 * Everything else is Jest's own: its command, pool of processes, time limits, `expect` and reporters.
 */
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type * as jestGlobals from '@jest/globals';
import { createJestObject, type JestObject } from './jest-object.ts';
import type { PlainEnvironment } from './environment.ts';

/** What Jest gives each test file. */
export type TestGlobals = Pick<
  typeof jestGlobals,
  'describe' | 'it' | 'test' | 'expect' | 'beforeAll' | 'beforeEach' | 'afterEach' | 'afterAll'
> & { jest: JestObject };

const require = createRequire(import.meta.url);
const globalsUrl = new URL('./globals.ts', import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals'
      ? { url: globalsUrl, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

let globals: TestGlobals | undefined;

/** The functions of the running test file. */
export function currentGlobals(): TestGlobals {
  if (!globals) throw new Error('no test file is running');
  return globals;
}

let loads = 0;

/** Loads the module again if its file was loaded before: in watch mode, Jest runs a file again in the same process. */
function importAgain(path: string): Promise<unknown> {
  loads += 1;
  return import(`${pathToFileURL(path).href}?load=${loads}`);
}

/** Implements the parts of `jest-runtime` that `jest-runner` and `jest-circus` call. */
export default class PlainRuntime {
  readonly #environment: PlainEnvironment;

  constructor(_config: unknown, environment: PlainEnvironment) {
    this.#environment = environment;
  }

  setGlobalsForRuntime(given: Omit<TestGlobals, 'jest'>): void {
    globals = { ...given, jest: createJestObject(this.#environment) };
  }

  /** Loads Jest's own modules. Those of the test framework keep a file's tests, so each file gets new ones. */
  requireInternalModule(path: string): unknown {
    delete require.cache[path];
    return require(path);
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  unstable_importModule(path: string): Promise<unknown> {
    return importAgain(path);
  }

  /** Nothing is transformed, so positions in stacks are already right. */
  getSourceMaps(): null {
    return null;
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }

  enterTestCode(): void {}

  leaveTestCode(): void {}

  teardown(): void {
    globals = undefined;
  }
}
